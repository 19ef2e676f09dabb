//! Modules, functions, launches, linking and occupancy.

use core::ffi::{c_char, c_int, c_uint, c_void};

use cust::sys::{
    CUdeviceptr, CUfunc_cache, CUfunction, CUfunction_attribute, CUhostFn, CUjit_option, CUjitInputType, CUlinkState,
    CUmodule, CUoccupancyB2DSize, CUsharedconfig, CUstream,
};

use super::forward;

forward! {
    cuModuleLoad(module: *mut CUmodule, fname: *const c_char);
    cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, num_options: c_uint, options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    );
    cuModuleLoadFatBinary(module: *mut CUmodule, fat_cubin: *const c_void);
    cuModuleUnload(hmod: CUmodule);
    cuModuleGetFunction(hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char);
    cuModuleGetGlobal_v2(dptr: *mut CUdeviceptr, bytes: *mut usize, hmod: CUmodule, name: *const c_char);
    cuLinkCreate_v2(
        num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void, state_out: *mut CUlinkState,
    );
    cuLinkAddData_v2(
        state: CUlinkState, type_: CUjitInputType, data: *mut c_void, size: usize, name: *const c_char,
        num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void,
    );
    cuLinkAddFile_v2(
        state: CUlinkState, type_: CUjitInputType, path: *const c_char, num_options: c_uint,
        options: *mut CUjit_option, option_values: *mut *mut c_void,
    );
    cuLinkComplete(state: CUlinkState, cubin_out: *mut *mut c_void, size_out: *mut usize);
    cuLinkDestroy(state: CUlinkState);
    cuFuncGetAttribute(pi: *mut c_int, attrib: CUfunction_attribute, hfunc: CUfunction);
    cuFuncSetAttribute(hfunc: CUfunction, attrib: CUfunction_attribute, value: c_int);
    cuFuncSetCacheConfig(hfunc: CUfunction, config: CUfunc_cache);
    cuFuncSetSharedMemConfig(hfunc: CUfunction, config: CUsharedconfig);
    cuFuncGetModule(hmod: *mut CUmodule, hfunc: CUfunction);
    cuLaunchKernel(
        f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint,
        block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, h_stream: CUstream,
        kernel_params: *mut *mut c_void, extra: *mut *mut c_void,
    );
    cuLaunchCooperativeKernel(
        f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint,
        block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, h_stream: CUstream,
        kernel_params: *mut *mut c_void,
    );
    cuLaunchHostFunc(h_stream: CUstream, fn_: CUhostFn, user_data: *mut c_void);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        num_blocks: *mut c_int, func: CUfunction, block_size: c_int, dynamic_smem_size: usize,
    );
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        num_blocks: *mut c_int, func: CUfunction, block_size: c_int, dynamic_smem_size: usize, flags: c_uint,
    );
    cuOccupancyMaxPotentialBlockSize(
        min_grid_size: *mut c_int, block_size: *mut c_int, func: CUfunction,
        block_size_to_dynamic_smem_size: CUoccupancyB2DSize, dynamic_smem_size: usize, block_size_limit: c_int,
    );
    cuOccupancyAvailableDynamicSMemPerBlock(
        dynamic_smem_size: *mut usize, func: CUfunction, num_blocks: c_int, block_size: c_int,
    );
}
