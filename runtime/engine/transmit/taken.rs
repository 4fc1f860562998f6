//! Frames that were taken for a call; what the socket does not take of them goes back where it came from.

use std::ops::Range;

use crate::engine::outgoing::{Control, Express, Outgoing, Stage};
use crate::wire::frame::Kind;

/// Memory for one call, used again and again.
#[derive(Default)]
pub(in crate::engine) struct Batch {
    pub(in crate::engine) scratch: Vec<u8>,
    pub(super) frames: Vec<Frame>,
}

/// A frame taken for one call.
pub(super) struct Frame {
    pub(super) head: Range<usize>,
    pub(super) payload: Option<(usize, Range<usize>)>,
    pub(super) finishes: Option<usize>,
    pub(super) undo: Undo,
}

impl Frame {
    pub(super) fn bytes(&self) -> usize {
        self.head.len() + self.payload.as_ref().map_or(0, |(_, range)| range.len())
    }
}

/// How to put a frame back.
pub(super) enum Undo {
    Control(Control),
    /// It is made anew, of what has come by then.
    Acknowledgement,
    /// A stamp that cannot follow its message at once is worth nothing; the message brings it again.
    Stamp,
    Envelope {
        index: usize,
        express_run: usize,
    },
    /// `in_bulk`: where the rest of the message stands among the long ones.
    Express {
        index: usize,
        express_run: usize,
        stage: Stage,
        in_bulk: Option<usize>,
    },
    /// `gone`: it was the message's last; `rotated`: so many messages went to the end after it.
    Bulk {
        index: usize,
        bytes: u64,
        turn: usize,
        express_run: usize,
        gone: bool,
        rotated: usize,
        stage: Stage,
    },
}

impl Undo {
    /// The message whose bytes it has.
    pub(super) fn message(&self) -> Option<usize> {
        match *self {
            Undo::Express { index, .. } | Undo::Bulk { index, .. } => Some(index),
            _ => None,
        }
    }
}

impl Outgoing {
    /// Puts all frames but the first `kept` back where they came from, the last one first.
    pub(super) fn put_back(&mut self, batch: &mut Batch, kept: usize) {
        for frame in batch.frames.drain(kept..).rev() {
            self.number = self.number.wrapping_sub(1);
            if frame.finishes.is_some() {
                self.stamp_due = None;
            }
            match frame.undo {
                Undo::Stamp => {}
                Undo::Acknowledgement => self.acknowledgement.was_not_told(),
                Undo::Control(control) if control.kind == Kind::Goodbye => self.goodbye = Some(control),
                Undo::Control(control) => self.control.push_front(control),
                Undo::Envelope { index, express_run } => {
                    self.express_run = express_run;
                    if let Stage::Announced { sent, .. } = &mut self.message_mut(index).stage {
                        *sent = false;
                    }
                    self.express.push_front(Express::Envelope(index));
                }
                Undo::Express { index, express_run, stage, in_bulk } => {
                    if let Some(at) = in_bulk {
                        self.bulk.remove(at);
                    }
                    self.express_run = express_run;
                    let message = self.message_mut(index);
                    (message.sent, message.stage) = (0, stage);
                    self.express.push_front(Express::Message(index));
                }
                Undo::Bulk { index, bytes, turn, express_run, gone, rotated, stage } => {
                    self.bulk.rotate_right(rotated);
                    if gone {
                        self.bulk.push_front(index);
                    }
                    (self.turn, self.express_run) = (turn, express_run);
                    let message = self.message_mut(index);
                    (message.sent, message.stage) = (message.sent - bytes, stage);
                }
            }
        }
    }
}
