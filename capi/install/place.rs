//! Putting things in their places and taking them away again.

use crate::plan::{Item, What};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// The list of what is installed, a path from the prefix in each line, folders before what is in
/// them.
const LIST: &str = "share/onesided/installed";

/// Puts all in place; returns the paths.
pub fn place_all(prefix: &Path, items: &[Item]) -> Result<Vec<PathBuf>, String> {
    let before = list(prefix)?.unwrap_or_default();
    for item in items {
        let path = prefix.join(&item.path);
        if path.symlink_metadata().is_ok() && !before.contains(&item.path) {
            return Err(format!(
                "{}: is there already and was not installed by this program; remove it or choose \
                 another prefix",
                path.display()
            ));
        }
    }
    let files = items.iter().map(|item| item.path.clone()).chain([PathBuf::from(LIST)]);
    let files: BTreeSet<PathBuf> = files.collect();
    let folders: BTreeSet<PathBuf> = files.iter().flat_map(|path| folders(path)).collect();
    let ours =
        folders.into_iter().filter(|path| before.contains(path) || !prefix.join(path).exists());
    let now: Vec<PathBuf> = ours.chain(files.iter().cloned()).collect();
    // Those of before too, until they are gone.
    let old: Vec<PathBuf> = before.into_iter().filter(|path| !now.contains(path)).collect();
    write_list(prefix, now.iter().chain(&old))?;
    for item in items {
        let path = prefix.join(&item.path);
        place(&path, &item.what).map_err(|problem| named(&path, &problem))?;
    }
    for path in old.iter().rev() {
        remove(&prefix.join(path))?;
    }
    write_list(prefix, now.iter())?;
    Ok(items.iter().map(|item| prefix.join(&item.path)).collect())
}

/// Takes away what is in the list; returns the paths that were there.
pub fn remove_all(prefix: &Path) -> Result<Vec<PathBuf>, String> {
    let installed = list(prefix)?.ok_or_else(|| {
        format!("{}: nothing is installed below this prefix", prefix.join(LIST).display())
    })?;
    let mut removed = Vec::new();
    // The list itself after all that it names; folders last, those in others first.
    let (files, folders): (Vec<_>, Vec<_>) =
        installed.iter().partition(|path| !is_folder(&prefix.join(path)));
    let files = files.into_iter().filter(|path| *path != Path::new(LIST));
    for path in files.chain([&PathBuf::from(LIST)]).chain(folders.into_iter().rev()) {
        let path = prefix.join(path);
        if remove(&path)? {
            removed.push(path);
        }
    }
    Ok(removed)
}

/// The folders between the prefix and a file, the outermost first.
fn folders(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = path.ancestors().skip(1).map(PathBuf::from).collect();
    folders.retain(|folder| !folder.as_os_str().is_empty());
    folders.reverse();
    folders
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_dir())
}

/// The paths of the list, in its order; `None` if there is none.
fn list(prefix: &Path) -> Result<Option<Vec<PathBuf>>, String> {
    let path = prefix.join(LIST);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(problem) if problem.kind() == ErrorKind::NotFound => return Ok(None),
        Err(problem) => return Err(named(&path, &problem)),
    };
    let paths: Vec<PathBuf> = text.lines().map(PathBuf::from).collect();
    let stays = |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
    match paths.iter().find(|path| path.as_os_str().is_empty() || !stays(path)) {
        Some(wrong) => Err(format!(
            "{}: the line '{}' is no path below the prefix; nothing is done",
            path.display(),
            wrong.display()
        )),
        None => Ok(Some(paths)),
    }
}

fn write_list<'a>(prefix: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Result<(), String> {
    let text: String = paths.map(|path| format!("{}\n", path.display())).collect();
    let path = prefix.join(LIST);
    place(&path, &What::Text(text)).map_err(|problem| named(&path, &problem))
}

/// Makes something beside its place, and renames it.
fn place(path: &Path, what: &What) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    let made = make(&beside, what).and_then(|()| fs::rename(&beside, path));
    if made.is_err() {
        // It may not have come so far that there is something.
        let _ = fs::remove_file(&beside);
    }
    made
}

fn make(path: &Path, what: &What) -> io::Result<()> {
    let mode = match what {
        What::Link(to) => return symlink(to, path),
        What::Copy(from) => fs::copy(from, path).map(|_| 0o755).map_err(|problem| {
            io::Error::new(problem.kind(), format!("copying {}: {problem}", from.display()))
        })?,
        What::Text(text) => fs::write(path, text).map(|()| 0o644)?,
        What::Script(text) => fs::write(path, text).map(|()| 0o755)?,
    };
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Whether it was there and is gone. A folder in which others have put something stays.
fn remove(path: &Path) -> Result<bool, String> {
    let removed = match is_folder(path) {
        true => fs::remove_dir(path),
        false => fs::remove_file(path),
    };
    match removed {
        Ok(()) => Ok(true),
        Err(problem)
            if [ErrorKind::NotFound, ErrorKind::DirectoryNotEmpty].contains(&problem.kind()) =>
        {
            Ok(false)
        }
        Err(problem) => Err(named(path, &problem)),
    }
}

fn named(path: &Path, problem: &io::Error) -> String {
    format!("{}: {problem}", path.display())
}
