//! Test builds only: how a rank fails on purpose.
//!
//! `ONESIDED_FAULT=rank:site:nth:action`: the rank does the action when it reaches the site for the nth
//! time. Several such requests are separated by commas, and a rank takes its first. Sites are the
//! MEM_SYNCs, the PROC_SYNCs and the steps of `prim/site.rs`, by name.

use crate::prim::hooks::{Event, named, set_trap};
use nix::sys::signal::{Signal, raise};
use std::io::Write;

/// What a rank does to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Kill,
    Abort,
    Segv,
    Exit0,
    Panic,
    Stop,
    OutOfMemory,
}

const ACTIONS: [(&str, Action); 7] = [
    ("kill", Action::Kill),
    ("abort", Action::Abort),
    ("segv", Action::Segv),
    ("exit0", Action::Exit0),
    ("panic", Action::Panic),
    ("stop", Action::Stop),
    ("oom", Action::OutOfMemory),
];

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FaultRequest {
    rank: u32,
    at: Event,
    nth: u64,
    action: Action,
}

/// Sets the trap of this rank, if it has one; it counts from now on. The first trap of a process stays.
///
/// # Errors
/// What is wrong with the requests.
pub fn arm(rank: u32, wishes: &str) -> Result<(), String> {
    let wishes: Vec<FaultRequest> = wishes.split(',').map(read).collect::<Result<_, _>>()?;
    if let Some(wish) = wishes.iter().find(|wish| wish.rank == rank).copied() {
        set_trap(wish.at, wish.nth, move || wish.action.run(rank));
    }
    Ok(())
}

fn read(text: &str) -> Result<FaultRequest, String> {
    let words: Vec<&str> = text.split(':').collect();
    let [rank, at, nth, action] = words[..] else {
        return Err("rank:site:nth:action is needed".to_owned());
    };
    let known = |(name, known): &(&str, Action)| (*name == action).then_some(*known);
    Ok(FaultRequest {
        rank: rank.parse().map_err(|_| format!("'{rank}' is no rank"))?,
        at: named(at).ok_or_else(|| format!("there is no site '{at}'"))?,
        nth: nth.parse().ok().filter(|n| *n > 0).ok_or_else(|| format!("'{nth}' is no count"))?,
        action: ACTIONS.iter().find_map(known).ok_or_else(|| format!("no action '{action}'"))?,
    })
}

impl Action {
    fn run(self, rank: u32) {
        // So that a test learns that the fault has happened, and in which process.
        let line = format!("fault: rank {rank}, pid {}\n", std::process::id());
        let _ = std::io::stderr().write_all(line.as_bytes());
        match self {
            Action::Kill => signal_self(Signal::SIGKILL),
            Action::Abort => std::process::abort(),
            Action::Segv => signal_self(Signal::SIGSEGV),
            Action::Exit0 => leave(),
            Action::Panic => panic!("a fault was asked for"),
            // Continues when it gets SIGCONT.
            Action::Stop => drop(raise(Signal::SIGSTOP)),
            Action::OutOfMemory => {
                std::alloc::handle_alloc_error(std::alloc::Layout::new::<[u8; 1 << 30]>())
            }
        }
    }
}

/// Repeats, because a handler (the standard library's, for SIGSEGV) catches the first one.
fn signal_self(signal: Signal) {
    while raise(signal).is_ok() {}
}

#[allow(clippy::disallowed_methods, reason = "a program that leaves like this is what is tested")]
fn leave() {
    std::process::exit(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::{ProcSync, Site, Step};

    #[test]
    fn wishes_are_read() {
        let wish = |rank, at, nth, action| Ok(FaultRequest { rank, at, nth, action });
        let fence = Event::MemSync(Site::FencePre);
        assert_eq!(read("3:FencePre:2:kill"), wish(3, fence, 2, Action::Kill));
        let post = Event::ProcSync(ProcSync::Post);
        assert_eq!(read("0:Post:1:exit0"), wish(0, post, 1, Action::Exit0));
        let join = Event::Step(Step::BeforeJoin);
        assert_eq!(read("1:BeforeJoin:1:oom"), wish(1, join, 1, Action::OutOfMemory));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, problem) in [
            ("", "rank:site:nth:action is needed"),
            ("1:FencePre:1", "rank:site:nth:action is needed"),
            ("x:FencePre:1:kill", "'x' is no rank"),
            ("1:Nowhere:1:kill", "there is no site 'Nowhere'"),
            ("1:FencePre:0:kill", "'0' is no count"),
            ("1:FencePre:1:sleep", "no action 'sleep'"),
        ] {
            assert_eq!(read(text), Err(problem.to_owned()));
        }
    }
}
