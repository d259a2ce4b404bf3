//! Signals as a shell in the foreground leaves them.
#![allow(unsafe_code, reason = "puts signals back to their defaults")]

use nix::sys::signal::{SigHandler, Signal, signal};

/// Lets what this process starts be ended by signals, also where the tests were started with some of
/// them ignored (`nohup`, the background of a script): the launcher would rightly ignore them too.
pub fn expect_signals() {
    for ending in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
        // SAFETY: the default action is no handler that could break an invariant.
        unsafe { signal(ending, SigHandler::SigDfl) }.expect("a signal has a default action");
    }
}
