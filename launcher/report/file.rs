//! The files that a job writes when it ends.

use super::Refusal;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A file that is written at the end of the job.
pub struct ReportFile {
    path: PathBuf,
    file: File,
}

impl ReportFile {
    /// Creates it, or empties it, before any rank runs.
    pub fn create(path: &Path) -> Result<ReportFile, Refusal> {
        let file =
            File::create(path).map_err(|error| Refusal::system(&cannot_write(path), error))?;
        Ok(ReportFile { path: path.to_owned(), file })
    }

    /// Writes it. Returns what to print if that fails.
    pub fn write(mut self, text: &str) -> Option<String> {
        let written = self.file.write_all(text.as_bytes());
        written.err().map(|error| Refusal::system(&cannot_write(&self.path), error).to_string())
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write the report '{}'", path.display())
}
