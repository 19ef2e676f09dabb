//! The codes that a driver call returns: name, meaning, what to do.
//!
//! Names, numbers and meanings follow the documentation of `CUresult` in NVIDIA's CUDA Driver API. So does
//! `ends_context`: the codes of which it says that the context "cannot be used anymore", that the process is left "in an
//! inconsistent state" or "must be terminated" (226, 700, 702, 710, 714 to 719, 721, 810, 911), and three where that
//! follows from the meaning: the driver is shutting down (4), memory is corrupt (214), the context is gone (709).

use core::ffi::CStr;

use cust::sys::CUresult;

/// A code.
pub(super) struct Code {
    pub number: i32,
    /// `CUDA_ERROR_…`. A C string, for `cuGetErrorName`.
    pub name: &'static CStr,
    /// A phrase without a full stop.
    pub meaning: &'static CStr,
    /// A sentence or more without the last full stop.
    pub advice: Option<&'static str>,
    /// Whether every later call fails too.
    pub ends_context: bool,
}

/// The row of a number.
pub(super) fn find(number: i32) -> Option<&'static Code> {
    CODES.binary_search_by_key(&number, |code| code.number).ok().map(|row| &CODES[row])
}

/// Reads the result of a driver call: the variant of this number, or `CUDA_ERROR_UNKNOWN` where the enum has none.
pub(super) fn result(number: i32) -> CUresult {
    KNOWN.iter().copied().find(|&known| known as i32 == number).unwrap_or(CUresult::CUDA_ERROR_UNKNOWN)
}

macro_rules! codes {
    ($($number:literal $name:ident $meaning:literal $($ends_context:ident)? $(, $advice:literal)?;)*) => {
        /// Sorted by number.
        const CODES: &[Code] = &[$(Code {
            number: $number,
            name: match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            },
            meaning: $meaning,
            advice: codes!(@advice $($advice)?),
            ends_context: codes!(@flag $($ends_context)?),
        }),*];
    };
    (@advice) => { None };
    (@advice $advice:literal) => { Some($advice) };
    (@flag) => { false };
    (@flag ends_context) => { true };
}

