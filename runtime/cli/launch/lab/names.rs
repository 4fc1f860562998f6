//! The hosts' names within the lab: a file over the machine's `/etc/hosts`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::mount_bind;

use super::address::Addresses;

/// The machine's file of names.
const MACHINES: &str = "/etc/hosts";

/// The lab's own file.
pub(super) struct Names {
    file: PathBuf,
    /// What the machine's says.
    own: String,
}

impl Names {
    /// Makes the hosts' names resolve within the lab. Without them it still works, by addresses.
    pub(super) fn new(directory: &Path, hosts: usize) -> Self {
        let names = Names { file: directory.join("names"), own: fs::read_to_string(MACHINES).unwrap_or_default() };
        let shown = names.show(&Addresses::new(hosts));
        if let Err(error) = shown.and_then(|()| mount_bind(&names.file, MACHINES).map_err(io::Error::from)) {
            tracing::warn!("host names do not resolve within the lab, only addresses: {MACHINES}: {error}");
        }
        names
    }

    /// Has the names mean these addresses.
    pub(super) fn show(&self, addresses: &Addresses) -> io::Result<()> {
        // It stays the same file: a new one would not be seen where this one is mounted.
        fs::write(&self.file, addresses.hosts_file(&self.own))
    }
}
