//! Encryption of a link: Noise after the handshake, then sealed records ([`super::records`]). Bytes in, bytes out.
//!
//! The handshake has already shown each side that the other knows the key. Noise's pattern NNpsk0 then agrees on keys that
//! nobody can work out later, not even with the job's key; its pre-shared key comes from the job's key and all bytes of
//! this connection's handshake, both nonces among them, so it fits no other connection and needs no confirmation beyond
//! its two messages. A record is its length (2 bytes, little-endian, the tag counted) and the sealed bytes.

/// The pattern, and what it is computed with.
#[cfg(feature = "encrypt")]
const PATTERN: &str = "Noise_NNpsk0_25519_AESGCM_SHA256";
/// Each of the two messages that open a cipher: a public key and a tag.
pub(crate) const OPENING_BYTES: usize = 32 + 16;

const LENGTH_BYTES: usize = 2;
const TAG_BYTES: usize = 16;
/// What a record has beside its plain bytes.
pub(super) const MORE_BYTES: usize = LENGTH_BYTES + TAG_BYTES;
/// Room that one needs when it is opened.
pub(super) const CLEAR_BYTES: usize = super::RECORD_BYTES + TAG_BYTES;

/// What both ends of one connection know, and nobody else: it follows from the job's key and this handshake.
pub(crate) struct Secret(
    #[cfg_attr(not(feature = "encrypt"), expect(dead_code, reason = "only a cipher reads it"))] pub(super) [u8; 32],
);

#[cfg(feature = "encrypt")]
pub(crate) use noise::{Cipher, Opening};
#[cfg(not(feature = "encrypt"))]
pub(crate) use none::{Cipher, Opening};

/// Why a cipher cannot be opened, or a record is not what was sent.
#[derive(Debug, thiserror::Error)]
pub enum CipherError {
    /// The bytes are not what the other side sealed.
    #[cfg(feature = "encrypt")]
    #[error("what came is not what was sealed ({0}): bytes were changed on their way")]
    Changed(#[from] snow::Error),
    /// This build has none.
    #[cfg(not(feature = "encrypt"))]
    #[error("this program was built without lathide's feature `encrypt`")]
    Absent,
}

impl CipherError {
    /// The one that `error` carries.
    pub(crate) fn of(error: &std::io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<CipherError> for std::io::Error {
    fn from(error: CipherError) -> Self {
        std::io::Error::new(std::io::ErrorKind::InvalidData, error)
    }
}

#[cfg(feature = "encrypt")]
mod noise {
    use super::super::RECORD_BYTES;
    use super::{CipherError, LENGTH_BYTES, MORE_BYTES, OPENING_BYTES, PATTERN, Secret};

    /// Records after which both ends go on with a new key: far below the 2^24.5 full records up to which AES-GCM keeps its
    /// margin (RFC 8446, section 5.5). Each end counts for itself, so nothing has to be said.
    const RECORDS_PER_KEY: u64 = 1 << 20;

    /// A cipher that is being agreed on.
    pub(crate) struct Opening(snow::HandshakeState);

    impl Opening {
        /// The dialer's side. It writes the first message.
        pub(crate) fn dialer(secret: &Secret) -> Result<Self, CipherError> {
            Ok(Opening(builder(secret)?.build_initiator()?))
        }

        /// The acceptor's side. It reads the first message.
        pub(crate) fn acceptor(secret: &Secret) -> Result<Self, CipherError> {
            Ok(Opening(builder(secret)?.build_responder()?))
        }

        /// This side's message.
        pub(crate) fn write(&mut self) -> Result<[u8; OPENING_BYTES], CipherError> {
            let mut message = [0; OPENING_BYTES];
            self.0.write_message(&[], &mut message)?;
            Ok(message)
        }

        /// Takes the other side's message.
        pub(crate) fn read(&mut self, message: &[u8; OPENING_BYTES]) -> Result<(), CipherError> {
            self.0.read_message(message, &mut [])?;
            Ok(())
        }

        /// Both messages have passed.
        pub(crate) fn finish(self) -> Result<Cipher, CipherError> {
            let noise = self.0.into_transport_mode()?;
            Ok(Cipher { noise, records_per_key: RECORDS_PER_KEY, sealed_records: 0, opened_records: 0 })
        }
    }

    fn builder(secret: &Secret) -> Result<snow::Builder<'_>, snow::Error> {
        snow::Builder::new(PATTERN.parse()?).psk(0, &secret.0)
    }

    /// The two ends of a connection, with the same keys each time: what is simulated can be repeated.
    #[cfg(test)]
    pub(super) fn repeatable_pair() -> Result<(Cipher, Cipher), CipherError> {
        let secret = Secret([1; 32]);
        let with = |key| Ok::<_, CipherError>(builder(&secret)?.fixed_ephemeral_key_for_testing_only(key));
        let (mut dialer, mut acceptor) =
            (Opening(with(&[2; 32])?.build_initiator()?), Opening(with(&[3; 32])?.build_responder()?));
        acceptor.read(&dialer.write()?)?;
        dialer.read(&acceptor.write()?)?;
        Ok((dialer.finish()?, acceptor.finish()?))
    }

    /// What makes and opens sealed records.
    pub(crate) struct Cipher {
        noise: snow::TransportState,
        /// [`RECORDS_PER_KEY`], or fewer in tests.
        records_per_key: u64,
        /// Records since the cipher began, each way.
        sealed_records: u64,
        opened_records: u64,
    }

    impl std::fmt::Debug for Cipher {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Cipher(..)")
        }
    }