codes! {
    0 CUDA_SUCCESS c"no error";
    1 CUDA_ERROR_INVALID_VALUE c"an argument is outside its allowed values",
        "Check sizes, flags and pointers; a size of 0 and a pointer of another kind of memory are the usual causes";
    2 CUDA_ERROR_OUT_OF_MEMORY c"there is not enough memory",
        "Use smaller sizes, or free memory first (nvidia-smi shows who holds the device's). For page-locked host \
         memory the limit may be far below the size of RAM: the container's or WSL's, or `ulimit -l` for registering";
    3 CUDA_ERROR_NOT_INITIALIZED c"the driver has not been initialized",
        "Call `driver::init` first. Without an NVIDIA driver it says what is missing";
    4 CUDA_ERROR_DEINITIALIZED c"the driver is shutting down" ends_context;
    5 CUDA_ERROR_PROFILER_DISABLED c"profiling is disabled for this run";
    6 CUDA_ERROR_PROFILER_NOT_INITIALIZED c"the profiler is not initialized";
    7 CUDA_ERROR_PROFILER_ALREADY_STARTED c"the profiler is already started";
    8 CUDA_ERROR_PROFILER_ALREADY_STOPPED c"the profiler is already stopped";
    34 CUDA_ERROR_STUB_LIBRARY c"the library is a stub for linking, not a driver",
        "Remove the CUDA toolkit's stubs folder from LD_LIBRARY_PATH";
    100 CUDA_ERROR_NO_DEVICE c"no CUDA device was found",
        "Run `nvidia-smi`. If it lists a device, CUDA_VISIBLE_DEVICES hides it or the container was started without \
         it (`--gpus all`); if not, install NVIDIA's driver";
    101 CUDA_ERROR_INVALID_DEVICE c"there is no device of this number",
        "`nvidia-smi -L` lists the devices; CUDA_VISIBLE_DEVICES renumbers them from 0";
    102 CUDA_ERROR_DEVICE_NOT_LICENSED c"the device is not licensed for compute";
    200 CUDA_ERROR_INVALID_IMAGE c"the module is no valid PTX, cubin or fatbin",
        "The text or file is not what a kernel compiler writes, or is cut short: recompile the kernels";
    201 CUDA_ERROR_INVALID_CONTEXT c"no valid context is current on this thread",
        "Make the device's context current on this thread before the call";
    202 CUDA_ERROR_CONTEXT_ALREADY_CURRENT c"the context is already current";
    205 CUDA_ERROR_MAP_FAILED c"mapping failed";
    206 CUDA_ERROR_UNMAP_FAILED c"unmapping failed";
    207 CUDA_ERROR_ARRAY_IS_MAPPED c"the array is mapped";
    208 CUDA_ERROR_ALREADY_MAPPED c"the resource is already mapped";
    209 CUDA_ERROR_NO_BINARY_FOR_GPU c"the module holds no code for this device",
        "Compile the kernels for the device's compute capability, or for an older one as PTX";
    210 CUDA_ERROR_ALREADY_ACQUIRED c"the resource is already acquired";
    211 CUDA_ERROR_NOT_MAPPED c"the resource is not mapped";
    212 CUDA_ERROR_NOT_MAPPED_AS_ARRAY c"the resource is not mapped as an array";
    213 CUDA_ERROR_NOT_MAPPED_AS_POINTER c"the resource is not mapped as a pointer";
    214 CUDA_ERROR_ECC_UNCORRECTABLE c"an uncorrectable ECC error was found" ends_context,
        "The memory of the device is failing: see `nvidia-smi -q -d ECC`";
    215 CUDA_ERROR_UNSUPPORTED_LIMIT c"the device does not support this limit";
    216 CUDA_ERROR_CONTEXT_ALREADY_IN_USE c"the context is in use by another thread";
    217 CUDA_ERROR_PEER_ACCESS_UNSUPPORTED c"these devices have no peer access to each other";
    218 CUDA_ERROR_INVALID_PTX c"the PTX does not compile",
        "PTX for a newer device than this one is the usual cause: compile the kernels for its compute capability or \
         an older one. The driver's compiler says more in the JIT error log";
    219 CUDA_ERROR_INVALID_GRAPHICS_CONTEXT c"the graphics context is invalid";
    220 CUDA_ERROR_NVLINK_UNCORRECTABLE c"an uncorrectable NVLink error was found";
    221 CUDA_ERROR_JIT_COMPILER_NOT_FOUND c"the driver's PTX compiler was not found",
        "Install the driver's libnvidia-ptxjitcompiler.so.1 (in containers: the capability `compute`)";
    222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION c"the PTX is of a newer version than the driver knows",
        "Update NVIDIA's driver, or compile the kernels to an older PTX version";
    223 CUDA_ERROR_JIT_COMPILATION_DISABLED c"compiling PTX is disabled",
        "Unset CUDA_DISABLE_PTX_JIT and CUDA_FORCE_JIT";
    224 CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY c"the execution affinity is not supported by the device";
    225 CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC c"the kernel synchronizes the device from within, which is no longer supported";
    226 CUDA_ERROR_CONTAINED c"a fault on the device was contained" ends_context;
    300 CUDA_ERROR_INVALID_SOURCE c"the kernel source is invalid";
    301 CUDA_ERROR_FILE_NOT_FOUND c"a file was not found";
    302 CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND c"a shared library lacks a symbol";
    303 CUDA_ERROR_SHARED_OBJECT_INIT_FAILED c"a shared library could not be initialized";
    304 CUDA_ERROR_OPERATING_SYSTEM c"an operating system call failed",
        "`dmesg` may tell more; page-locking fails so where the kernel or a container forbids it";
    400 CUDA_ERROR_INVALID_HANDLE c"the handle is invalid",
        "The handle was destroyed, or belongs to another context";
    401 CUDA_ERROR_ILLEGAL_STATE c"the resource is in a state that does not allow this";
    402 CUDA_ERROR_LOSSY_QUERY c"the query would lose information";
    500 CUDA_ERROR_NOT_FOUND c"the name was not found",
        "Where a kernel was asked for: the module has no entry point of this name. Where a driver function was \
         called: the driver is too old to have it";
    600 CUDA_ERROR_NOT_READY c"the work has not ended yet";
    700 CUDA_ERROR_ILLEGAL_ADDRESS c"a kernel accessed memory that is not there" ends_context,
        "Check the kernel's indices; `simt` in its checked mode or compute-sanitizer find the access";
    701 CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES c"the launch needs more registers, threads or shared memory than a multiprocessor has",
        "Launch with smaller blocks or less shared memory";
    702 CUDA_ERROR_LAUNCH_TIMEOUT c"a kernel ran longer than the device's watchdog allows" ends_context,
        "Give the kernel less work per launch, or run it on a device without a display";
    703 CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING c"the launch uses an incompatible texturing mode";
    704 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED c"peer access is already enabled";
    705 CUDA_ERROR_PEER_ACCESS_NOT_ENABLED c"peer access is not enabled";
    708 CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE c"the primary context is already active";
    709 CUDA_ERROR_CONTEXT_IS_DESTROYED c"the context was destroyed" ends_context,
        "Keep the context for as long as anything that was made in it";
    710 CUDA_ERROR_ASSERT c"a kernel's assertion failed" ends_context;
    711 CUDA_ERROR_TOO_MANY_PEERS c"peer access is exhausted";
    712 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED c"the host memory, or a part of it, is already page-locked",
        "Register a range once, and memory from an allocating call not at all";
    713 CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED c"the host memory is not registered",
        "Memory that was allocated page-locked is freed, not unregistered";
    714 CUDA_ERROR_HARDWARE_STACK_ERROR c"the device's stack overflowed or was corrupted" ends_context,
        "Check the kernel for deep recursion and large local arrays";
    715 CUDA_ERROR_ILLEGAL_INSTRUCTION c"a kernel executed an illegal instruction" ends_context,
        "A Rust kernel that panics ends so: look for a failed bounds check";
    716 CUDA_ERROR_MISALIGNED_ADDRESS c"a kernel accessed a misaligned address" ends_context,
        "Vector accesses need addresses that are a multiple of their size";
    717 CUDA_ERROR_INVALID_ADDRESS_SPACE c"a kernel accessed an address of the wrong space" ends_context,
        "Check that shared addresses are not used as global ones";
    718 CUDA_ERROR_INVALID_PC c"a kernel jumped to an invalid address" ends_context;
    719 CUDA_ERROR_LAUNCH_FAILED c"a kernel ended abnormally" ends_context,
        "`simt` in its checked mode or compute-sanitizer find the cause";
    720 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE c"the cooperative launch has more blocks than fit the device at once",
        "Launch at most as many blocks as the occupancy calculation allows";
    721 CUDA_ERROR_TENSOR_MEMORY_LEAK c"a kernel did not give its tensor memory back" ends_context;
    800 CUDA_ERROR_NOT_PERMITTED c"the operation is not permitted here",
        "Driver calls from within a stream's callback are the usual cause; otherwise the system forbids it to this \
         user";
    801 CUDA_ERROR_NOT_SUPPORTED c"the operation is not supported on this system or device",
        "Ask the device's attributes before using the feature";
    802 CUDA_ERROR_SYSTEM_NOT_READY c"the system is not ready for CUDA",
        "Start the system's services first (on machines with NVSwitch: nvidia-fabricmanager)";
    803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH c"the driver's library and its kernel module are of different versions",
        "The driver was updated under a running system: reboot, or reload its kernel modules. In a container, the \
         library must be the host's";
    804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE c"the library is a forward-compatibility package that does not support this device",
        "Remove the compatibility package's folder from LD_LIBRARY_PATH, so that the system's own library is used";
    805 CUDA_ERROR_MPS_CONNECTION_FAILED c"the MPS server could not be reached";
    806 CUDA_ERROR_MPS_RPC_FAILURE c"a call to the MPS server failed",
        "See the log of the MPS daemon";
    807 CUDA_ERROR_MPS_SERVER_NOT_READY c"the MPS server is not ready";
    808 CUDA_ERROR_MPS_MAX_CLIENTS_REACHED c"the MPS server has no room for another client";
    809 CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED c"the MPS server has no connection left";
    810 CUDA_ERROR_MPS_CLIENT_TERMINATED c"the MPS server ended this client" ends_context;
    811 CUDA_ERROR_CDP_NOT_SUPPORTED c"dynamic parallelism is not supported here";
    812 CUDA_ERROR_CDP_VERSION_MISMATCH c"the versions of dynamic parallelism do not match";
    900 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED c"the stream is being captured and does not permit this";
    901 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED c"the capture was invalidated by an earlier error";
    902 CUDA_ERROR_STREAM_CAPTURE_MERGE c"the operation would merge two captures";
    903 CUDA_ERROR_STREAM_CAPTURE_UNMATCHED c"the capture did not start in this stream";
    904 CUDA_ERROR_STREAM_CAPTURE_UNJOINED c"the capture has a fork that was not joined";
    905 CUDA_ERROR_STREAM_CAPTURE_ISOLATION c"the operation would cross the capture's border";
    906 CUDA_ERROR_STREAM_CAPTURE_IMPLICIT c"the operation depends implicitly on the default stream";
    907 CUDA_ERROR_CAPTURED_EVENT c"the event was last recorded in a capture";
    908 CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD c"the capture was ended on another thread";
    909 CUDA_ERROR_TIMEOUT c"the wait timed out";
    910 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE c"the graph differs too much to be updated";
    911 CUDA_ERROR_EXTERNAL_DEVICE c"a device outside of CUDA failed" ends_context;
    912 CUDA_ERROR_INVALID_CLUSTER_SIZE c"the kernel's cluster size is invalid";
    913 CUDA_ERROR_FUNCTION_NOT_LOADED c"the function is not loaded";
    914 CUDA_ERROR_INVALID_RESOURCE_TYPE c"the resource is of the wrong type";
    915 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION c"the resources are configured in an invalid way";
    999 CUDA_ERROR_UNKNOWN c"an unknown error";
}

