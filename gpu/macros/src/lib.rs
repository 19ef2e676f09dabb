//! `#[kernel]`: a kernel is declared once.
//!
//! ```text
//! #[kernel(block = (32, 8), shared = 0)]
//! pub unsafe fn scale(gpu: impl Gpu, x: Global<f32>, y: GlobalMut<f32>, n: u32, factor: f32) { … }
//! ```
//!
//! yields
//! 1. the function itself, generic over the machine it runs on;
//! 2. on the GPU, the entry point `scale` that calls it, marked as the compiler at hand wants it marked;
//! 3. on the host, a handle `Scale` that implements `launch::Kernel`: the entry point's name, the block shape, the bytes
//!    of shared memory, and the parameter types, so that a launch with other arguments does not compile.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprTuple, FnArg, Ident, ItemFn, Pat, Token, Type, parse_macro_input};

/// Declares a kernel; see the crate's documentation.
///
/// `block = (x)`, `(x, y)` or `(x, y, z)`: threads per block, constant expressions. `shared = bytes`: shared memory per
/// block, 0 if absent. The first parameter is `gpu: impl Gpu`; the others are what the host passes.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let shape = parse_macro_input!(attribute as Shape);
    let function = parse_macro_input!(item as ItemFn);
    expand(&shape, function).unwrap_or_else(Error::into_compile_error).into()
}

/// What stands in the attribute's parentheses.
struct Shape {
    block: [Expr; 3],
    shared: Expr,
}

impl Parse for Shape {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let (mut block, mut shared) = (None, None);
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let value: Expr = input.parse()?;
            match key.to_string().as_str() {
                "block" => block = Some(extents(value)?),
                "shared" => shared = Some(value),
                other => {
                    return Err(Error::new(
                        key.span(),
                        format!("unknown key `{other}`: `block` and `shared` are known"),
                    ));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let block = block.ok_or_else(|| input.error("the block shape is missing: `block = (x, y, z)`"))?;
        Ok(Self { block, shared: shared.unwrap_or_else(|| syn::parse_quote!(0)) })
    }
}

/// One to three extents as three, with 1 for the absent ones.
fn extents(value: Expr) -> syn::Result<[Expr; 3]> {
    let given: Vec<Expr> = match value {
        Expr::Tuple(ExprTuple { elems, .. }) => elems.into_iter().collect(),
        Expr::Paren(one) => vec![*one.expr],
        one => vec![one],
    };
    if given.is_empty() || given.len() > 3 {
        return Err(Error::new_spanned(given.first(), "a block has one to three extents"));
    }
    let one: Expr = syn::parse_quote!(1);
    let mut given = given.into_iter();
    Ok(std::array::from_fn(|_| given.next().unwrap_or_else(|| one.clone())))
}

fn expand(shape: &Shape, mut function: ItemFn) -> syn::Result<Tokens> {
    if function.sig.unsafety.is_none() {
        return Err(Error::new_spanned(&function.sig, "a kernel trusts its arguments, so it is an `unsafe fn`"));
    }
    let parameters = host_parameters(&function)?;
    let (names, types): (Vec<&Ident>, Vec<&Type>) = parameters.iter().map(|(n, t)| (n, t)).unzip();

    let name = function.sig.ident.clone();
    let handle = format_ident!("{}", camel_case(&name.to_string()));
    let visibility = function.vis.clone();
    let documentation: Vec<_> = function.attrs.iter().filter(|a| a.path().is_ident("doc")).cloned().collect();
    let [x, y, z] = &shape.block;
    let shared = &shape.shared;
    function.attrs.push(syn::parse_quote!(#[inline(always)]));

    let entry = entry_point(&name, &names, &types);

    Ok(quote! {
        #function

        #entry

        #(#documentation)*
        #[cfg(not(target_os = "cuda"))]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #handle;

        #[cfg(not(target_os = "cuda"))]
        // SAFETY: name, parameters, block and shared memory are those of the entry point above, out of one declaration.
        unsafe impl crate::launch::Kernel for #handle {
            const NAME: &'static str = stringify!(#name);
            const BLOCK: crate::device::Dim3 = crate::device::Dim3::new(#x, #y, #z);
            const SHARED_BYTES: u32 = #shared;
            type Args = (#(#types,)*);

            #[inline(always)]
            unsafe fn run<G: crate::device::Gpu>(gpu: G, (#(#names,)*): Self::Args) {
                // SAFETY: the caller's: the kernel's contract holds.
                unsafe { #name(gpu, #(#names),*) }
            }
        }
    })
}

/// The entry point that the GPU's compiler wants to see. The feature is this crate's own, set by `gpu`'s: a `cfg` in the
/// expansion would ask the features of whichever crate the kernel is in.
fn entry_point(name: &Ident, names: &[&Ident], types: &[&Type]) -> Tokens {
    if cfg!(feature = "rust-cuda") {
        // `cuda_std`'s own attribute marks the entry point for its backend and exports it under the function's name, so
        // it bears the kernel's; `self` is the module around, where the kernel is.
        quote! {
            const _: () = {
                #[::cuda_std::kernel]
                pub unsafe fn #name(#(#names: #types),*) {
                    // SAFETY: whoever launches the entry point answers for the kernel's contract.
                    unsafe { self::#name(crate::device::DeviceThread::current(), #(#names),*) }
                }
            };
        }
    } else {
        quote! {
            #[cfg(target_os = "cuda")]
            const _: () = {
                #[unsafe(export_name = stringify!(#name))]
                unsafe extern "ptx-kernel" fn entry(#(#names: #types),*) {
                    // SAFETY: whoever launches the entry point answers for the kernel's contract.
                    unsafe { #name(crate::device::DeviceThread::current(), #(#names),*) }
                }
            };
        }
    }
}

/// The parameters after `gpu`, which are what the host passes.
fn host_parameters(function: &ItemFn) -> syn::Result<Vec<(Ident, Type)>> {
    let inputs: &Punctuated<FnArg, _> = &function.sig.inputs;
    if !matches!(inputs.first(), Some(FnArg::Typed(first)) if matches!(*first.ty, Type::ImplTrait(_))) {
        return Err(Error::new_spanned(&function.sig, "a kernel's first parameter is `gpu: impl Gpu`"));
    }
    inputs
        .iter()
        .skip(1)
        .map(|input| match input {
            FnArg::Typed(typed) => match &*typed.pat {
                Pat::Ident(name) => Ok((name.ident.clone(), (*typed.ty).clone())),
                other => Err(Error::new_spanned(other, "a kernel's parameters are plain names")),
            },
            FnArg::Receiver(receiver) => Err(Error::new_spanned(receiver, "a kernel is a free function")),
        })
        .collect()
}

fn camel_case(snake: &str) -> String {
    snake
        .split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        })
        .collect()
}
