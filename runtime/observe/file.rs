//! Files that a result goes to at the end of a job: whether they can be written is found out before it starts, and what
//! cannot be written whole leaves nothing, or what was there before.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a look takes to see whether there is room: less fits where nothing does.
const PROBE_BYTES: usize = 64 << 10;

/// Whether `path` can become a file, by writing one beside it and removing that. Returns the path that holds in any
/// directory. What is no regular file, such as a terminal, is left alone.
///
/// # Errors
/// What [`replace`] would fail with.
pub fn check(path: &Path) -> io::Result<PathBuf> {
    let path = target(path)?;
    if is_special(&path) {
        return Ok(path);
    }
    let probe = beside(&path);
    let written = File::create(&probe).and_then(|mut file| file.write_all(&[0; PROBE_BYTES]));
    // Where none could be made, there is none.
    let _ = std::fs::remove_file(&probe);
    written.map(|()| path)
}

/// Has `write` write the file. It is written beside `path` first: whoever reads that finds all of it, or what was there
/// before. What is no regular file is written as it is.
///
/// # Errors
/// What the system or `write` says; then nothing is left.
pub fn replace<T>(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>) -> io::Result<T> {
    let path = target(path)?;
    let is_special = is_special(&path);
    let new = if is_special { path.clone() } else { beside(&path) };
    let file = if is_special { File::options().write(true).open(&new)? } else { File::create(&new)? };
    let mut file = BufWriter::new(file);
    let written = write(&mut file).and_then(|result| file.flush().map(|()| result));
    if is_special {
        return written;
    }
    let written = written.and_then(|result| std::fs::rename(&new, &path).map(|()| result));
    if written.is_err() {
        // What is in the way of a result must not fill the disk on top of it.
        let _ = std::fs::remove_file(&new);
    }
    written
}

/// The file that is meant: behind a link the one it leads to.
fn target(path: &Path) -> io::Result<PathBuf> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if path.exists() { path.canonicalize() } else { std::path::absolute(path) }
}

/// Whether there is something at `path` that is no regular file: a device or a pipe.
pub(crate) fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

/// A name for a file that becomes `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new{}", std::process::id()));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of its own.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("lathide-file-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Scratch(path)
        }

        fn entries(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_look_leaves_nothing_and_changes_nothing() {
        let scratch = Scratch::new("look");
        let (new, old) = (scratch.0.join("new"), scratch.0.join("old"));
        std::fs::write(&old, "old").unwrap();
        assert_eq!(check(&new).unwrap(), new);
        check(&old).unwrap();
        assert_eq!((scratch.entries(), std::fs::read_to_string(&old).unwrap()), (vec!["old".into()], "old".into()));
        assert_eq!(check(&scratch.0).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(check(&scratch.0.join("no/where")).unwrap_err().kind(), io::ErrorKind::NotFound);
        check(Path::new("/dev/null")).unwrap();
    }

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let scratch = Scratch::new("whole");
        let (file, link) = (scratch.0.join("file"), scratch.0.join("link"));
        replace(&file, |out| out.write_all(b"one")).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, |out| out.write_all(b"two")).unwrap();
        let broken = replace(&link, |out| out.write_all(b"half").and(Err::<(), _>(io::ErrorKind::StorageFull.into())));
        assert_eq!(broken.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(scratch.entries(), ["file", "link"]);
        let full = replace(Path::new("/dev/full"), |out| out.write_all(b"x"));
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(is_special(Path::new("/dev/full")));
    }
}
