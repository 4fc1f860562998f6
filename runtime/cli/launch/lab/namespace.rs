//! Namespaces: making those of a lab, and entering them.
//!
//! One user namespace, in which this user is who they are and may administer networks, and nothing else of the machine;
//! in it, a mount namespace in which the hosts' names resolve, and a network namespace per host. They last as long as a
//! process is in them or a descriptor of them is open, so that nothing has to be taken down.

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, LinkNameSpaceType, configure_capability_in_ambient_set, move_into_link_name_space,
    set_capabilities,
};

use crate::launch::failed::{Failed, system};

/// Why there is no lab.
pub(crate) enum LabError {
    /// The system does not let this user make one: why, and what to do.
    Refused(String),
    /// Something else failed.
    Failed(Failed),
}

impl LabError {
    pub(super) fn refused(what: &str, error: &io::Error, remedy: impl Display) -> Self {
        LabError::Refused(format!("there can be no lab here: {what}: {error}; {remedy}"))
    }
}

impl From<Failed> for LabError {
    fn from(failed: Failed) -> Self {
        LabError::Failed(failed)
    }
}

/// Moves this process, which must have a single thread, into a user and a mount namespace of its own.
pub(super) fn enter_own() -> Result<(), LabError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
        .map_err(|error| refused("a user namespace cannot be made", error.into()))?;
    // An ordinary user may only map themselves, and the group only when groups cannot be dropped any more.
    let maps = [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ];
    for (file, text) in maps {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| refused(&format!("the user namespace's {file} cannot be written"), error))?;
    }
    keep_capabilities().map_err(|error| refused("the user namespace gives no rights", error))
}

/// Lets the programs that this thread starts administer the lab's networks, and move between its hosts: into namespaces
/// of a process that may do no more than they.
pub(super) fn keep_capabilities() -> io::Result<()> {
    let kept = CapabilitySet::NET_ADMIN
        | CapabilitySet::NET_RAW
        | CapabilitySet::NET_BIND_SERVICE
        | CapabilitySet::SYS_ADMIN
        | CapabilitySet::SYS_CHROOT;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: kept })?;
    for capability in kept.iter() {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Moves this thread into a network namespace of its own. The thread should end soon after.
pub(super) fn enter_new_network() -> Result<File, LabError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| refused("a network namespace cannot be made", error.into()))?;
    Ok(File::open("/proc/thread-self/ns/net").map_err(system("the network namespace cannot be opened"))?)
}

/// Moves this thread into a namespace of a lab.
pub(super) fn set(namespace: &File, kind: LinkNameSpaceType) -> Result<(), Failed> {
    move_into_link_name_space(namespace.as_fd(), Some(kind))
        .map_err(|error| system(format!("the lab's {kind:?} namespace cannot be entered"))(error.into()))
}

/// The system does not let this user make the lab: why, and what to do.
pub(super) fn refused(what: &str, error: io::Error) -> LabError {
    let setting =
        |name: &str| fs::read_to_string(Path::new("/proc/sys").join(name)).unwrap_or_default().trim().to_owned();
    let program = std::env::current_exe().map_or_else(|_| "/path/to/lathide".into(), |path| path.display().to_string());
    let remedy = if error.raw_os_error() == Some(Errno::NOSPC.raw_os_error()) {
        "the system's limit is reached; let root raise /proc/sys/user/max_user_namespaces and max_net_namespaces".into()
    } else if setting("kernel/unprivileged_userns_clone") == "0" {
        "only root may make user namespaces here (/proc/sys/kernel/unprivileged_userns_clone is 0)".into()
    } else if setting("kernel/apparmor_restrict_unprivileged_userns") == "1" {
        format!(
            "AppArmor takes the rights from user namespaces of programs without a profile; give this one a profile:\n\
             \n  sudo tee /etc/apparmor.d/lathide <<END\n  abi <abi/4.0>,\n  include <tunables/global>\n  \
             profile lathide {program} flags=(unconfined) {{\n    userns,\n  }}\n  END\n  \
             sudo apparmor_parser -r /etc/apparmor.d/lathide\n"
        )
    } else {
        "a container's seccomp filter may forbid it: start the container with the rights to make namespaces".into()
    };
    LabError::refused(what, &error, remedy)
}
