//! The derive of `Pod` for structs.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, Ident, Index, Member, Result};

/// What follows the place of padding in its message.
const REMEDY: &str = "whose bytes other ranks would read although nothing has written them: order the fields by their \
                      alignment, the largest first, or add a field for these bytes, such as `_padding: [u8; 4]`";

/// Implements `Pod` and `Zeroable` for a struct of fields that have them, without bytes between the fields.
pub fn plain(input: &DeriveInput) -> Result<TokenStream> {
    let wrong = |what: &str| Err(Error::new_spanned(&input.ident, what));
    let Data::Struct(data) = &input.data else {
        return wrong("Pod is derived for structs: not every bit pattern is a value of an enum");
    };
    if !input.generics.params.is_empty() {
        return wrong("Pod is derived for structs without parameters, whose layout is known here");
    }
    if !has_known_layout(input)? {
        return wrong("the layout of the struct is open: add #[repr(C)], or #[repr(transparent)]");
    }
    let name = &input.ident;
    let fields: Vec<(Member, &Field)> = members(&data.fields).collect();
    let are_plain =
        fields.iter().map(|(_, Field { ty, .. })| quote_spanned!(ty.span()=> is_plain::<#ty>();));
    let are_dense = dense(name, &fields);
    Ok(quote! {
        const _: () = {
            const fn is_plain<T: ::onesided::bytemuck::Pod>() {}
            #(#are_plain)*
            #are_dense
        };
        // SAFETY: all fields are `Zeroable`, as every `Pod` is.
        unsafe impl ::onesided::bytemuck::Zeroable for #name {}
        // SAFETY: the constant above has no value unless all fields are `Pod` and nothing is between or behind them.
        unsafe impl ::onesided::bytemuck::Pod for #name {}
    })
}

/// Whether the struct has `#[repr(C)]` or `#[repr(transparent)]`.
fn has_known_layout(input: &DeriveInput) -> Result<bool> {
    let mut is_known = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            is_known |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            if meta.input.peek(syn::token::Paren) {
                let arguments;
                syn::parenthesized!(arguments in meta.input);
                arguments.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(is_known)
}

fn members(fields: &Fields) -> impl Iterator<Item = (Member, &Field)> {
    (0..).zip(fields).map(|(index, field)| match &field.ident {
        Some(name) => (Member::Named(name.clone()), field),
        None => (Member::Unnamed(Index { index, span: field.span() }), field),
    })
}

/// The assertions that each field begins where the one before ends, and the struct ends with the last.
fn dense(name: &Ident, fields: &[(Member, &Field)]) -> TokenStream {
    let end = |(member, Field { ty, .. }): &(Member, &Field)| quote!(::core::mem::offset_of!(#name, #member) + ::core::mem::size_of::<#ty>());
    let between = fields.windows(2).map(|pair| {
        let (before, (member, field)) = (end(&pair[0]), &pair[1]);
        let text = format!("`{name}` has padding before `{}`, {REMEDY}", shown(member));
        assertion(field.span(), &quote!(::core::mem::offset_of!(#name, #member) == #before), &text)
    });
    let behind = fields.last().map(|last| {
        let text = format!("`{name}` has padding at its end, {REMEDY}");
        let end = end(last);
        assertion(name.span(), &quote!(::core::mem::size_of::<#name>() == #end), &text)
    });
    quote!(#(#between)* #behind)
}

fn assertion(span: Span, condition: &TokenStream, text: &str) -> TokenStream {
    quote_spanned!(span=> ::core::assert!(#condition, #text);)
}

fn shown(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}
