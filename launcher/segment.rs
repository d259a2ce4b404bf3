//! A segment with a name, for tools that look at a job from outside.
//!
//! The `shared_memory` crate creates the object exclusively (mode 0600) and unlinks it only when
//! an owner is dropped. A fork copies the owner's flag: so the guard, whose life spans the job,
//! stays the owner, and the supervisor gives its copy up, and takes it back only when it finds
//! that the guard has been killed.

use crate::args::Options;
use crate::report::Refusal;
use onesided::launch::{Job, SegmentKind};
use shared_memory::{Shmem, ShmemConf, ShmemError};

/// The named object of a job, if it has one; dropped by its owner, it removes the name.
pub struct NamedSegment {
    object: Option<Shmem>,
}

impl NamedSegment {
    /// Leaves the name to another process.
    pub fn lend(&mut self) {
        if let Some(object) = &mut self.object {
            object.set_owner(false);
        }
    }

    /// Makes this process remove the name.
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

/// Creates the named object if the user asks for one.
pub fn create(options: &Options) -> Result<NamedSegment, Refusal> {
    let SegmentKind::Named(name) = &options.segment else {
        return Ok(NamedSegment { object: None });
    };
    let bytes = Job::segment_bytes(options.ranks, options.segment_size).map_err(Refusal::job)?;
    let size = usize::try_from(bytes)
        .map_err(|_| Refusal::Launcher(format!("{bytes} bytes do not fit an address space")))?;
    let object = ShmemConf::new().os_id(name).size(size).create().map_err(|error| {
        Refusal::Launcher(match error {
            ShmemError::MappingIdExists => {
                format!("segment '{name}' exists already; remove /dev/shm{name} or choose another")
            }
            other => format!("cannot create segment '{name}' of {bytes} bytes: {other}"),
        })
    })?;
    Ok(NamedSegment { object: Some(object) })
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
