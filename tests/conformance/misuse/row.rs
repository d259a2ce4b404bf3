//! What a row is: a wrong call, and how it is refused.

use super::bench::{OnWindow, Scene};
use onesided::engine::Win;
use onesided::{Comm, ErrorClass, Result};

/// Rows that belong together.
pub struct Section {
    pub title: &'static str,
    pub rows: &'static [Row],
}

/// A wrong call.
pub struct Row {
    /// In words, as the page has it.
    pub wrong: &'static str,
    pub refused: Refused,
}

/// What returns the error, and its class.
pub enum Refused {
    /// A call on a window, in a state of it.
    OnWindow(OnWindow),
    /// A call that has no window yet, or makes and frees one.
    InJob(InJob),
    /// It does not compile: the case of tests/types.
    ByCompiler(&'static str),
    /// By a test elsewhere, because it takes a process of its own.
    Elsewhere(ErrorClass, &'static str),
}

/// What both ranks call, and what the error must be.
pub struct InJob {
    pub class: ErrorClass,
    /// What the sentence names; `{me}` and `{other}` stand for the ranks.
    pub expected: &'static [&'static str],
    pub call: fn(&Comm) -> Result<()>,
}

/// A row about a call on a window.
pub const fn row(
    wrong: &'static str,
    state: State,
    class: ErrorClass,
    expected: &'static [&'static str],
    call: fn(&Scene<'_>) -> Result<()>,
) -> Row {
    Row { wrong, refused: Refused::OnWindow(OnWindow { state, class, expected, call }) }
}

/// A row about another call.
pub const fn job(
    wrong: &'static str,
    class: ErrorClass,
    expected: &'static [&'static str],
    call: fn(&Comm) -> Result<()>,
) -> Row {
    Row { wrong, refused: Refused::InJob(InJob { class, expected, call }) }
}

/// A row about what does not compile.
pub const fn compiler(wrong: &'static str, case: &'static str) -> Row {
    Row { wrong, refused: Refused::ByCompiler(case) }
}

/// A row that another test shows.
pub const fn elsewhere(wrong: &'static str, class: ErrorClass, test: &'static str) -> Row {
    Row { wrong, refused: Refused::Elsewhere(class, test) }
}

/// In which epoch the wrong call is made. Both ranks are in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// None.
    Idle,
    /// A fence epoch in which nothing was issued.
    Fence,
    /// A fence epoch with an operation.
    FenceUsed,
    /// Posted for and started on the other rank.
    Started,
    /// Posted for no rank.
    Exposed,
    /// A shared lock of the other rank.
    Locked,
    /// An exclusive lock of the own part.
    OwnLocked,
    /// Lock_all.
    LockedAll,
}

/// Displacement unit of the window, in bytes.
pub const UNIT: u64 = 8;
/// Elements of each rank's part.
pub const LEN: u64 = 8;

/// A call that writes to a buffer, which must stay as it is.
pub fn spared<T>(call: impl FnOnce(&mut [u64; 3]) -> Result<T>) -> Result<()> {
    let mut buffer = [77; 3];
    let result = call(&mut buffer);
    assert_eq!(buffer, [77; 3], "the buffer has changed");
    result.map(drop)
}

/// Frees a window that a wrong call has not spoilt, and passes the call's error on.
pub fn and_free(win: Win, result: Result<()>) -> Result<()> {
    win.free().expect("the window can be freed after the wrong call");
    result
}
