//! Each message from the call that wrote it to its last byte's arrival, put together from both ranks' events. Pure.

use std::collections::HashMap;

use super::super::event::What;
use super::align::Alignment;
use super::spans::Spans;
use super::track::Track;
use crate::ids::{Rank, Tag};
use crate::operation::OperationKind;

/// One operation of one rank. Times are those of the common clock, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) op: u64,
    pub(super) thread: u32,
    pub(super) kind: OperationKind,
    pub(super) peer: Rank,
    pub(super) tag: Option<Tag>,
    pub(super) bytes: u64,
    /// When it was called, and when the call returned.
    pub(super) called: i64,
    pub(super) posted: i64,
    /// The first and the last byte: of a write, handed to the socket; of a read, here.
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
    pub(super) done: Option<i64>,
    pub(super) failed: bool,
    /// The message's name on its link.
    pub(super) message_id: Option<u64>,
}

/// All operations of one rank, in the order of their calls.
pub(super) struct Operations {
    pub(super) rank: Rank,
    pub(super) all: Vec<Operation>,
}

impl Operations {
    pub(super) fn of(track: &Track, alignment: &Alignment) -> Self {
        let common = |at_ns: u64| alignment.common_ns(at_ns);
        let (mut all, mut index) = (Vec::new(), HashMap::new());
        for event in &track.events {
            if let What::Post { since_ns, op, kind, peer, tag, bytes } = event.what {
                index.insert(op, all.len());
                all.push(Operation {
                    op,
                    thread: event.thread,
                    kind,
                    peer,
                    tag,
                    bytes,
                    called: common(since_ns),
                    posted: common(event.at_ns),
                    first: None,
                    last: None,
                    done: None,
                    failed: false,
                    message_id: None,
                });
            }
        }
        // A read may meet a message whose bytes have come before.
        let mut arrived: HashMap<(Rank, u64), (Option<i64>, Option<i64>)> = HashMap::new();
        let mut met: HashMap<(Rank, u64), usize> = HashMap::new();
        for event in &track.events {
            let at = common(event.at_ns);
            match event.what {
                What::Goes { op, message_id, .. } | What::Leaves { op, message_id, .. } => {
                    let Some(&operation) = index.get(&op) else { continue };
                    let operation: &mut Operation = &mut all[operation];
                    operation.message_id = Some(message_id);
                    if matches!(event.what, What::Goes { .. }) {
                        // The last one told counts: what was taken back did not go.
                        operation.first = Some(at);
                    } else {
                        operation.last = Some(at);
                    }
                }
                What::Begins { peer, message_id, .. } => {
                    arrived.entry((peer, message_id)).or_default().0 = Some(at);
                    if let Some(&operation) = met.get(&(peer, message_id)) {
                        all[operation].first = Some(at);
                    }
                }
                What::Arrives { peer, message_id, .. } => {
                    let (first, _) = arrived.remove(&(peer, message_id)).unwrap_or_default();
                    match met.get(&(peer, message_id)) {
                        Some(&operation) => (all[operation].first, all[operation].last) = (first, Some(at)),
                        None => drop(arrived.insert((peer, message_id), (first, Some(at)))),
                    }
                }
                What::Meets { peer, message_id, op } => {
                    let Some(&operation) = index.get(&op) else { continue };
                    met.insert((peer, message_id), operation);
                    let (first, last) = arrived.remove(&(peer, message_id)).unwrap_or_default();
                    let operation = &mut all[operation];
                    if operation.kind == OperationKind::ReadAny {
                        operation.peer = peer;
                    }
                    (operation.message_id, operation.first, operation.last) = (Some(message_id), first, last);
                }
                What::Done { op, failed } => {
                    if let Some(&operation) = index.get(&op) {
                        (all[operation].done, all[operation].failed) = (Some(at), failed);
                    }
                }
                _ => {}
            }
        }
        Operations { rank: track.head.rank, all }
    }
}

/// A message with both its ends known: places in the lists of its ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// Track and operation of the write.
    pub(super) write: (usize, usize),
    /// Track and operation of the read.
    pub(super) read: (usize, usize),
}

/// Every message that both ranks have told of.
pub(super) fn messages(ranks: &[Operations]) -> Vec<Message> {
    let mut writes = HashMap::new();
    for (track, operations) in ranks.iter().enumerate() {
        for (at, operation) in operations.all.iter().enumerate() {
            if let (OperationKind::Write, Some(message_id)) = (operation.kind, operation.message_id) {
                writes.insert((operations.rank, operation.peer, message_id), (track, at));
            }
        }
    }
    let mut messages = Vec::new();
    for (track, operations) in ranks.iter().enumerate() {
        for (at, operation) in operations.all.iter().enumerate() {
            if let (OperationKind::Read | OperationKind::ReadAny, Some(message_id)) =
                (operation.kind, operation.message_id)
                && let Some(&write) = writes.get(&(operation.peer, operations.rank, message_id))
            {
                messages.push(Message { write, read: (track, at) });
            }
        }
    }
    messages
}

/// When messages of each rank were on their way, in or out.
pub(super) fn under_way(ranks: &[Operations], messages: &[Message]) -> Vec<Spans> {
    let mut spans = vec![Vec::new(); ranks.len()];
    for Message { write, read } in messages {
        let (write_at, read_at) = (&ranks[write.0].all[write.1], &ranks[read.0].all[read.1]);
        if let Some(arrived) = read_at.last {
            spans[write.0].push((write_at.called, arrived));
            spans[read.0].push((write_at.called, arrived));
        }
    }
    spans.into_iter().map(Spans::of).collect()
}
