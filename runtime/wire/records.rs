//! Records: what a link carries instead of plain bytes, if it is to have checksums or to be encrypted. Bytes in, bytes out.
//!
//! A coding makes records of plain bytes, and the reverse: [`super::checksum`] or [`super::cipher`]. Here is what both need: a
//! record is made once and can only go whole, and nothing of it is believed before all of it has come and is found right.

use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;

use super::RECORD_BYTES;
use super::checksum::{self, Checksum};
use super::cipher::{self, Cipher};

/// The longest record of any coding.
const RECORD_BYTES_MAX: usize =
    RECORD_BYTES + if checksum::MORE_BYTES > cipher::MORE_BYTES { checksum::MORE_BYTES } else { cipher::MORE_BYTES };
/// Bytes that one read may bring.
const INBOUND_BYTES: usize = 4 * RECORD_BYTES_MAX;

/// How records are made.
#[derive(Debug)]
enum Coding {
    Checksum(Checksum),
    Cipher(Cipher),
}

/// What stands between the engine's plain bytes and the socket's records.
pub(crate) struct Records {
    coding: Coding,
    /// [`RECORD_BYTES`], or fewer in tests.
    record_bytes: usize,
    /// Where a record's plain bytes begin as they are gathered: before them is room for what the coding adds.
    head: usize,
    /// That, and the plain bytes of one record.
    plain: Vec<u8>,
    /// The record under way, and what of it the socket has not taken.
    outbound: Vec<u8>,
    unsent: Range<usize>,
    /// Records as they came.
    inbound: Vec<u8>,
    arrived: Range<usize>,
    /// The last record's plain bytes, if its coding does not leave them in `inbound`; and those nobody has taken.
    clear: Vec<u8>,
    unread: Range<usize>,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Records({:?})", self.coding)
    }
}

impl Records {
    /// With checksums, from the beginning of a connection on.
    pub(crate) fn checked() -> Self {
        Records::new(Coding::Checksum(Checksum::default()), checksum::MORE_BYTES, 0)
    }

    /// Encrypted.
    pub(crate) fn sealed(cipher: Cipher) -> Self {
        Records::new(Coding::Cipher(cipher), 0, cipher::CLEAR_BYTES)
    }

    fn new(coding: Coding, head: usize, clear: usize) -> Self {
        Records {
            coding,
            record_bytes: RECORD_BYTES,
            head,
            plain: Vec::new(),
            outbound: vec![0; RECORD_BYTES_MAX],
            unsent: 0..0,
            inbound: vec![0; INBOUND_BYTES],
            arrived: 0..0,
            clear: vec![0; clear],
            unread: 0..0,
        }
    }

    /// Makes records of at most `bytes`, so that they end in places where long ones seldom do.
    #[cfg(test)]
    pub(crate) fn of_at_most(&mut self, bytes: usize) {
        self.record_bytes = bytes;
    }

    #[cfg(all(test, feature = "encrypt"))]
    pub(crate) fn are_encrypted(&self) -> bool {
        matches!(self.coding, Coding::Cipher(_))
    }

