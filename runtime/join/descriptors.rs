//! Descriptors: how many this process may have open, and what to say when that is not enough.
//!
//! A rank has a connection to each other one, and a launcher several pipes for each rank; the usual limit of 1024 is soon
//! reached. It is raised only where it must be: programs that it has started may count on the usual one.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For what a process opens beside: a runtime, a listener, files, some connections that are not authenticated.
const BESIDE: u64 = 24;

/// Sees to it that this process can open `more` descriptors, for `what`.
///
/// # Errors
/// The numbers, and what to do, if it may not.
pub fn ensure(more: u64, what: &str) -> Result<(), String> {
    let (open, limit) = (open(), getrlimit(Resource::Nofile));
    let needed = open + more + BESIDE;
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let most = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: limit.maximum });
    if raised.is_ok() && most >= needed {
        return Ok(());
    }
    let most = limit.maximum.map_or("unlimited".to_owned(), |maximum| maximum.to_string());
    Err(format!(
        "it needs {needed} descriptors ({open} are open, {more} are for {what}, {BESIDE} for the rest), and may have {most}: \
         raise the limit of its host (ulimit -n {needed}), or start fewer ranks"
    ))
}

/// Whether the system has no descriptor left, for this process or at all.
pub(crate) fn are_out(error: &io::Error) -> bool {
    [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// How many are open, and how many may be, for an error that says that there are no more.
pub(crate) fn state() -> String {
    let limit = getrlimit(Resource::Nofile).current.map_or("unlimited".to_owned(), |limit| limit.to_string());
    format!("this process has {} of {limit} descriptors open: raise the limit (ulimit -n)", open())
}

/// How many connections of strangers may be open beside all else, if they are to be fewer than `most`.
pub(crate) fn spare(most: usize, links: u64) -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let left = limit.saturating_sub(open() + links);
    most.min(usize::try_from(left / 2).unwrap_or(usize::MAX)).max(1)
}

/// Without /proc there is nothing to count; a limit that is too low shows later then.
fn open() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_limit_allows_is_said_with_numbers() {
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(ensure(1, "a test"), Ok(()));
        if let Some(most) = limit.maximum {
            let said = ensure(most, "a test").unwrap_err();
            for words in [&format!("{most} are for a test"), &format!("may have {most}"), "ulimit -n"] {
                assert!(said.contains(words), "{words:?} is not in {said}");
            }
        }
        assert!((1..=9).contains(&spare(9, 0)) && spare(9, u64::MAX / 2) == 1);
    }

    #[test]
    fn out_of_descriptors_is_known_by_its_numbers() {
        for (errno, out) in [
            (rustix::io::Errno::MFILE, true),
            (rustix::io::Errno::NFILE, true),
            (rustix::io::Errno::CONNREFUSED, false),
        ] {
            assert_eq!(are_out(&io::Error::from_raw_os_error(errno.raw_os_error())), out);
        }
        assert!(state().contains("ulimit -n"));
    }
}
