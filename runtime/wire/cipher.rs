//! Encryption of a link: Noise after the handshake, then records instead of plain bytes. Bytes in, bytes out.
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
    use std::io::{self, IoSlice, IoSliceMut};

    use super::{CipherError, OPENING_BYTES, PATTERN, Secret};

    /// Plain bytes in one record, at most. Long enough that its price per byte is the cipher's alone, short enough that
    /// the peer decrypts one while the next is on its way.
    const RECORD_BYTES: usize = 32 << 10;
    const LENGTH_BYTES: usize = 2;
    const TAG_BYTES: usize = 16;
    const SEALED_BYTES_MAX: usize = LENGTH_BYTES + RECORD_BYTES + TAG_BYTES;
    /// Sealed bytes that one read may bring.
    const INBOUND_BYTES: usize = 4 * SEALED_BYTES_MAX;
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
            Ok(Cipher {
                noise: self.0.into_transport_mode()?,
                record_bytes: RECORD_BYTES,
                records_per_key: RECORDS_PER_KEY,
                sealed_records: 0,
                opened_records: 0,
                plain: Vec::new(),
                outbound: vec![0; SEALED_BYTES_MAX],
                unsent: 0..0,
                inbound: vec![0; INBOUND_BYTES],
                arrived: 0..0,
                clear: vec![0; RECORD_BYTES + TAG_BYTES],
                unread: 0..0,
            })
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

    /// What stands between the engine's plain bytes and the socket's sealed ones.
    pub(crate) struct Cipher {
        noise: snow::TransportState,
        /// Plain bytes in one record, at most: [`RECORD_BYTES`], or fewer in tests.
        record_bytes: usize,
        /// [`RECORDS_PER_KEY`], or fewer in tests.
        records_per_key: u64,
        /// Records since the cipher began, each way.
        sealed_records: u64,
        opened_records: u64,
        /// The plain bytes of one record, gathered.
        plain: Vec<u8>,
        /// The record under way, and what of it the socket has not taken.
        outbound: Vec<u8>,
        unsent: std::ops::Range<usize>,
        /// Sealed bytes as they came.
        inbound: Vec<u8>,
        arrived: std::ops::Range<usize>,
        /// The last record's plain bytes, and those nobody has taken.
        clear: Vec<u8>,
        unread: std::ops::Range<usize>,
    }

    impl std::fmt::Debug for Cipher {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Cipher(..)")
        }
    }

    impl Cipher {
        /// Seals records of at most `bytes`, so that they end in places where long ones seldom do.
        #[cfg(test)]
        pub(crate) fn seal_records_of(&mut self, bytes: usize) {
            self.record_bytes = bytes;
        }

        /// Goes on with a new key after as few records.
        #[cfg(test)]
        pub(crate) fn change_keys_after(&mut self, records: u64) {
            self.records_per_key = records;
        }

        /// Writes as [`std::io::Write::write_vectored`] does: returns how many plain bytes were taken. `send` is a
        /// non-blocking write.
        ///
        /// What is taken is sealed, and a record can only go whole: if the socket takes part of it the rest stays here, is
        /// counted, and leaves by [`Cipher::flush`] or with the next call, before anything else.
        pub(crate) fn write(
            &mut self,
            slices: &[IoSlice<'_>],
            send: &mut dyn FnMut(&[u8]) -> io::Result<usize>,
        ) -> io::Result<usize> {
            self.flush(send)?;
            let mut count = 0;
            while self.gather(slices, count) {
                self.seal()?;
                count += self.plain.len();
                // Also if the socket has broken, which the next call hears of: the records before this one may arrive.
                if self.flush(send).is_err() {
                    break;
                }
            }
            Ok(count)
        }

        /// Whether sealed bytes wait for room in the socket.
        pub(crate) fn has_unsent(&self) -> bool {
            !self.unsent.is_empty()
        }

        /// Sends what is left of the record under way.
        pub(crate) fn flush(&mut self, send: &mut dyn FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
            while !self.unsent.is_empty() {
                match send(&self.outbound[self.unsent.clone()]) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(sent) => self.unsent.start += sent,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        }

        /// Collects the plain bytes of one record behind the first `skip`. Returns whether there are any.
        fn gather(&mut self, slices: &[IoSlice<'_>], mut skip: usize) -> bool {
            self.plain.clear();
            for slice in slices {
                let skipped = skip.min(slice.len());
                skip -= skipped;
                let slice = &slice[skipped..];
                let room = self.record_bytes - self.plain.len();
                self.plain.extend_from_slice(&slice[..room.min(slice.len())]);
                if slice.len() >= room {
                    break;
                }
            }
            !self.plain.is_empty()
        }

        fn seal(&mut self) -> Result<(), CipherError> {
            let length = self.noise.write_message(&self.plain, &mut self.outbound[LENGTH_BYTES..])?;
            self.sealed_records += 1;
            if self.sealed_records.is_multiple_of(self.records_per_key) {
                self.noise.rekey_outgoing();
            }
            // Below 64 KiB: see the sizes above.
            self.outbound[..LENGTH_BYTES].copy_from_slice(&(length as u16).to_le_bytes());
            self.unsent = 0..LENGTH_BYTES + length;
            Ok(())
        }

        /// Reads as [`std::io::Read::read_vectored`] does: plain bytes of whole records, as many as are here and fit.
        /// `take` is a non-blocking read, called only if there are none.
        pub(crate) fn read(
            &mut self,
            slices: &mut [IoSliceMut<'_>],
            take: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
        ) -> io::Result<usize> {
            while !self.holds() {
                self.inbound.copy_within(self.arrived.clone(), 0);
                self.arrived = 0..self.arrived.len();
                match take(&mut self.inbound[self.arrived.end..])? {
                    0 => return Ok(0),
                    taken => self.arrived.end += taken,
                }
            }
            let mut count = 0;
            for slice in slices {
                let mut place = &mut slice[..];
                while !place.is_empty() && self.holds() {
                    if self.unread.is_empty() {
                        self.open()?;
                    }
                    let now = place.len().min(self.unread.len());
                    place[..now].copy_from_slice(&self.clear[self.unread.start..][..now]);
                    self.unread.start += now;
                    count += now;
                    place = &mut place[now..];
                }
            }
            Ok(count)
        }

        /// Whether plain bytes can be read without the socket, which then does not say that there are any.
        pub(crate) fn holds(&self) -> bool {
            !self.unread.is_empty() || self.sealed().is_some()
        }

        /// Where the next record's sealed bytes are, if all have come.
        fn sealed(&self) -> Option<std::ops::Range<usize>> {
            let arrived = &self.inbound[self.arrived.clone()];
            let (length, rest) = arrived.split_first_chunk::<LENGTH_BYTES>()?;
            // One that is too long is never here whole; it is short enough to be looked at, and fails then.
            let length = usize::from(u16::from_le_bytes(*length)).min(SEALED_BYTES_MAX);
            let start = self.arrived.start + LENGTH_BYTES;
            (rest.len() >= length).then(|| start..start + length)
        }

        /// Decrypts the next record.
        fn open(&mut self) -> Result<(), CipherError> {
            let Some(sealed) = self.sealed() else { return Ok(()) };
            self.arrived.start = sealed.end;
            let count = self.noise.read_message(&self.inbound[sealed], &mut self.clear)?;
            self.opened_records += 1;
            if self.opened_records.is_multiple_of(self.records_per_key) {
                self.noise.rekey_incoming();
            }
            if count == 0 {
                // Nobody sends nothing; a reader would take it for the end.
                return Err(snow::Error::Input.into());
            }
            self.unread = 0..count;
            Ok(())
        }
    }
}

#[cfg(not(feature = "encrypt"))]
mod none {
    //! Without the feature there can be no cipher, and the compiler knows it.

    use std::io::{self, IoSlice, IoSliceMut};

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
        pub(crate) fn write(
            &mut self,
            _: &[IoSlice<'_>],
            _: &mut dyn FnMut(&[u8]) -> io::Result<usize>,
        ) -> io::Result<usize> {
            match *self {}
        }

        pub(crate) fn flush(&mut self, _: &mut dyn FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn has_unsent(&self) -> bool {
            match *self {}
        }

        pub(crate) fn read(
            &mut self,
            _: &mut [IoSliceMut<'_>],
            _: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
        ) -> io::Result<usize> {
            match *self {}
        }

        pub(crate) fn holds(&self) -> bool {
            match *self {}
        }
    }
}

#[cfg(all(test, feature = "encrypt"))]
#[path = "cipher_tests.rs"]
pub(crate) mod tests;