    /// Memory that it takes.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        [&self.plain, &self.outbound, &self.inbound, &self.clear].map(Vec::capacity).iter().sum()
    }

    /// Encrypted ones go on with a new key after as few.
    #[cfg(all(test, feature = "encrypt"))]
    pub(crate) fn change_keys_after(&mut self, records: u64) {
        if let Coding::Cipher(cipher) = &mut self.coding {
            cipher.change_keys_after(records);
        }
    }

    /// Writes as [`std::io::Write::write_vectored`] does: returns how many plain bytes were taken. `send` is a
    /// non-blocking write.
    ///
    /// What is taken is in a record, and that can only go whole: if the socket takes part of it the rest stays here, is
    /// counted, and leaves by [`Records::flush`] or with the next call, before anything else.
    pub(crate) fn write(
        &mut self,
        slices: &[IoSlice<'_>],
        send: &mut dyn FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.flush(send)?;
        let mut count = 0;
        loop {
            let gathered = self.gather(slices, count);
            if gathered == 0 {
                break;
            }
            self.seal()?;
            count += gathered;
            // Also if the socket has broken, which the next call hears of: the records before this one may arrive.
            if self.flush(send).is_err() {
                break;
            }
        }
        Ok(count)
    }

    /// Whether some of a record waits for room in the socket.
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

    /// Collects the plain bytes of one record behind the first `skip`. Returns how many there are.
    fn gather(&mut self, slices: &[IoSlice<'_>], mut skip: usize) -> usize {
        self.plain.clear();
        self.plain.resize(self.head, 0);
        let full = self.head + self.record_bytes;
        for slice in slices {
            let skipped = skip.min(slice.len());
            skip -= skipped;
            let slice = &slice[skipped..];
            let room = full - self.plain.len();
            self.plain.extend_from_slice(&slice[..room.min(slice.len())]);
            if slice.len() >= room {
                break;
            }
        }
        self.plain.len() - self.head
    }

    fn seal(&mut self) -> io::Result<()> {
        let length = match &mut self.coding {
            Coding::Checksum(checksum) => {
                checksum.seal(&mut self.plain);
                std::mem::swap(&mut self.plain, &mut self.outbound);
                self.outbound.len()
            }
            Coding::Cipher(cipher) => cipher.seal(&self.plain, &mut self.outbound)?,
        };
        self.unsent = 0..length;
        Ok(())
    }

    /// Reads as [`std::io::Read::read_vectored`] does: plain bytes of whole records, as many as are here and fit.
    /// `take` is a non-blocking read, called only if there are none.
    ///
    /// # Errors
    /// Those of `take`; and [`super::checksum::Damaged`] or [`super::cipher::CipherError`], each time again, if what has come is not
    /// what was sent. All before it has been read by then.
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
                if self.unread.is_empty()
                    && let Err(error) = self.open()
                {
                    // What was right is not to come again.
                    return if count > 0 { Ok(count) } else { Err(error) };
                }
                let now = place.len().min(self.unread.len());
                place[..now].copy_from_slice(&self.opened()[..now]);
                self.unread.start += now;
                count += now;
                place = &mut place[now..];
            }
        }
        Ok(count)
    }

    /// Whether plain bytes, or an error, can be read without the socket, which then does not say that there are any.
    pub(crate) fn holds(&self) -> bool {
        !self.unread.is_empty() || self.next().is_some()
    }

    /// Where the next record is, if all of it has come, or if it is wrong for certain.
    fn next(&self) -> Option<Range<usize>> {
        let arrived = &self.inbound[self.arrived.clone()];
        let length = match &self.coding {
            Coding::Checksum(checksum) => checksum.next(arrived),
            Coding::Cipher(_) => Cipher::next(arrived),
        };
        length.map(|length| self.arrived.start..self.arrived.start + length)
    }

    /// Opens the next record.
    fn open(&mut self) -> io::Result<()> {
        let Some(next) = self.next() else { return Ok(()) };
        let record = &self.inbound[next.clone()];
        self.unread = match &mut self.coding {
            Coding::Checksum(checksum) => {
                let plain = checksum.open(record)?;
                next.start + plain.start..next.start + plain.end
            }
            Coding::Cipher(cipher) => 0..cipher.open(record, &mut self.clear)?,
        };
        self.arrived.start = next.end;
        Ok(())
    }

    /// Plain bytes that nobody has taken.
    fn opened(&self) -> &[u8] {
        let place = match &self.coding {
            Coding::Checksum(_) => &self.inbound,
            Coding::Cipher(_) => &self.clear,
        };
        &place[self.unread.clone()]
    }
}

#[cfg(test)]
#[path = "records_tests.rs"]
pub(crate) mod tests;
