//! A progress bar, on a terminal or on the pipe to rmarun that ends at one.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use onesided::{Comm, launch};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Drawings per second, as indicatif has it for terminals.
const RATE: u8 = 20;
/// More columns than a bar has: rmarun cuts off what is too long for the terminal.
const WIDTH: u16 = 512;

/// A progress bar on rank 0's standard error, if that is a terminal, or if rmarun shows it at one;
/// otherwise one that shows nothing.
pub fn progress(world: &Comm, length: u64, style: &str) -> ProgressBar {
    if world.rank() != 0 {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(style).expect("the template is correct");
    let target = match launch::is_terminal_behind(io::stderr()) {
        true => ProgressDrawTarget::term_like_with_hz(Box::<PipedLine>::default(), RATE),
        false => ProgressDrawTarget::stderr(),
    };
    ProgressBar::with_draw_target(Some(length), target).with_style(style)
}

/// The one line of a terminal that can be drawn through rmarun. Each drawing is one write, so that
/// no half of one is seen.
#[derive(Debug, Default)]
struct PipedLine(Mutex<String>);

impl TermLike for PipedLine {
    fn width(&self) -> u16 {
        WIDTH
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let drawn = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        // Without the blanks that fill the line to its width.
        let line = format!("\r\x1b[2K{}", drawn.trim_end());
        io::stderr().write_all(line.as_bytes())
    }
}
