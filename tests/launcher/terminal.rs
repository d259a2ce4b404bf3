//! What is seen at a terminal: rank 0's progress bar below the lines of all ranks.
#![cfg(feature = "launcher")]

use crate::harness::Process;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// Nothing here is silent for longer, unless it hangs.
const HANG: Duration = Duration::from_secs(120);

/// What a job has written to its terminal.
pub struct Seen {
    pub code: Option<i32>,
    pub raw: String,
    /// The lines that stand there in the end.
    pub lines: Vec<String>,
}

/// A job at a terminal of its own, with all its streams.
pub struct AtTerminal {
    child: Child,
    terminal: File,
    raw: Vec<u8>,
}

impl AtTerminal {
    /// Starts `command`, which is not necessarily `rmarun`.
    pub fn start(mut command: Command) -> AtTerminal {
        let (terminal, slave) = pseudo_terminal().expect("the system has pseudo-terminals");
        let copy = || slave.try_clone().expect("a descriptor can be copied");
        command.stdin(copy()).stdout(copy()).stderr(copy());
        let child = command.spawn().expect("the command starts");
        // With no handle of the terminal left but the job's own, its end is the end of what is read.
        drop((command, slave));
        AtTerminal { child, terminal, raw: Vec::new() }
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// What a user types.
    pub fn types(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).expect("the terminal takes input");
    }

