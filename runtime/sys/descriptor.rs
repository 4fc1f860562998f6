//! Descriptors that no other program shall inherit.

use std::io;

/// Has the system close descriptor `number` in every program that this process starts or becomes from now on. It stays open
/// here.
///
/// # Errors
/// It is not open.
pub fn close_on_exec(number: i32) -> io::Result<()> {
    // SAFETY: changes a flag of an entry in this process's table, if there is one of that number; touches no memory.
    let result = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_descriptor_stays_here_and_goes_nowhere() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let inherits = |number: i32| {
            let script = format!("test -e /proc/self/fd/{number}");
            std::process::Command::new("sh").args(["-c", &script]).status().expect("a shell").success()
        };
        close_on_exec(reader.as_raw_fd()).expect("it is open");
        assert!(!inherits(reader.as_raw_fd()));
        drop(writer);
        assert_eq!(io::read_to_string(reader).expect("it is still open"), "");
        assert!(close_on_exec(999_999).is_err());
    }
}
