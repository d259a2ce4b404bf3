//! The attribute `#[onesided::test]` and the derive of `onesided::Pod`; the crate `onesided` documents them.

mod options;
mod plain;

use options::Options;
use proc_macro::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, DeriveInput, Error, FnArg, ItemFn, Result, parse_macro_input};

/// Attributes of a test, which each generated test gets. All others stay with the function.
const OF_TESTS: [&str; 2] = ["ignore", "should_panic"];

#[allow(missing_docs, reason = "the crate that exports it has them")]
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let mut options = Options::default();
    let parser = syn::meta::parser(|meta| options.read(meta));
    parse_macro_input!(arguments with parser);
    let function = parse_macro_input!(function as ItemFn);
    tests(&options, function).unwrap_or_else(Error::into_compile_error).into()
}

#[allow(missing_docs, reason = "the crate that exports it has them")]
#[proc_macro_derive(Pod)]
pub fn pod(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    plain::plain(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The function, and a module of its name with a test for each number of ranks.
fn tests(options: &Options, mut function: ItemFn) -> Result<proc_macro2::TokenStream> {
    let signature = &function.sig;
    let wrong = |what: &str| Err(Error::new_spanned(signature, what));
    if options.ranks.is_empty() {
        return wrong("numbers of ranks are needed, as in #[onesided::test(ranks = [1, 2, 4])]");
    }
    if signature.asyncness.is_some() || !signature.generics.params.is_empty() {
        return wrong("a test with ranks is neither async nor generic");
    }
    let call = match signature.inputs.iter().collect::<Vec<_>>()[..] {
        [] => quote!(|_| test()),
        [FnArg::Typed(_)] => quote!(|universe| test(::onesided::testing::Lent::lent(universe))),
        _ => return wrong("a test with ranks has no argument, &Universe or &Comm"),
    };
    let of_tests =
        |attribute: &Attribute| OF_TESTS.iter().any(|name| attribute.path().is_ident(name));
    let (attributes, others) = function.attrs.into_iter().partition::<Vec<_>, _>(of_tests);
    function.attrs = others;
    let name = &function.sig.ident;
    let limit = options.timeout.iter().map(|limit| quote!(.timeout_secs(#limit)));
    let given = &options.options;
    let job = quote!(#(#limit)* #(.option(#given))*);
    let tests = options.ranks.iter().map(|ranks| {
        let test = format_ident!("ranks_{}", ranks, span = name.span());
        quote! {
            #[::core::prelude::v1::test]
            #(#attributes)*
            fn #test() {
                ::onesided::testing::Job::new(#ranks) #job .run(#call)
            }
        }
    });
    Ok(quote! {
        #[cfg(test)]
        #function

        #[cfg(test)]
        mod #name {
            use super::#name as test;
            #(#tests)*
        }
    })
}
