//! Messages between the launcher and its agents: JSON in a line each, because srun passes output on up to the last newline.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// More than a job's description takes: Linux lets a program have 6 MiB of arguments and variables, and a byte of theirs
/// has up to four characters here.
const LINE_BYTES_MAX: u64 = 32 << 20;

/// A message as it is sent.
pub(super) fn encode(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// The next line, with its newline unless the end came first.
pub(super) async fn next(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line)
}

/// The next message.
pub(super) async fn read<T: DeserializeOwned>(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<T> {
    Ok(serde_json::from_slice(&next(from).await?)?)
}

/// For serde: bytes that are mostly text, a character for each, so that text stays readable and short.
pub(in crate::launch) mod raw {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(in crate::launch) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&bytes.iter().map(|&byte| char::from(byte)).collect::<String>())
    }

    pub(in crate::launch) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(deserializer)?.chars().map(u8::try_from).collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::agent::messages::{FromAgent, ToAgent};

    fn reread<T: DeserializeOwned>(line: &[u8]) -> io::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(read(&mut &*line))
    }

    #[test]
    fn any_bytes_come_back_as_they_went() {
        let all: Vec<u8> = (0..=255).collect();
        let line = encode(&ToAgent::Input(all.clone())).unwrap();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(matches!(reread(&line).unwrap(), ToAgent::Input(bytes) if bytes == all));
        assert!(reread::<ToAgent>("{\"Input\":\"€\"}\n".as_bytes()).is_err(), "a character that is no byte");
        for cut in 0..line.len() - 1 {
            assert!(reread::<ToAgent>(&line[..cut]).is_err(), "{cut} bytes");
        }
        assert_eq!(reread::<FromAgent>(b"").unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
