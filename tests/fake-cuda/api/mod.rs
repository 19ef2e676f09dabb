//! The exported functions.

mod context;
mod control;
mod device;
mod event;
mod memory;
mod module;
mod stream;
mod transfer;

/// Defines exported functions. `Need fn name(parameters) [state, "what the log says"] { body }`.
macro_rules! api {
    ($($need:ident fn $name:ident($($p:ident: $t:ty),* $(,)?) [$state:ident $(, $($say:tt)+)?] $body:block)*) => { $(
        // A fake has no use for some of the parameters that a signature asks for.
        #[allow(unused_variables)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($p: $t),*) -> i32 {
            crate::state::enter(
                stringify!($name),
                crate::state::Need::$need,
                |$state| { let say = String::new(); $(let say = format!($($say)+);)? say },
                |$state| -> Result<(), i32> { $body },
            )
        }
    )* };
}
use api;
