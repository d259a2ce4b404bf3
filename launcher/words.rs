//! The command lines of other launchers: words that mean something here, and several programs in one job.

use clap::builder::Arg;
use clap::{ArgAction, Command};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

/// What a word of another launcher stands for here.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    /// Another word, with the same values.
    Word(&'static str),
    /// The same with two values, a name and what it is set to.
    Setting(&'static str),
    /// What it asks for is so in any case. With the number of its values.
    Accepted(usize),
    /// What it asks for does not exist on one machine. It has a value.
    OtherMachines,
}

/// The words of MPICH's `mpiexec` and Open MPI's `mpirun` that are not words of `rmarun`.
const WORDS: &[(&str, Meaning)] = &[
    ("-np", Meaning::Word("-n")),
    ("--np", Meaning::Word("-n")),
    ("-env", Meaning::Setting("--env")),
    ("-genv", Meaning::Setting("--env")),
    ("--genv", Meaning::Setting("--env")),
    ("-wdir", Meaning::Word("--wdir")),
    ("-wd", Meaning::Word("--wdir")),
    ("--wd", Meaning::Word("--wdir")),
    ("-l", Meaning::Word("--tag-output")),
    ("-prepend-rank", Meaning::Word("--tag-output")),
    ("--prepend-rank", Meaning::Word("--tag-output")),
    ("-configfile", Meaning::Word("--configfile")),
    ("-bind-to", Meaning::Word("--bind-to")),
    ("-genvall", Meaning::Accepted(0)),
    ("-envall", Meaning::Accepted(0)),
    ("-oversubscribe", Meaning::Accepted(0)),
    ("--oversubscribe", Meaning::Accepted(0)),
    ("-allow-run-as-root", Meaning::Accepted(0)),
    ("--allow-run-as-root", Meaning::Accepted(0)),
    ("-ppn", Meaning::Accepted(1)),
    ("-perhost", Meaning::Accepted(1)),
    ("-f", Meaning::OtherMachines),
    ("-H", Meaning::OtherMachines),
    ("-host", Meaning::OtherMachines),
    ("--host", Meaning::OtherMachines),
    ("-hosts", Meaning::OtherMachines),
    ("-hostfile", Meaning::OtherMachines),
    ("--hostfile", Meaning::OtherMachines),
    ("-machinefile", Meaning::OtherMachines),
    ("--machinefile", Meaning::OtherMachines),
];

/// The rank and the number of ranks, as programs and scripts of other launchers read them. They are also those
/// of the only machine.
pub const RANK_VARIABLES: [&str; 4] =
    ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"];
pub const RANKS_VARIABLES: [&str; 4] =
    ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];

/// The parts of a command line, one for each program: each in the words of `definition`, which has the options.
///
/// A new part begins behind a word `:` that an option follows. Any other `:` is an argument of the program.
pub fn parts(
    definition: &Command,
    words: impl IntoIterator<Item = OsString>,
) -> Result<Vec<Vec<OsString>>, String> {
    let words: Vec<OsString> = words.into_iter().collect();
    let (name, words) = words.split_first().map_or((None, &[][..]), |(n, all)| (Some(n), all));
    let mut words = words.to_vec();
    if let Some(at) = position_of_file(definition, &words) {
        let rest = words.split_off(at);
        let [_, file, after @ ..] = &rest[..] else {
            return Err("--configfile needs a file".to_owned());
        };
        if !after.is_empty() {
            return Err("--configfile is the last option: the programs are in the file".to_owned());
        }
        words.extend(words_of_file(file.as_ref())?);
    }
    let is_option = |word: Option<&OsString>| word.is_some_and(|word| begins(word, b"-"));
    let mut parts = vec![Vec::new()];
    for (at, word) in words.iter().enumerate() {
        match parts.last_mut() {
            Some(part) if word != ":" || !is_option(words.get(at + 1)) => part.push(word.clone()),
            _ => parts.push(Vec::new()),
        }
    }
    let translated = parts.iter().map(|part| {
        let words = translated(definition, part)?;
        Ok(name.into_iter().cloned().chain(words).collect())
    });
    translated.collect()
}

/// Where `--configfile` is among the options of the first part.
fn position_of_file(definition: &Command, words: &[OsString]) -> Option<usize> {
    let mut at = 0;
    while words.get(at).is_some_and(|word| begins(word, b"-") && word != "--") {
        if ["-configfile", "--configfile"].iter().any(|word| words[at] == **word) {
            return Some(at);
        }
        at += 1 + values(definition, &words[at]);
    }
    None
}

