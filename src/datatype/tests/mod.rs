//! Datatypes against the standard's definition, written out.

mod arguments;
mod oracle;
mod properties;
