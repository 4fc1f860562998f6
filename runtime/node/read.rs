//! Reads of unknown origin and length.

use super::Node;
use crate::buffer::{Element, ReadBuffer, ReceiveBuffer, WriteBuffer};
use crate::engine::Unposted;
use crate::error::{Error, Result};
use crate::handle::{AnyHandle, Failed, Handle, ReadHandle, WriteHandle};
use crate::ids::{Rank, Tag};
use crate::places::{FromAny, OnArrival};
use crate::wire::frame::MatchKey;

/// # Reads of unknown origin and length
///
/// Messages of one sender and tag keep their order, whichever of these calls reads them: within a sender, a message matches
/// the oldest read that it fits by sender and tag.
impl Node {
    /// Starts to read the next message of `tag` from any rank, this one included, into `buffer`. Does not wait. The handle's
    /// wait returns the rank that wrote the message, and the buffer as [`Node::initread`] does.
    ///
    /// If messages of several ranks are here already, these ranks take turns. A read that is posted before its message
    /// arrives receives it without a copy.
    ///
    /// When every other rank has finished and no message can come, the wait fails with [`Error::Deadlock`]; if a rank is lost,
    /// with [`Error::PeerLost`], as all operations of the job.
    ///
    /// # Errors
    /// [`Error::PeerLost`] if a rank is lost; [`Error::Misuse`] if elements have no size.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// if node.rank() == 0 {
    ///     // A task farm: whoever has a result gets the next task.
    ///     for _ in 1..node.size() {
    ///         let (worker, result) = node.initread_any(1, vec![0.0f64; 1])?.wait()?;
    ///         println!("rank {worker}: {}", result[0]);
    ///     }
    /// } else {
    ///     node.initwrite(0, 1, vec![f64::from(node.rank().0)])?.wait()?;
    /// }
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn initread_any<T: Element>(&self, tag: impl Into<Tag>, buffer: Vec<T>) -> Result<AnyHandle<T>> {
        let bytes = size_of_val(&buffer[..]) as u64;
        self.post_any::<T, _>(tag.into(), buffer, bytes)
    }

    /// Starts to read the next message of `tag` from `from`, of at most `max` elements, into a vector that is allocated when
    /// the message comes and is as long as it. Does not wait.
    ///
    /// # Errors
    /// As [`Node::initread`]. A longer message is [`Error::Mismatch`] on both sides.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let read = node.initread_vec::<u16>(0, 1, 1000)?;
    /// node.initwrite(0, 1, vec![7u16; 3])?.wait()?;
    /// assert_eq!(read.wait()?, [7; 3]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn initread_vec<T: Element>(
        &self,
        from: impl Into<Rank>,
        tag: impl Into<Tag>,
        max: usize,
    ) -> Result<ReadHandle<T>> {
        self.check_element(T::TYPE, size_of::<T>())?;
        let (kernel, key) = (&self.inner.kernel, MatchKey::user(tag.into()));
        let mut place = OnArrival::<T>::new(max);
        let bytes = place.capacity();
        let completion = kernel.initread(from.into(), key, T::TYPE, Box::new(place), bytes);
        Ok(Handle::new(kernel.clone(), self.noting(completion.map_err(Error::from))?))
    }

    /// [`Node::initread_vec`] from any rank, as [`Node::initread_any`].
    ///
    /// # Errors
    /// As [`Node::initread_any`]. A message of more than `max` elements is [`Error::Mismatch`] on both sides.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let read = node.initread_any_vec::<u16>(1, 1000)?;
    /// node.initwrite(0, 1, vec![7u16; 3])?.wait()?;
    /// assert_eq!(read.wait()?, (node.rank(), vec![7; 3]));
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn initread_any_vec<T: Element>(&self, tag: impl Into<Tag>, max: usize) -> Result<AnyHandle<T>> {
        let mut place = OnArrival::<T>::new(max);
        let bytes = place.capacity();
        self.post_any::<T, _>(tag.into(), place, bytes)
    }

    /// `place` comes back as a vector.
    fn post_any<T: Element, P: ReceiveBuffer + 'static>(&self, tag: Tag, place: P, bytes: u64) -> Result<AnyHandle<T>> {
        self.check_element(T::TYPE, size_of::<T>())?;
        let (kernel, key) = (&self.inner.kernel, MatchKey::user(tag));
        let place = Box::new(FromAny::<P, Vec<T>>::new(place));
        let completion = kernel.initread_any(key, T::TYPE, place, bytes);
        Ok(Handle::new(kernel.clone(), self.noting(completion.map_err(Error::from))?))
    }

    /// [`Node::initread`] that gives the buffer back if the read is not posted.
    ///
    /// # Errors
    /// As [`Node::initread`], with the buffer. `?` turns it into an [`Error`].
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let failed = node.try_initread(9, 1, vec![0u8; 4]).unwrap_err();       // there is no rank 9
    /// let read = node.try_initread(0, 1, failed.buffer.expect("it comes back"))?;
    /// node.initwrite(0, 1, vec![1u8; 4])?.wait()?;
    /// assert_eq!(read.wait()?, [1; 4]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn try_initread<B: ReadBuffer>(
        &self,
        from: impl Into<Rank>,
        tag: impl Into<Tag>,
        buffer: B,
    ) -> Result<Handle<B>, Failed<B>> {
        let checked = self.check_element(B::TYPE, B::ELEMENT_BYTES).and_then(|()| self.check_region(buffer.flaw()));
        if let Err(error) = checked {
            return Err(self.failed(Unposted { error, buffer: Box::new(buffer) }));
        }
        let (kernel, key) = (&self.inner.kernel, MatchKey::user(tag.into()));
        let bytes = buffer.capacity_bytes() as u64;
        match kernel.initread(from.into(), key, B::TYPE, buffer.place(), bytes) {
            Ok(completion) => Ok(Handle::new(kernel.clone(), completion)),
            Err(unposted) => Err(self.failed(unposted)),
        }
    }

    /// [`Node::initwrite`] that gives the buffer back if the write is not posted.
    ///
    /// # Errors
    /// As [`Node::initwrite`], with the buffer. `?` turns it into an [`Error`].
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let failed = node.try_initwrite(9, 1, vec![7u8; 4]).unwrap_err();      // there is no rank 9
    /// node.try_initwrite(0, 1, failed.buffer.expect("it comes back"))?.wait()?;
    /// assert_eq!(node.initread(0, 1, vec![0u8; 4])?.wait()?, [7; 4]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn try_initwrite<B: WriteBuffer>(
        &self,
        to: impl Into<Rank>,
        tag: impl Into<Tag>,
        buffer: B,
    ) -> Result<WriteHandle<B>, Failed<B>> {
        let checked = self.check_element(B::TYPE, B::ELEMENT_BYTES).and_then(|()| self.check_region(buffer.flaw()));
        if let Err(error) = checked {
            return Err(self.failed(Unposted { error, buffer: Box::new(buffer) }));
        }
        let kernel = &self.inner.kernel;
        match kernel.initwrite(to.into(), MatchKey::user(tag.into()), B::TYPE, Box::new(buffer)) {
            Ok(completion) => Ok(Handle::new(kernel.clone(), completion)),
            Err(unposted) => Err(self.failed(unposted)),
        }
    }

    fn failed<B: 'static>(&self, Unposted { error, buffer }: Unposted) -> Failed<B> {
        self.inner.kernel.note_failure(&error);
        Failed { error, buffer: buffer.downcast().ok().map(|buffer| *buffer) }
    }
}