    /// Returns when `text` has been written, behind what was found before.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        loop {
            let seen = String::from_utf8_lossy(&self.raw).into_owned();
            if let Some(at) = seen.find(text) {
                self.raw = seen.as_bytes()[at + text.len()..].to_vec();
                return;
            }
            assert!(self.read(), "it ends without '{text}': {seen}");
        }
    }

    /// The process group in the foreground.
    pub fn foreground(&self) -> Option<i32> {
        let group = rustix::termios::tcgetpgrp(&self.terminal).ok()?;
        Some(group.as_raw_nonzero().get())
    }

    /// Reads something; returns `false` at the end.
    fn read(&mut self) -> bool {
        let mut ready = [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(HANG).expect("a time that poll takes");
        if poll(&mut ready, timeout) != Ok(1) {
            let _ = self.child.kill();
            panic!("it hangs after {}", String::from_utf8_lossy(&self.raw));
        }
        let mut buffer = [0; 4096];
        match self.terminal.read(&mut buffer) {
            Ok(read) if read > 0 => self.raw.extend_from_slice(&buffer[..read]),
            // EIO: the terminal has no writer any more.
            _ => return false,
        }
        true
    }

    /// Takes the terminal away; returns the exit code.
    pub fn hang_up(mut self) -> Option<i32> {
        self.terminal = File::open("/dev/null").expect("it exists");
        Process::new(self.pid()).await_end();
        self.child.wait().expect("a child can be waited for").code()
    }

    /// The end, and what has not been looked at before.
    pub fn end(mut self) -> Seen {
        while self.read() {}
        let code = self.child.wait().expect("a child can be waited for").code();
        let raw = String::from_utf8_lossy(&self.raw).into_owned();
        Seen { code, lines: screen(&raw), raw }
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        // After a test that failed.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Both ends of a terminal, which no child inherits: otherwise it would not be gone when this process closes it.
fn pseudo_terminal() -> io::Result<(File, File)> {
    let master = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let mut options = File::options();
    options.read(true).write(true).custom_flags(OFlag::O_NOCTTY.bits());
    let slave = options.open(ptsname_r(&master)?)?;
    tcsetwinsize(&slave, Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((File::from(OwnedFd::from(master)), slave))
}

/// Runs `rmarun` at a terminal, to its end.
fn at_terminal(kind: &str, arguments: &[&str]) -> Seen {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(arguments).env("TERM", kind);
    AtTerminal::start(command).end()
}

/// The lines of a terminal that is wide and high enough.
fn screen(raw: &str) -> Vec<String> {
    let mut lines = vec![Vec::new()];
    let (mut column, mut rest) = (0, raw);
    while let Some(letter) = rest.chars().next() {
        let line = lines.last_mut().expect("there is a first line");
        let controls = ["\x1b[2K", "\x1b[K", "\x1b[?7l", "\x1b[?7h"];
        if let Some(control) = controls.into_iter().find(|control| rest.starts_with(control)) {
            match control {
                "\x1b[2K" => line.clear(),
                "\x1b[K" => line.truncate(column),
                _ => {}
            }
            rest = &rest[control.len()..];
            continue;
        }
        match letter {
            '\n' => lines.push(Vec::new()),
            '\r' => column = 0,
            letter => {
                line.resize(line.len().max(column + 1), ' ');
                line[column] = letter;
                column += 1;
            }
        }
        rest = &rest[letter.len_utf8()..];
    }
    lines.into_iter().map(String::from_iter).collect()
}

/// The program that Cargo has built for an example, in the same profile as this test.
fn example(name: &str) -> String {
    let this = std::env::current_exe().expect("the test's own path");
    let profile = this.parent().and_then(Path::parent).expect("tests are in <profile>/deps");
    let program = profile.join("examples").join(name);
    assert!(
        program.exists(),
        "{program:?} is missing: run 'cargo build -p examples -p heat --examples' first"
    );
    program.to_str().expect("the path is text").to_owned()
}

#[test]
fn the_bar_is_seen_while_it_is_drawn_and_gone_in_the_end() {
    for ranks in ["1", "2", "5"] {
        let seen =
            at_terminal("xterm", &["-n", ranks, &example("gups"), "--log-size", "19", "--verify"]);
        assert_eq!(seen.code, Some(0), "{}", seen.raw);
        for bar in [" updates per rank", " updates verified"] {
            assert!(seen.raw.contains(bar), "no '{bar}' of {ranks} ranks: {}", seen.raw);
            assert!(!seen.lines.iter().any(|line| line.contains(bar)), "{:#?}", seen.lines);
        }
        assert_eq!(seen.lines.len(), 4, "{:#?}", seen.lines);
        assert!(seen.lines[0].starts_with("2,097,152 updates "), "{:#?}", seen.lines);
        assert_eq!(seen.lines[2..], ["verified: no word is wrong", ""]);
    }
}

/// Writes numbered lines in pieces, each piece on its way before the next.
const WRITER: &str = r#"
    BEGIN { for (i = 0; i < 300; i++) {
        printf "%d %d ", rank, i; fflush();
        printf "%0200d", i; fflush();
        printf " end\n"; fflush();
    } }"#;

#[test]
fn a_bar_does_not_mix_with_lines() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("terminal-marks");
    // Left by an earlier run.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
    // Rank 0 has a bar there before the others begin, and draws it until they are done; those
    // write on both streams.
    let script = format!(
        r#"cd "$0"; r=$ONESIDED_RANK; i=0
        if [ $r = 0 ]; then
            until [ -e 1 -a -e 2 -a -e 3 ]; do
                printf '\r\033[2Kbar %d end' $i >&2; : > 0; i=$((i + 1)); sleep 0.01
            done; exit
        fi
        until [ -e 0 ]; do sleep 0.01; done
        awk -v rank=$r '{WRITER}' & awk -v rank=$((r + 10)) '{WRITER}' >&2; wait; : > $r"#
    );
    let folder = folder.to_str().expect("the path is text");
    let seen = at_terminal("xterm", &["-n", "4", "sh", "-c", &script, folder]);
    assert_eq!(seen.code, Some(0), "{}", seen.raw);
    let (bars, lines): (Vec<_>, Vec<_>) =
        seen.lines.iter().filter(|l| !l.is_empty()).partition(|line| line.starts_with("bar "));
    // The last drawing is a line that rank 0 has left unfinished.
    assert_eq!(bars.len(), 1, "{bars:?}");
    assert!(bars[0].ends_with(" end") && bars[0].len() < 15, "{bars:?}");
    let (last, lines) = lines.split_last().expect("there are lines");
    assert!(last.starts_with("rmarun: note: none of the 4 ranks joined"), "{last}");
    assert_eq!(lines.len(), 6 * 300);
    for writer in ["1", "2", "3", "11", "12", "13"] {
        let of_writer = lines.iter().filter_map(|l| l.strip_prefix(writer)?.strip_prefix(' '));
        let expected = (0..300).map(|i| format!("{i} {i:0200} end"));
        assert!(of_writer.eq(expected), "the lines of {writer} are not whole: {:#?}", seen.lines);
    }
}

#[test]
fn a_bar_of_a_rank_that_dies_does_not_hide_the_report() {
    let script =
        r#"[ $ONESIDED_RANK = 0 ] || exec sleep 1000; printf '\rhalf done' >&2; kill -9 $$"#;
    let seen = at_terminal("xterm", &["-n", "2", "sh", "-c", script]);
    assert_eq!(seen.code, Some(137), "{}", seen.raw);
    assert_eq!(seen.lines[0], "half done");
    assert!(seen.lines[1].contains("rank 0 (sh, pid "), "{:#?}", seen.lines);
}

#[test]
fn a_bar_that_is_cleared_leaves_nothing() {
    let script = r#"[ $ONESIDED_RANK = 0 ] || exit 0; printf '\rhalf done' >&2; sleep 0.2
                    printf '\r\033[2K' >&2; sleep 0.2; printf 'all done\n' >&2"#;
    let seen = at_terminal("xterm", &["-n", "2", "sh", "-c", script]);
    assert_eq!(seen.lines[0], "all done");
    assert!(seen.lines[1].starts_with("rmarun: note: "), "{:#?}", seen.lines);
}

#[test]
fn a_bar_may_be_as_long_as_it_likes() {
    let script = r#"[ $ONESIDED_RANK = 1 ] || printf '\r%0500d' 7 >&2"#;
    let seen = at_terminal("xterm", &["-n", "2", "sh", "-c", script]);
    let drawn = format!("\x1b[?7l{:0500}\x1b[K\x1b[?7h", 7);
    assert!(seen.raw.contains(&drawn), "the terminal could wrap it: {}", seen.raw);
}

#[test]
fn where_it_could_not_be_drawn_there_is_no_bar() {
    let gups = example("gups");
    for (kind, line) in [
        ("xterm", vec!["-n", "2", "--tag-output", &gups]),
        ("dumb", vec!["-n", "2", &gups]),
        ("xterm", vec!["-n", "2", "sh", "-c", r#"exec "$0" 2>&1 | cat"#, &gups]),
    ] {
        let seen = at_terminal(kind, &line);
        assert_eq!(seen.code, Some(0), "{}", seen.raw);
        assert!(!seen.raw.contains("\x1b["), "{}", seen.raw);
        assert_eq!(seen.raw.matches('\r').count(), seen.raw.matches("\r\n").count());
    }
}

#[test]
fn a_rank_that_writes_its_errors_to_a_file_draws_nothing_there() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("terminal-errors");
    let file = file.to_str().expect("the path is text");
    let script = r#"[ $ONESIDED_RANK = 0 ] && exec "$0" 2> "$1"; exec "$0""#;
    let seen = at_terminal("xterm", &["-n", "2", "sh", "-c", script, &example("gups"), file]);
    assert_eq!(seen.code, Some(0), "{}", seen.raw);
    assert_eq!(std::fs::read_to_string(file).expect("the file is there"), "");
}

#[test]
fn without_a_terminal_nothing_is_drawn() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    let drawing = r#"printf '\rhalf\rdone' >&2; exec "$0""#;
    command.args(["-n", "2", "sh", "-c", drawing, &example("gups")]).env("TERM", "xterm");
    let output = command.output().expect("rmarun starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "\rhalf\rdone\n\rhalf\rdone");
}
