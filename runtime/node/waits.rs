//! Waiting for several operations of one type.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::Result;
use crate::handle::Handle;
use crate::kernel::{Completion, Ready};

/// Waits for all of `handles` and returns their buffers in the same order. An iterator that posts its operations as it goes
/// has posted them all before the first is waited for.
///
/// # Errors
/// The first error among them, after all are complete.
///
/// ```
/// let node = lathide::init()?;
/// // The read is not over before the write is posted.
/// let both = lathide::wait_all((0..2).map(|at| match at {
///     0 => node.initread(0, 1, vec![0u8; 1]).unwrap(),
///     _ => node.initwrite(0, 1, vec![7u8]).unwrap(),
/// }))?;
/// assert_eq!(both, [[7], [7]]);
/// node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
pub fn wait_all<R: Send + 'static, B: Send + 'static>(
    handles: impl IntoIterator<Item = Handle<R, B>>,
) -> Result<Vec<R>> {
    let mut handles = handles.into_iter().collect::<Vec<_>>().into_iter();
    let first = handles.next().map(Handle::wait);
    let results: Vec<Result<R>> = first.into_iter().chain(handles.map(Handle::wait_on)).collect();
    results.into_iter().collect()
}

/// Waits for the first of `handles` to complete, removes it, and returns the index that it had and its buffer. The last
/// handle takes its place, as in [`Vec::swap_remove`]. Of several that are complete it takes any.
///
/// The time of a call does not depend on the number of handles, as long as handles are neither added nor taken out between
/// calls. A [`WaitSet`](crate::WaitSet) knows no such limit, and names operations by keys.
///
/// # Errors
/// The error of that operation; the other handles remain.
///
/// # Panics
/// If there are no handles.
pub fn wait_any<R: Send + 'static, B: Send + 'static>(handles: &mut Vec<Handle<R, B>>) -> Result<(usize, R)> {
    assert!(!handles.is_empty(), "wait_any needs a handle to wait for");
    let at = first_of(handles);
    let handle = handles.swap_remove(at);
    if let Some(set) = handle.raw.completion.set() {
        let moved = handles.get(at).and_then(|moved| token_in(&moved.raw.completion, &set));
        set.leave(handle.raw.completion.token.load(Relaxed), moved);
    }
    handle.wait().map(|buffer| (at, buffer))
}

/// Waits until at least one of `handles` is complete, removes all that are, and returns the index that each had and its
/// buffer or its error. The order of the others stays as it is. One call looks at all handles.
///
/// # Panics
/// If there are no handles.
///
/// ```
/// let node = lathide::init()?;
/// let mut reads = vec![node.initread(0, 1, vec![0u8; 1])?, node.initread(0, 2, vec![0u8; 1])?];
/// node.initwrite(0, 2, vec![7u8])?.wait()?;
/// for (index, result) in lathide::wait_some(&mut reads) {
///     assert_eq!((index, result?), (1, vec![7]));
/// }
/// assert_eq!(reads.len(), 1);
/// node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
pub fn wait_some<R: Send + 'static, B: Send + 'static>(handles: &mut Vec<Handle<R, B>>) -> Vec<(usize, Result<R>)> {
    assert!(!handles.is_empty(), "wait_some needs a handle to wait for");
    first_of(handles);
    let (mut done, mut left) = (Vec::new(), Vec::with_capacity(handles.len()));
    for (index, handle) in handles.drain(..).enumerate() {
        if handle.raw.completion.is_done() {
            done.push((index, handle.wait()));
        } else {
            left.push(handle);
        }
    }
    *handles = left;
    done
}

/// Where one stands that is complete, once there is one.
fn first_of<R, B>(handles: &[Handle<R, B>]) -> usize {
    let first = &handles[0].raw;
    if first.completion.is_done() {
        return 0;
    }
    let is_done = |at: &usize| handles[*at].raw.completion.is_done();
    let is_of_first = |handle: &Handle<R, B>| Arc::ptr_eq(&handle.raw.kernel, &first.kernel);
    // The set that an earlier call has made, if handles were neither added nor taken out since.
    let set = first.completion.set().filter(|set| set.members() == handles.len());
    let mut set = match set.filter(|_| handles.last().is_some_and(is_of_first)) {
        Some(set) => set,
        None if handles.len() > 1 && handles.iter().all(is_of_first) => made_of(handles),
        None => {
            first.kernel.wait_any(handles, None);
            return (0..handles.len()).find(is_done).unwrap_or(0);
        }
    };
    while let Some((token, at)) = set.pop() {
        if is_member(handles, at, &set, token) {
            return at;
        }
        // The program has changed their order.
        set = made_of(handles);
    }
    first.kernel.wait_any_of_many(handles, &set);
    let told = set.pop().filter(|(token, at)| is_member(handles, *at, &set, *token)).map(|(_, at)| at);
    told.or_else(|| (0..handles.len()).find(is_done)).unwrap_or(0)
}

/// A set whose members are all of `handles`.
fn made_of<R, B>(handles: &[Handle<R, B>]) -> Arc<Ready> {
    let set = Arc::new(Ready::new());
    handles.iter().enumerate().for_each(|(position, handle)| _ = handle.raw.completion.join(&set, position));
    set
}

/// Whether the handle at `at` is the member of `set` that `token` names.
fn is_member<R, B>(handles: &[Handle<R, B>], at: usize, set: &Arc<Ready>, token: u32) -> bool {
    let is_it = |completion: &Completion| token_in(completion, set) == Some(token);
    handles.get(at).is_some_and(|handle| is_it(&handle.raw.completion))
}

/// The token of a member of `set`.
fn token_in(completion: &Completion, set: &Arc<Ready>) -> Option<u32> {
    let is_of_set = completion.set().is_some_and(|other| Arc::ptr_eq(&other, set));
    is_of_set.then(|| completion.token.load(Relaxed))
}
