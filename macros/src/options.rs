//! The arguments of the attribute.

use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{LitFloat, LitInt, LitStr, Result, Token, bracketed};

/// What stands in the brackets behind the name of the attribute.
#[derive(Default)]
pub struct Options {
    /// Each is the number of ranks of a test.
    pub ranks: Vec<u32>,
    /// In seconds.
    pub timeout: Option<f64>,
    /// Further options of rmarun.
    pub options: Vec<String>,
}

impl Options {
    /// Reads one argument.
    pub fn read(&mut self, meta: ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match name.as_str() {
            "ranks" => self.read_ranks(&meta),
            "timeout" => self.read_timeout(&meta),
            "options" => {
                let list;
                let value = meta.value()?;
                bracketed!(list in value);
                let options = Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?;
                self.options.extend(options.iter().map(LitStr::value));
                Ok(())
            }
            _ => Err(meta.error("the arguments are ranks, timeout and options")),
        }
    }

    /// A list of numbers, or one of them.
    fn read_ranks(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let value = meta.value()?;
        let numbers: Vec<LitInt> = match value.peek(LitInt) {
            true => vec![value.parse()?],
            false => {
                let list;
                bracketed!(list in value);
                Punctuated::<_, Token![,]>::parse_terminated(&list)?.into_iter().collect()
            }
        };
        for number in &numbers {
            let ranks: u32 = number.base10_parse()?;
            if ranks == 0 {
                return Err(syn::Error::new(number.span(), "a job has at least one rank"));
            }
            if self.ranks.contains(&ranks) {
                let what = format!("{ranks} ranks are given twice");
                return Err(syn::Error::new(number.span(), what));
            }
            self.ranks.push(ranks);
        }
        Ok(())
    }

    fn read_timeout(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let value = meta.value()?;
        let seconds: f64 = match value.peek(LitInt) {
            true => value.parse::<LitInt>()?.base10_parse()?,
            false => value.parse::<LitFloat>()?.base10_parse()?,
        };
        if seconds <= 0.0 {
            return Err(meta.error("the timeout is a number of seconds above 0"));
        }
        self.timeout = Some(seconds);
        Ok(())
    }
}
