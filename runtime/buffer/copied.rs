//! Small messages that are copied when they are posted, so that their buffers are free at once.

use std::any::Any;

use super::SendBuffer;

/// As many bytes go without memory of their own.
const SHORT_BYTES: usize = 64;

/// The bytes of a message that nobody waits for.
pub(crate) enum Copied {
    Short([u8; SHORT_BYTES], usize),
    Long(Vec<u8>),
}

impl Copied {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut short = [0; SHORT_BYTES];
        match short.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Copied::Short(short, bytes.len())
            }
            None => Copied::Long(bytes.to_vec()),
        }
    }
}

impl SendBuffer for Copied {
    fn bytes(&self) -> &[u8] {
        match self {
            Copied::Short(bytes, length) => &bytes[..*length],
            Copied::Long(bytes) => bytes,
        }
    }
    fn is_copy(&self) -> bool {
        true
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_bytes_at_every_length() {
        for length in 0..200u8 {
            let bytes: Vec<u8> = (0..length).collect();
            assert_eq!(Copied::new(&bytes).bytes(), bytes);
        }
    }
}
