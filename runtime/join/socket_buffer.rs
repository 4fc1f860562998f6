//! How large a link's buffers in the system are (Strumpen 1994, section 4.2: what a blocking send takes depends on it).

use std::io;

use socket2::SockRef;

use super::variables::wrong;
use crate::config::Config;
use crate::error::Result;
use crate::quantity::{Quantity, SIZE};

/// The size of a socket's send buffer and of its receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketBuffer(Option<u32>);

impl SocketBuffer {
    /// As the system sizes them, by the traffic.
    pub const BY_SYSTEM: SocketBuffer = SocketBuffer(None);

    /// What may be asked for. Below, Linux takes its own least size; above, no link fills it.
    const SIZES: Quantity = SIZE.within("2KiB", "1GiB");

    /// Reads a size, or `default`, which is none.
    ///
    /// # Errors
    /// What would be right.
    pub fn read(text: &str) -> std::result::Result<Option<u32>, String> {
        match text.trim() {
            "default" => Ok(None),
            _ => Self::SIZES.one(text).map(Some).map_err(|why| format!("{why}, or default")),
        }
    }

    /// Of so many bytes, if there are any.
    pub fn of(bytes: Option<u32>) -> Self {
        SocketBuffer(bytes)
    }

    /// Refuses a size that makes no sense.
    pub(super) fn check(config: &Config) -> Result<()> {
        let Some(bytes) = config.socket_buffer_bytes else { return Ok(()) };
        let text = bytes.to_string();
        let checked = Self::SIZES.one::<u32>(&text).map(drop);
        checked.or_else(|why| wrong("Config::socket_buffer_bytes", text, why))
    }

    /// Sets both buffers of a socket that is not connected, or of a listener for what it will accept: the window is agreed
    /// on with a connection's first packets.
    ///
    /// # Errors
    /// If the system refuses, or allows less.
    pub fn set(self, socket: &SockRef<'_>) -> io::Result<()> {
        let Some(bytes) = self.0.map(|bytes| bytes as usize) else { return Ok(()) };
        socket.set_send_buffer_size(bytes)?;
        socket.set_recv_buffer_size(bytes)?;
        enough("SO_SNDBUF", "wmem_max", bytes, socket.send_buffer_size()?)?;
        enough("SO_RCVBUF", "rmem_max", bytes, socket.recv_buffer_size()?)
    }
}

/// Linux sets twice what is asked for, since half of it is for its own records (socket(7)), and says nothing if that is more
/// than it allows.
fn enough(option: &str, limit: &str, asked_bytes: usize, set_bytes: usize) -> io::Result<()> {
    if set_bytes >= 2 * asked_bytes {
        return Ok(());
    }
    let most = set_bytes / 2;
    Err(io::Error::other(format!(
        "the system allows no socket buffer ({option}) of {asked_bytes} bytes, but {most} (net.core.{limit})"
    )))
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, Socket, Type};

    use super::*;

    fn of(bytes: Option<u32>) -> Config {
        Config { socket_buffer_bytes: bytes, ..Config::alone() }
    }

    #[test]
    fn both_buffers_are_set_or_left() {
        let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let sizes = |socket: &Socket| [socket.send_buffer_size().unwrap(), socket.recv_buffer_size().unwrap()];
        let (plain, small) = (socket(), socket());
        let before = sizes(&plain);
        SocketBuffer::of(None).set(&(&plain).into()).unwrap();
        assert_eq!(sizes(&plain), before);
        SocketBuffer::of(Some(16 << 10)).set(&(&small).into()).unwrap();
        assert_eq!(sizes(&small), [32 << 10; 2], "twice, as socket(7) says");
    }

    #[test]
    fn less_than_was_asked_for_is_an_error() {
        assert!(enough("SO_SNDBUF", "wmem_max", 4096, 8192).is_ok());
        let error = enough("SO_RCVBUF", "rmem_max", 1 << 20, 425_984).unwrap_err().to_string();
        assert!(error.contains("SO_RCVBUF) of 1048576 bytes, but 212992 (net.core.rmem_max)"), "{error}");
    }

    #[test]
    fn sizes_that_make_no_sense_are_refused() {
        assert!(SocketBuffer::check(&of(None)).is_ok() && SocketBuffer::check(&of(Some(4096))).is_ok());
        assert_eq!(SocketBuffer::read("4k"), Ok(Some(4096)));
        assert_eq!(SocketBuffer::read("default"), Ok(None));
        assert!(SocketBuffer::read("0").unwrap_err().ends_with("or default"));
        for bytes in [0, 1, 2047, u32::MAX] {
            let error = SocketBuffer::check(&of(Some(bytes))).unwrap_err().to_string();
            assert!(error.contains("Config::socket_buffer_bytes") && error.contains("from 2KiB to 1GiB"), "{error}");
        }
    }
}
