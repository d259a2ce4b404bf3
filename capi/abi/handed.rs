//! The functions of libonesided_node.so: of a window of this library they do what those of libmpi_abi.so do, and hand
//! other calls on to the MPI of the program.

use super::{declared, exported, passed_on, rust, there};
use crate::table::{Function, Parameter};

/// What a function has around its call.
#[derive(Default)]
pub struct Handing {
    /// What decides that the call is handed on; empty if none is.
    pub guard: String,
    /// An arm of the match on the outcome, which hands a call on that could not be done.
    pub arm: String,
    /// The type of the parameter for which `native` has the handle of this library.
    pub native: &'static str,
    /// What follows the call if it has succeeded.
    pub then: String,
}

impl Handing {
    /// The parameters of the call.
    pub fn renamed(&self, function: &Function) -> Vec<Parameter> {
        let renamed = |one: &Parameter| match one.ctype == self.native {
            true => Parameter { name: "native".into(), ..one.clone() },
            false => one.clone(),
        };
        function.parameters.iter().map(renamed).collect()
    }

    /// Whether the fast path of an operation has done it.
    pub fn tried(&self, operation: &str) -> String {
        match self.native {
            "" => format!("{operation}.try_run()"),
            _ => format!("crate::host::ours(win).is_some_and(|native| {operation}.try_run())"),
        }
    }
}

/// The functions of C for a function of the table.
pub fn export(function: &Function) -> String {
    let real = format!("{}_real({})", function.name.to_lowercase(), passed_on(function));
    let body = match function.name.as_str() {
        "Init" | "Init_thread" => {
            format!("let code = {real}; if code == MPI_SUCCESS {{ crate::host::begin(); }} code")
        }
        "Finalize" => format!("crate::host::end(); {real}"),
        "Alloc_mem" => format!(
            "match crate::host::allocate(size) {{ \
             Some(address) if baseptr.place().set(address).is_ok() => MPI_SUCCESS, _ => {real} }}"
        ),
        "Free_mem" => format!("if crate::host::free(base) {{ MPI_SUCCESS }} else {{ {real} }}"),
        _ => {
            let call = function.implementation.as_deref().expect("it is there");
            let handing = handing(function, &real);
            let call = if function.name == "Win_free" { "host win_free" } else { call };
            return handed(function) + &there(function, call, &handing);
        }
    };
    let entered = format!("{}_entered", function.name.to_lowercase());
    let declared = declared(function);
    handed(function)
        + &exported(function, &entered)
        + &format!("extern \"C\" fn {entered}({declared}) -> c_int {{ {body} }}\n")
}

fn handing(function: &Function, real: &str) -> Handing {
    let of = |ctype: &str| function.parameters.iter().any(|one| one.ctype == ctype);
    if of("MPI_Comm") {
        let raised = format!("{}_raised", function.name.to_lowercase());
        let passed = passed_on(function);
        return Handing {
            guard: format!(
                "let native = match crate::host::native(comm) {{ Ok(Some(native)) => native, \
                 Ok(None) => return {real}, Err(failure) => return {raised}(failure, {passed}) }}; "
            ),
            arm: format!("Err(failure) if crate::host::may_do(&failure, comm) => {real}, "),
            native: "MPI_Comm",
            then: ".and_then(|()| crate::host::adopt(info, comm, win))".into(),
        };
    }
    if function.name == "Win_free" {
        let guard = format!("if !crate::host::is_ours(win.peek()) {{ return {real}; }} ");
        return Handing { guard, ..Handing::default() };
    }
    let looks_further = match function.name.as_str() {
        "Win_get_attr" => ".filter(|_| crate::host::has_attribute(win_keyval))",
        _ => "",
    };
    let guard = format!(
        "let Some(native) = crate::host::ours(win){looks_further} else {{ return {real}; }}; "
    );
    Handing { guard, native: "MPI_Win", ..Handing::default() }
}

/// The function that hands a call on.
fn handed(function: &Function) -> String {
    let types: String = function.parameters.iter().map(|one| rust(&one.ctype) + ", ").collect();
    let (name, full) = (function.name.to_lowercase(), function.full_name());
    format!(
        "#[inline(never)]\nextern \"C\" fn {name}_real({}) -> c_int {{ \
         crate::process::real!(c\"P{full}\", fn({types}) -> c_int)({}) }}\n",
        declared(function),
        passed_on(function)
    )
}
