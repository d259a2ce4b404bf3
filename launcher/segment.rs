//! A segment with a name, for tools that look at a job from outside.
//!
//! The `shared_memory` crate creates the object exclusively (mode 0600) and unlinks it when its owner is
//! dropped: the guard, which lives as long as the job. The guard creates it when the supervisor is
//! already running. So if one of them is killed, the other one removes the name.

use crate::launch::{Job, SegmentKind};
use crate::launcher::args::Options;
use crate::launcher::report::Refusal;
use nix::sys::mman::shm_unlink;
use shared_memory::{Shmem, ShmemConf, ShmemError};
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::path::Path;

/// The guard's message to the supervisor about the object.
const CREATED: u8 = 1;
const REFUSED: u8 = 0;

/// The named object of a job, if it has one; dropped by its owner, it removes the name.
pub struct NamedSegment {
    object: Option<Shmem>,
}

impl NamedSegment {
    /// Makes this process the owner, which removes the name.
    pub fn take_back(&mut self) {
        if let Some(object) = &mut self.object {
            object.set_owner(true);
        }
    }

    /// The size of the object, which the segment must have too.
    pub fn bytes(&self) -> Option<u64> {
        self.object.as_ref().map(|object| object.len() as u64)
    }
}

/// The object of a job before it is created.
pub struct Plan {
    wish: Option<Wish>,
}

struct Wish {
    name: String,
    bytes: usize,
    reader: PipeReader,
    writer: PipeWriter,
}

/// Checks the requested object.
pub fn plan(options: &Options) -> Result<Plan, Refusal> {
    let SegmentKind::Named(name) = &options.segment else { return Ok(Plan { wish: None }) };
    let bytes = Job::segment_bytes(options.ranks, options.segment_size, options.observation())
        .map_err(Refusal::job)?;
    let bytes = usize::try_from(bytes)
        .map_err(|_| Refusal::Launcher(format!("{bytes} bytes do not fit an address space")))?;
    if Path::new("/dev/shm").join(name.trim_start_matches('/')).exists() {
        return Err(exists(name));
    }
    let (reader, writer) = pipe().map_err(|error| Refusal::system("cannot make a pipe", error))?;
    Ok(Plan { wish: Some(Wish { name: name.clone(), bytes, reader, writer }) })
}

impl Plan {
    /// The guard's half: creates the object, and informs the supervisor.
    pub fn create(self) -> Result<NamedSegment, Refusal> {
        let Some(Wish { name, bytes, mut writer, .. }) = self.wish else {
            return Ok(NamedSegment { object: None });
        };
        let created = ShmemConf::new().os_id(&name).size(bytes).create();
        // An error means that the supervisor has ended, which the guard learns next.
        let _ = writer.write_all(&[if created.is_ok() { CREATED } else { REFUSED }]);
        match created {
            Ok(object) => Ok(NamedSegment { object: Some(object) }),
            Err(ShmemError::MappingIdExists) => Err(exists(&name)),
            Err(other) => Err(cannot_create(&name, bytes, &other)),
        }
    }

    /// The supervisor's half: waits for the guard, and opens the object; `None` if the guard failed,
    /// which it reports to the user.
    pub fn open(self) -> Result<Option<NamedSegment>, Refusal> {
        let Some(Wish { name, bytes, mut reader, writer }) = self.wish else {
            return Ok(Some(NamedSegment { object: None }));
        };
        // Otherwise the guard's death would not close the pipe.
        drop(writer);
        let mut word = [REFUSED];
        match reader.read_exact(&mut word) {
            Ok(()) if word == [CREATED] => {
                let object = ShmemConf::new().os_id(&name).open();
                let object = object.map_err(|error| cannot_create(&name, bytes, &error))?;
                Ok(Some(NamedSegment { object: Some(object) }))
            }
            Ok(()) => Ok(None),
            Err(_) => {
                // The guard was killed meanwhile. No object of this name had existed before.
                let _ = shm_unlink(name.as_str());
                Ok(None)
            }
        }
    }
}

fn exists(name: &str) -> Refusal {
    Refusal::Launcher(format!(
        "segment '{name}' exists already; remove /dev/shm{name} or choose another"
    ))
}

fn cannot_create(name: &str, bytes: usize, error: &ShmemError) -> Refusal {
    Refusal::Launcher(format!("cannot create segment '{name}' of {bytes} bytes: {error}"))
}

/// The name of a POSIX shared memory object, with its leading slash.
pub fn check_name(name: &str) -> Result<String, String> {
    let plain = name.strip_prefix('/').unwrap_or(name);
    let odd = |c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c));
    if plain.is_empty() || plain.len() > 200 || plain.starts_with(['.', '-']) || plain.contains(odd)
    {
        return Err("memfd, posix, or a name of up to 200 letters, digits, '.', '_' and '-' that \
                    begins with none of '.' and '-'"
            .to_owned());
    }
    Ok(format!("/{plain}"))
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_stay_inside_their_folder() {
        assert_eq!(check_name("job-1"), Ok("/job-1".to_owned()));
        assert_eq!(check_name("/job-1"), Ok("/job-1".to_owned()));
        for name in ["", "/", "..", "/..", "a/b", "//a", "a b", "-x", "a\0b", &"x".repeat(201)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