    impl Cipher {
        /// Goes on with a new key after as few records.
        #[cfg(test)]
        pub(crate) fn change_keys_after(&mut self, records: u64) {
            self.records_per_key = records;
        }

        /// Makes a record of plain bytes, in a place that has room for it. Returns how long it is.
        pub(crate) fn seal(&mut self, plain: &[u8], record: &mut [u8]) -> Result<usize, CipherError> {
            let length = self.noise.write_message(plain, &mut record[LENGTH_BYTES..])?;
            self.sealed_records += 1;
            if self.sealed_records.is_multiple_of(self.records_per_key) {
                self.noise.rekey_outgoing();
            }
            // Below 64 KiB: see the sizes above.
            record[..LENGTH_BYTES].copy_from_slice(&(length as u16).to_le_bytes());
            Ok(LENGTH_BYTES + length)
        }

        /// How long the next record is, if all of it has `arrived`.
        pub(crate) fn next(arrived: &[u8]) -> Option<usize> {
            let (length, rest) = arrived.split_first_chunk::<LENGTH_BYTES>()?;
            // One that is too long is never here whole; it is short enough to be looked at, and fails then.
            let length = usize::from(u16::from_le_bytes(*length)).min(RECORD_BYTES + MORE_BYTES);
            (rest.len() >= length).then_some(LENGTH_BYTES + length)
        }

        /// Decrypts the next record. Returns how many bytes of `clear` it has.
        pub(crate) fn open(&mut self, record: &[u8], clear: &mut [u8]) -> Result<usize, CipherError> {
            let sealed = record.get(LENGTH_BYTES..).ok_or(snow::Error::Input)?;
            let count = self.noise.read_message(sealed, clear)?;
            self.opened_records += 1;
            if self.opened_records.is_multiple_of(self.records_per_key) {
                self.noise.rekey_incoming();
            }
            if count == 0 {
                // Nobody sends nothing; a reader would take it for the end.
                return Err(snow::Error::Input.into());
            }
            Ok(count)
        }
    }
}

#[cfg(not(feature = "encrypt"))]
mod none {
    //! Without the feature there can be no cipher, and the compiler knows it.

    use super::{CipherError, OPENING_BYTES, Secret};

    #[derive(Debug)]
    pub(crate) enum Cipher {}
    pub(crate) enum Opening {}

    impl Opening {
        pub(crate) fn dialer(_: &Secret) -> Result<Self, CipherError> {
            Err(CipherError::Absent)
        }

        pub(crate) fn acceptor(_: &Secret) -> Result<Self, CipherError> {
            Err(CipherError::Absent)
        }

        pub(crate) fn write(&mut self) -> Result<[u8; OPENING_BYTES], CipherError> {
            match *self {}
        }

        pub(crate) fn read(&mut self, _: &[u8; OPENING_BYTES]) -> Result<(), CipherError> {
            match *self {}
        }

        pub(crate) fn finish(self) -> Result<Cipher, CipherError> {
            match self {}
        }
    }

    impl Cipher {
        pub(crate) fn seal(&mut self, _: &[u8], _: &mut [u8]) -> Result<usize, CipherError> {
            match *self {}
        }

        pub(crate) fn next(_: &[u8]) -> Option<usize> {
            None
        }

        pub(crate) fn open(&mut self, _: &[u8], _: &mut [u8]) -> Result<usize, CipherError> {
            match *self {}
        }
    }
}

#[cfg(all(test, feature = "encrypt"))]
#[path = "cipher_tests.rs"]
pub(crate) mod tests;
