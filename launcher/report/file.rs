//! The files that a job writes: reports at its end, and a trace while it runs.

use super::Refusal;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file that the user has asked for.
pub struct ReportFile {
    /// What is written there, for messages.
    what: &'static str,
    path: PathBuf,
    file: File,
}

impl ReportFile {
    /// Creates it, or empties it, before any rank runs.
    pub fn create(what: &'static str, path: &Path) -> Result<ReportFile, Refusal> {
        match File::create(path) {
            Ok(file) => Ok(ReportFile { what, path: path.to_owned(), file }),
            Err(error) => Err(refused(what, path, error)),
        }
    }

    /// Writes it. Returns what to print if that fails.
    pub fn write(mut self, text: &str) -> Option<String> {
        let written = self.file.write_all(text.as_bytes());
        written.err().map(|error| self.refused(error).to_string())
    }

    /// For a thread that writes it meanwhile.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// It cannot be written.
    pub fn refused(&self, error: io::Error) -> Refusal {
        refused(self.what, &self.path, error)
    }
}

fn refused(what: &str, path: &Path, error: io::Error) -> Refusal {
    Refusal::system(&format!("cannot write the {what} '{}'", path.display()), error)
}
