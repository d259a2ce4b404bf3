//! The tables of this folder, read: what the ABIs fix, for all build scripts.
#![allow(dead_code, reason = "who makes one thing of the tables leaves out what another needs")]

/// A function of the standard, as `functions.txt` has it.
pub struct Function {
    /// What it returns, in C.
    pub returns: String,
    /// Its name without `MPI_`.
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// What implements it; `None` if nothing does.
    pub implementation: Option<String>,
}

impl Function {
    pub fn full_name(&self) -> String {
        full_name(&self.name)
    }
}

/// A name in C, `MPI_…`; that of one of MPICH's own, `X_…`, is `MPIX_…`.
pub fn full_name(name: &str) -> String {
    match name.strip_prefix("X_") {
        Some(name) => format!("MPIX_{name}"),
        None => format!("MPI_{name}"),
    }
}

/// A parameter of a function.
#[derive(Clone)]
pub struct Parameter {
    /// Its type in C; an array is a pointer to its elements, `const int *`.
    pub ctype: String,
    pub name: String,
    /// As the table has it, `const int ranks[]`.
    pub declaration: String,
}

/// A constant of the standard, as `constants.txt` has it.
pub struct Constant {
    pub kind: String,
    /// Its name without `MPI_`.
    pub name: String,
    pub value: String,
}

/// All functions, in the order of the table.
pub fn functions() -> Vec<Function> {
    lines(include_str!("functions.txt")).map(function).collect()
}

/// All constants, in the order of the table.
pub fn constants() -> Vec<Constant> {
    lines(include_str!("constants.txt")).map(constant).collect()
}

/// The same of MPICH's ABI.
pub fn mpich_functions() -> Vec<Function> {
    let added = lines(include_str!("mpich_functions.txt")).map(function);
    functions().into_iter().chain(added).collect()
}

/// The same of MPICH's ABI.
pub fn mpich_constants() -> Vec<Constant> {
    lines(include_str!("mpich_constants.txt")).map(constant).collect()
}

/// Those that libonesided_node.so has.
pub fn node_functions() -> Vec<Function> {
    let names: Vec<&str> = lines(include_str!("node_functions.txt")).collect();
    functions().into_iter().filter(|one| names.contains(&&*one.name)).collect()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn function(line: &str) -> Function {
    let (declared, implementation) = match line.split_once(" = ") {
        Some((declared, implementation)) => (declared, Some(implementation.to_owned())),
        None => (line, None),
    };
    let (head, rest) = declared.split_once('(').expect("a function has parameters in parentheses");
    let (returns, name) = head.rsplit_once(' ').expect("a function returns something");
    let list = rest.strip_suffix(')').expect("a declaration ends with the parameters");
    let parameters = list.split(", ").filter(|one| !one.is_empty()).map(parameter).collect();
    Function { returns: returns.into(), name: name.into(), parameters, implementation }
}

fn parameter(declaration: &str) -> Parameter {
    let (text, stars) = match declaration.split_once('[') {
        Some((text, bounds)) => (text, if bounds.contains("[3") { "(*)[3]" } else { "*" }),
        None => (declaration, ""),
    };
    let name = text.rsplit([' ', '*']).next().unwrap_or_default();
    let ctype = text[..text.len() - name.len()].trim_end();
    let space = if stars.is_empty() || ctype.ends_with('*') { "" } else { " " };
    let (ctype, declaration) = (format!("{ctype}{space}{stars}"), declaration.into());
    match name {
        "..." => Parameter { ctype: name.into(), name: name.into(), declaration },
        _ => Parameter { ctype, name: name.into(), declaration },
    }
}

fn constant(line: &str) -> Constant {
    let mut words = line.split(' ').map(str::to_owned);
    let mut word = || words.next().expect("a constant has a kind, a name and a value");
    Constant { kind: word(), name: word(), value: word() }
}
