//! What a rule is: a sentence of the text, and what shows that the library keeps it.

/// A section of a specification text, with its rules in the order of the text.
pub struct Section {
    /// The text, as README of the specification texts cites it: "MPI-2.2", "New RMA Design".
    pub edition: &'static str,
    /// The clause, by which its rules' numbers begin.
    pub clause: &'static str,
    pub title: &'static str,
    pub rules: &'static [Rule],
}

pub struct Rule {
    /// The number in its clause, or the text's own where it has one.
    pub number: &'static str,
    /// The sentence, shortened.
    pub expected: &'static str,
    pub shown: Shown,
}

pub enum Shown {
    /// By these tests, as `file::function`: `file` is under `tests/` if it names no other folder;
    /// in `types` a function is a case.
    By(&'static [&'static str]),
    /// By nothing, because the rule binds the program, or allows without promising.
    Nothing(&'static str),
}

/// A rule that tests show.
pub const fn rule(
    number: &'static str,
    expected: &'static str,
    tests: &'static [&'static str],
) -> Rule {
    Rule { number, expected, shown: Shown::By(tests) }
}

/// A rule of which nothing can be seen, and why.
pub const fn unseen(number: &'static str, expected: &'static str, why: &'static str) -> Rule {
    Rule { number, expected, shown: Shown::Nothing(why) }
}
