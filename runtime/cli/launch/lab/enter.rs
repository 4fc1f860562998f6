//! The way to a lab's hosts: links in its directory.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::thread::LinkNameSpaceType;

use super::address;
use super::control::{Request, ask};
use super::host::Host;
use super::namespace::{keep_capabilities, set};
use crate::launch::failed::{Failed, system};

/// The names of the namespaces that all hosts share; each host's own has its name.
const USER: &str = "user";
const MOUNT: &str = "mount";

/// Shows the way in the lab's directory: the namespaces are this process's own, and those of the hosts, which it keeps open.
pub(super) fn show(directory: &Path, hosts: &[Host]) -> io::Result<()> {
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    symlink(own.join("ns/user"), directory.join(USER))?;
    symlink(own.join("ns/mnt"), directory.join(MOUNT))?;
    hosts.iter().enumerate().try_for_each(|(number, host)| {
        symlink(own.join(format!("fd/{}", host.network.as_raw_fd())), directory.join(address::name(number)))
    })
}

/// Makes this process, which must have a single thread, one of a host of the lab in this directory. From outside the lab
/// it becomes one of the lab first.
///
/// # Errors
/// [`Failed`] if there is no such lab or host, or if the system refuses.
pub(crate) fn enter(directory: &Path, host: &str) -> Result<(), Failed> {
    ask(directory, &Request::Find(host.to_owned()))?;
    let open = |name: &str| {
        File::open(directory.join(name)).map_err(system(format!("the lab's namespace {name} cannot be opened")))
    };
    let (user, mount, network) = (open(USER)?, open(MOUNT)?, open(host)?);
    let is_inside = fs::metadata("/proc/self/ns/user").and_then(|own| Ok(own.ino() == user.metadata()?.ino()));
    if !is_inside.map_err(system("the user namespace has no number"))? {
        let current = std::env::current_dir();
        set(&user, LinkNameSpaceType::User)?;
        set(&mount, LinkNameSpaceType::Mount)?;
        // The new mount namespace has a root of its own, where the way to the directory is the same.
        if let Ok(current) = current {
            std::env::set_current_dir(&current)
                .map_err(system(format!("{} is not there within the lab", current.display())))?;
        }
        keep_capabilities().map_err(system("the lab's user namespace gives no rights"))?;
    }
    set(&network, LinkNameSpaceType::Network)
}