/// The variants that the enum has. A code that is missing here is not lost, see `result`.
const KNOWN: &[CUresult] = &[
    CUresult::CUDA_SUCCESS,
    CUresult::CUDA_ERROR_INVALID_VALUE,
    CUresult::CUDA_ERROR_OUT_OF_MEMORY,
    CUresult::CUDA_ERROR_NOT_INITIALIZED,
    CUresult::CUDA_ERROR_DEINITIALIZED,
    CUresult::CUDA_ERROR_PROFILER_DISABLED,
    CUresult::CUDA_ERROR_PROFILER_NOT_INITIALIZED,
    CUresult::CUDA_ERROR_PROFILER_ALREADY_STARTED,
    CUresult::CUDA_ERROR_PROFILER_ALREADY_STOPPED,
    CUresult::CUDA_ERROR_STUB_LIBRARY,
    CUresult::CUDA_ERROR_NO_DEVICE,
    CUresult::CUDA_ERROR_INVALID_DEVICE,
    CUresult::CUDA_ERROR_DEVICE_NOT_LICENSED,
    CUresult::CUDA_ERROR_INVALID_IMAGE,
    CUresult::CUDA_ERROR_INVALID_CONTEXT,
    CUresult::CUDA_ERROR_CONTEXT_ALREADY_CURRENT,
    CUresult::CUDA_ERROR_MAP_FAILED,
    CUresult::CUDA_ERROR_UNMAP_FAILED,
    CUresult::CUDA_ERROR_ARRAY_IS_MAPPED,
    CUresult::CUDA_ERROR_ALREADY_MAPPED,
    CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUresult::CUDA_ERROR_ALREADY_ACQUIRED,
    CUresult::CUDA_ERROR_NOT_MAPPED,
    CUresult::CUDA_ERROR_NOT_MAPPED_AS_ARRAY,
    CUresult::CUDA_ERROR_NOT_MAPPED_AS_POINTER,
    CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
    CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT,
    CUresult::CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
    CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
    CUresult::CUDA_ERROR_INVALID_PTX,
    CUresult::CUDA_ERROR_INVALID_GRAPHICS_CONTEXT,
    CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
    CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED,
    CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
    CUresult::CUDA_ERROR_INVALID_SOURCE,
    CUresult::CUDA_ERROR_FILE_NOT_FOUND,
    CUresult::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
    CUresult::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
    CUresult::CUDA_ERROR_OPERATING_SYSTEM,
    CUresult::CUDA_ERROR_INVALID_HANDLE,
    CUresult::CUDA_ERROR_ILLEGAL_STATE,
    CUresult::CUDA_ERROR_NOT_FOUND,
    CUresult::CUDA_ERROR_NOT_READY,
    CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
    CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
    CUresult::CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING,
    CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
    CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
    CUresult::CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
    CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
    CUresult::CUDA_ERROR_ASSERT,
    CUresult::CUDA_ERROR_TOO_MANY_PEERS,
    CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
    CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
    CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUresult::CUDA_ERROR_INVALID_PC,
    CUresult::CUDA_ERROR_LAUNCH_FAILED,
    CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
    CUresult::CUDA_ERROR_NOT_PERMITTED,
    CUresult::CUDA_ERROR_NOT_SUPPORTED,
    CUresult::CUDA_ERROR_SYSTEM_NOT_READY,
    CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
    CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
    CUresult::CUDA_ERROR_MPS_CONNECTION_FAILED,
    CUresult::CUDA_ERROR_MPS_RPC_FAILURE,
    CUresult::CUDA_ERROR_MPS_SERVER_NOT_READY,
    CUresult::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
    CUresult::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
    CUresult::CUDA_ERROR_CAPTURED_EVENT,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
    CUresult::CUDA_ERROR_TIMEOUT,
    CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
    CUresult::CUDA_ERROR_EXTERNAL_DEVICE,
    CUresult::CUDA_ERROR_UNKNOWN,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_names_what_the_enum_names() {
        assert!(CODES.is_sorted_by(|a, b| a.number < b.number));
        for &known in KNOWN {
            let row = find(known as i32).unwrap_or_else(|| panic!("{known:?} has no row"));
            assert_eq!(row.name.to_str().unwrap(), format!("{known:?}"));
            assert_eq!(result(known as i32), known);
        }
    }

    #[test]
    fn texts_are_complete_phrases() {
        for code in CODES {
            let meaning = code.meaning.to_str().unwrap();
            assert!(!meaning.is_empty() && !meaning.ends_with('.'), "{meaning}");
            assert!(code.advice.is_none_or(|advice| !advice.ends_with('.') && !advice.contains("  ")), "{meaning}");
        }
    }

    #[test]
    fn a_newer_drivers_code_is_unknown_and_keeps_its_name() {
        assert_eq!(result(226), CUresult::CUDA_ERROR_UNKNOWN);
        assert_eq!(find(226).unwrap().name, c"CUDA_ERROR_CONTAINED");
        assert!(find(226).unwrap().ends_context);
        assert_eq!(result(-1), CUresult::CUDA_ERROR_UNKNOWN);
        assert!(find(998).is_none());
    }
}
