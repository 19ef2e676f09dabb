//! Modules, functions, launches.

use std::ffi::{c_char, c_void};

use super::api;
use crate::ptx::Ptx;
use crate::queue::Work;
use crate::state::{Function, Module, State};
use crate::{error, put, text};

/// Threads of a block and bytes of shared memory that need no permission, and with permission.
const BLOCK: u64 = 1024;
const SHARED: i32 = 48 << 10;
const SHARED_OPT_IN: i32 = 227 << 10;
/// Blocks that are resident at once, for cooperative launches: two on each multiprocessor.
const RESIDENT: u64 = 2 * 132;

fn load(s: &mut State, out: *mut usize, image: *const c_char) -> Result<(), (i32, String)> {
    let plain = |code| (code, String::new());
    if image.is_null() || out.is_null() {
        return Err(plain(error::INVALID_VALUE));
    }
    // SAFETY: an image is at least one byte long.
    if matches!(unsafe { image.read() } as u8, 0 | 0x7F | 0x50) {
        return Err(plain(error::INVALID_IMAGE)); // empty, ELF, fatbin
    }
    let source = text(image).map_err(|_| (error::INVALID_PTX, "the text is not UTF-8".into()))?;
    let ptx = Ptx::load(source, &s.config)?;
    let (name, number) = s.name("module");
    s.log(&format!("  = {name}"));
    s.modules.insert(0x3_0000 + number, Module { name, ptx });
    put(out, 0x3_0000 + number).map_err(plain)
}

/// Writes the reason into the caller's CU_JIT_ERROR_LOG_BUFFER (option 5, its size is option 6).
fn explain(why: &str, options: &[i32], values: &[usize]) {
    let option = |wanted| options.iter().position(|&option| option == wanted).map(|i| values[i]);
    let (Some(buffer), Some(size)) = (option(5), option(6)) else { return };
    for (i, byte) in why.bytes().take(size.saturating_sub(1)).chain([0]).take(size).enumerate() {
        // SAFETY: i < size, which the caller says the buffer has.
        unsafe { (buffer as *mut u8).add(i).write(byte) };
    }
}

#[derive(Clone, Copy)]
struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
}

fn launch(
    s: &mut State,
    call: &str,
    handle: usize,
    shape: Shape,
    stream: usize,
    parameters: *const *const u8,
) -> Result<(), i32> {
    let stream = s.stream(call, stream)?;
    let function = s.functions.get(&handle).ok_or(error::INVALID_HANDLE)?;
    let threads: u64 = shape.block.iter().map(|&extent| u64::from(extent)).product();
    let fits = |extents: [u32; 3], limits: [u32; 3]| extents.iter().zip(limits).all(|(&e, l)| (1..=l).contains(&e));
    if !fits(shape.block, [1024, 1024, 64])
        || !fits(shape.grid, [i32::MAX as u32, 65535, 65535])
        || threads > BLOCK
        || shape.shared > function.shared_limit as u32
        || (parameters.is_null() && !function.parameters.is_empty())
    {
        return Err(error::INVALID_VALUE);
    }
    let mut arguments = Vec::new();
    for (i, &bytes) in function.parameters.iter().enumerate() {
        let mut value = [0; 8];
        // SAFETY: the caller gives a pointer to each parameter, of the size that the kernel declares.
        unsafe {
            let parameter = parameters.add(i).read();
            std::ptr::copy_nonoverlapping(parameter, value.as_mut_ptr(), bytes.min(8));
        }
        arguments.push(u64::from_ne_bytes(value));
    }
    let (name, module) = (function.name.clone(), s.modules[&function.module].name.clone());
    let buffers = arguments.iter().filter_map(|&argument| s.by_device(argument)).map(|a| a.name.clone());
    let touches = buffers.chain([module]).collect();
    let label = format!("launch {name} grid={:?} block={:?}", shape.grid, shape.block);
    let threads = shape.grid.iter().chain(&shape.block).map(|&extent| extent as usize).product();
    s.enqueue(stream, touches, label, Work::Launch { function: handle, arguments, threads });
    Ok(())
}

fn function_name(state: &State, function: usize) -> &str {
    state.functions.get(&function).map_or("nowhere", |function| &function.name)
}

