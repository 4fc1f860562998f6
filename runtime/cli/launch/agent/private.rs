//! Directories that only this user can enter.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A new one, until it is dropped.
pub(super) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// # Errors
    /// What the system refused; also if something of that name is there.
    pub(super) fn make(parent: &Path, name: &str) -> io::Result<Self> {
        let directory = parent.join(name);
        // A link of somebody else to somewhere is no new directory either.
        std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
        Ok(PrivateDirectory(directory))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
