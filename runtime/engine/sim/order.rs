//! The random order of all actions of a program, one action at a time.

use super::program::{Action, Family, Message, Program, Stream};
use crate::engine::outgoing::MESSAGE_COST;

/// How far the order of all actions has come.
pub(super) struct Order {
    /// Per message: written, read, write waited for, read waited for.
    done: Vec<[bool; 4]>,
    postponed: Vec<bool>,
    /// Per stream: its messages in order, and how many have been written and read.
    members: Vec<Vec<usize>>,
    written: Vec<usize>,
    read: Vec<usize>,
    /// Per pair of ranks: what messages written and not read cost of the window.
    unread: Vec<u64>,
}

impl Order {
    pub(super) fn new(program: &Program) -> Self {
        let streams = program.streams.len();
        let mut members = vec![Vec::new(); streams];
        program.messages.iter().enumerate().for_each(|(at, message)| members[message.stream].push(at));
        Order {
            done: vec![[false; 4]; program.messages.len()],
            postponed: vec![false; program.messages.len()],
            members,
            written: vec![0; streams],
            read: vec![0; streams],
            unread: vec![0; program.size() * program.size()],
        }
    }

    /// Adds what can be done about `message` now, with the running sum of weights.
    pub(super) fn candidates(
        &self,
        program: &Program,
        family: Family,
        message: usize,
        weights: [usize; 3],
        candidates: &mut Vec<(Action, usize)>,
    ) {
        let Message { stream, bytes, .. } = program.messages[message];
        let Stream { to, .. } = program.streams[stream];
        let [written, read, write_waited, read_waited] = self.done[message];
        let mut add = |action, weight| {
            let sum = candidates.last().map_or(0, |(_, sum)| *sum);
            candidates.push((action, sum + weight));
        };
        let has_room = family != Family::Windowed
            || read
            || self.unread[pair(program, stream)] + bytes as u64 + MESSAGE_COST
                <= program.limits[to as usize].window_bytes;
        if !written && self.members[stream][self.written[stream]] == message && has_room {
            add(Action::Write(message), weights[0]);
        }
        if !read && self.members[stream][self.read[stream]] == message {
            add(Action::Read(message), weights[1]);
        }
        if written && !write_waited && (read || family == Family::Windowed) {
            add(Action::WaitWrite(message), weights[2]);
        }
        if written && read && !read_waited {
            add(Action::WaitRead(message), weights[2]);
        }
    }

    /// Notes that `action` comes next; returns whose it is.
    pub(super) fn take(&mut self, program: &Program, action: Action) -> usize {
        let (Action::Read(message)
        | Action::WaitRead(message)
        | Action::WaitWrite(message)
        | Action::Withdraw(message)
        | Action::Write(message)) = action;
        let Message { stream, bytes, .. } = program.messages[message];
        let (cost, pair) = (bytes as u64 + MESSAGE_COST, pair(program, stream));
        let done = &mut self.done[message];
        let Stream { from, to, .. } = program.streams[stream];
        match action {
            Action::Write(_) => {
                done[0] = true;
                self.written[stream] += 1;
                self.unread[pair] += if done[1] { 0 } else { cost };
                from as usize
            }
            Action::Read(_) => {
                done[1] = true;
                self.read[stream] += 1;
                self.unread[pair] -= if done[0] { cost } else { 0 };
                to as usize
            }
            Action::WaitWrite(_) => {
                done[2] = true;
                from as usize
            }
            Action::WaitRead(_) | Action::Withdraw(_) => {
                done[3] = true;
                to as usize
            }
        }
    }

    pub(super) fn postpone_wait(&mut self, message: usize) {
        self.done[message][3] = true;
        self.postponed[message] = true;
    }

    pub(super) fn is_postponed(&self, message: usize) -> bool {
        self.postponed[message]
    }
}

fn pair(program: &Program, stream: usize) -> usize {
    let Stream { from, to, .. } = program.streams[stream];
    from as usize * program.size() + to as usize
}