api! {
    Context fn cuModuleLoadData(out: *mut usize, image: *const c_char) [s] { load(s, out, image).map_err(|(code, _)| code) }
    Context fn cuModuleLoadDataEx(
        out: *mut usize, image: *const c_char, count: u32, options: *const i32, values: *const usize,
    ) [s, "options={count}"] {
        load(s, out, image).map_err(|(code, why)| {
            if count > 0 {
                // SAFETY: the caller gives this many options and values.
                let (options, values) = unsafe {
                    (
                        std::slice::from_raw_parts(options, count as usize),
                        std::slice::from_raw_parts(values, count as usize),
                    )
                };
                explain(&why, options, values);
            }
            code
        })
    }
    Context fn cuModuleLoad(out: *mut usize, path: *const c_char) [s] {
        let image = std::fs::read(text(path)?).map_err(|_| 301)?;
        let image = std::ffi::CString::new(image).map_err(|_| error::INVALID_IMAGE)?;
        load(s, out, image.as_ptr()).map_err(|(code, _)| code)
    }
    Context fn cuModuleUnload(module: usize) [s] {
        let Some(name) = s.modules.get(&module).map(|module| module.name.clone()) else {
            s.violation("cuModuleUnload of a module that does not exist");
            return Err(error::INVALID_HANDLE);
        };
        if let Some(label) = s.pending(|op| op.touches.contains(&name)) {
            s.violation(&format!("cuModuleUnload of {name} while work that uses it is pending: {label}"));
            let device = s.current_device();
            s.run_device(device)?;
        }
        s.modules.remove(&module);
        s.functions.retain(|_, function| function.module != module);
        Ok(())
    }
    Context fn cuModuleGetFunction(out: *mut usize, module: usize, name: *const c_char) [s, "{}", text(name).unwrap_or("?")] {
        let name = text(name)?;
        let entries = &s.modules.get(&module).ok_or(error::INVALID_HANDLE)?.ptx.entries;
        let parameters = entries.iter().find(|(entry, _)| entry == name).ok_or(error::NOT_FOUND)?.1.clone();
        let known = s.functions.iter().find(|(_, f)| f.module == module && f.name == name).map(|(handle, _)| *handle);
        let handle = known.unwrap_or_else(|| 0x4_0000 + s.name("function").1);
        let new = || Function { module, name: name.to_owned(), parameters, shared_limit: SHARED };
        s.functions.entry(handle).or_insert_with(new);
        put(out, handle)
    }
    Context fn cuFuncGetAttribute(out: *mut i32, attribute: i32, function: usize)
        [s, "{attribute} {}", function_name(s, function)]
    {
        let function = s.functions.get(&function).ok_or(error::INVALID_HANDLE)?;
        let (version, capability) = (s.modules[&function.module].ptx.version, s.config.capability);
        put(out, match attribute {
            0 => BLOCK as i32,
            4 => 32, // registers
            5 => version.0 * 10 + version.1,
            6 => capability.0 * 10 + capability.1,
            8 => function.shared_limit,
            _ => 0,
        })
    }
    Context fn cuFuncSetAttribute(function: usize, attribute: i32, value: i32)
        [s, "{} {attribute} value={value}", function_name(s, function)]
    {
        let function = s.functions.get_mut(&function).ok_or(error::INVALID_HANDLE)?;
        if attribute == 8 {
            if !(0..=SHARED_OPT_IN).contains(&value) {
                return Err(error::INVALID_VALUE);
            }
            function.shared_limit = value.max(SHARED);
        }
        Ok(())
    }
    Context fn cuFuncSetCacheConfig(function: usize, config: i32) [s, "{}", function_name(s, function)] { Ok(()) }
    Context fn cuFuncSetSharedMemConfig(function: usize, config: i32) [s, "{}", function_name(s, function)] { Ok(()) }
    Context fn cuOccupancyMaxActiveBlocksPerMultiprocessor(out: *mut i32, function: usize, threads: i32, shared: usize)
        [s, "{} threads={threads} shared={shared}", function_name(s, function)]
    {
        if threads <= 0 {
            return Err(error::INVALID_VALUE);
        }
        put(out, (2048 / threads).min(32).min((228 << 10) / (shared as i32 + 1024)))
    }
    Context fn cuLaunchKernel(
        function: usize, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: usize,
        parameters: *const *const u8, extra: *const *const c_void,
    ) [s, "{} grid=[{gx}, {gy}, {gz}] block=[{bx}, {by}, {bz}] shared={shared} {}", function_name(s, function),
        s.stream_name(stream)]
    {
        if !extra.is_null() {
            return Err(error::NOT_SUPPORTED);
        }
        launch(s, "cuLaunchKernel", function, Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared }, stream, parameters)
    }
    Context fn cuLaunchCooperativeKernel(
        function: usize, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: usize,
        parameters: *const *const u8,
    ) [s, "{} grid=[{gx}, {gy}, {gz}] block=[{bx}, {by}, {bz}] shared={shared} {}", function_name(s, function),
        s.stream_name(stream)]
    {
        if u64::from(gx) * u64::from(gy) * u64::from(gz) > RESIDENT {
            return Err(error::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        let shape = Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared };
        launch(s, "cuLaunchCooperativeKernel", function, shape, stream, parameters)
    }
}