/// The parts in a file, one on each line, with `:` between them. A `#` begins a comment.
#[allow(clippy::disallowed_methods, reason = "the user names the file")]
fn words_of_file(file: &Path) -> Result<Vec<OsString>, String> {
    let wrong = |why: String| format!("--configfile {}: {why}", file.display());
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let mut words = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let split = shlex::split(line);
        let line = split.ok_or_else(|| wrong(format!("line {}: a quote is open", number + 1)))?;
        if !line.is_empty() && !words.is_empty() {
            words.push(":".into());
        }
        words.extend(line.into_iter().map(OsString::from));
    }
    match words.is_empty() {
        true => Err(wrong("no program is in it".to_owned())),
        false => Ok(words),
    }
}

/// The options of one part in words of `definition`; its program and the arguments as they are.
fn translated(definition: &Command, words: &[OsString]) -> Result<Vec<OsString>, String> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| begins(word, b"-") && *word != "--") {
        at += 1;
        let text = word.to_string_lossy();
        let (name, value) = match text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (&*text, None),
        };
        match WORDS.iter().find(|(foreign, _)| *foreign == name).map(|(_, meaning)| *meaning) {
            Some(Meaning::Accepted(values)) => at = words.len().min(at + values),
            Some(Meaning::OtherMachines) => {
                let why = "rmarun starts ranks on this machine only; for other machines see the page \
                           on clusters, docs/foreign.md";
                return Err(format!("{name}: {why}"));
            }
            Some(Meaning::Word(ours)) => match value {
                Some(value) if ours.starts_with("--") => all.push(format!("{ours}={value}").into()),
                value => {
                    all.push(ours.into());
                    all.extend(value.map(OsString::from));
                    take(&mut all, words, &mut at, values(definition, ours.as_ref()));
                }
            },
            Some(Meaning::Setting(ours)) => {
                let [name, value] = words.get(at..at + 2).unwrap_or_default() else {
                    return Err(format!("{text} needs a name and a value"));
                };
                at += 2;
                let mut setting = name.clone();
                setting.push("=");
                setting.push(value);
                all.extend([ours.into(), setting]);
            }
            None => {
                all.push(word.clone());
                take(&mut all, words, &mut at, values(definition, word));
            }
        }
    }
    all.extend_from_slice(&words[at..]);
    Ok(all)
}

/// Moves the values of an option.
fn take(all: &mut Vec<OsString>, words: &[OsString], at: &mut usize, values: usize) {
    let until = words.len().min(*at + values);
    all.extend_from_slice(&words[*at..until]);
    *at = until;
}

/// How many words after this one are its values: none, one, or the two of a setting.
fn values(definition: &Command, word: &OsStr) -> usize {
    let word = word.to_string_lossy();
    match WORDS.iter().find(|(foreign, _)| *foreign == word) {
        Some((_, Meaning::Word(ours))) => return values(definition, ours.as_ref()),
        Some((_, Meaning::Setting(_))) => return 2,
        Some((_, Meaning::Accepted(values))) => return *values,
        Some((_, Meaning::OtherMachines)) => return 1,
        None => {}
    }
    let has_value = |arg: &Arg| {
        matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
            && !arg.is_require_equals_set()
    };
    let of = |found: &dyn Fn(&Arg) -> bool| definition.get_arguments().find(|arg| found(arg));
    match word.strip_prefix("--") {
        Some(long) => usize::from(of(&|arg| arg.get_long() == Some(long)).is_some_and(has_value)),
        None => {
            // Of letters behind one dash, the first with a value takes the rest of the word for it.
            let mut letters = word.chars().skip(1).peekable();
            while let Some(letter) = letters.next() {
                if of(&|arg| arg.get_short() == Some(letter)).is_some_and(has_value) {
                    return usize::from(letters.peek().is_none());
                }
            }
            0
        }
    }
}

/// The variable that names the debugger of `--gdb` and `--attach`, with its options.
pub const DEBUGGER: &str = "ONESIDED_GDB";

/// The words that start the debugger.
#[allow(clippy::disallowed_methods, reason = "the user names the debugger")]
pub fn debugger() -> Result<Vec<OsString>, String> {
    let named = std::env::var(DEBUGGER).unwrap_or_default();
    let words =
        shlex::split(&named).ok_or_else(|| format!("{DEBUGGER}={named}: a quote is open"))?;
    match words.is_empty() {
        true => Ok(vec!["gdb".into()]),
        false => Ok(words.into_iter().map(OsString::from).collect()),
    }
}

/// Whether the user's environment has that variable.
#[allow(clippy::disallowed_methods, reason = "the user names the variable")]
pub fn is_set(variable: &OsStr) -> bool {
    std::env::var_os(variable).is_some()
}

fn begins(word: &OsStr, with: &[u8]) -> bool {
    word.as_encoded_bytes().starts_with(with)
}
