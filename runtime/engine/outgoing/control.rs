//! Control frames that wait for their turn.

use crate::buffer::ElementType;
use crate::ids::Rank;
use crate::wire::frame::{CONTROL_BYTES_MAX, FAILED, Kind, MatchKey, MessageHeader, Stamp};
use crate::wire::text;

/// A control frame that waits for its turn.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Control {
    pub(in crate::engine) kind: Kind,
    pub(in crate::engine) flags: u8,
    pub(in crate::engine) message_id: u64,
    pub(in crate::engine) body: Body,
}

#[derive(Clone, Debug)]
pub(in crate::engine) enum Body {
    Empty,
    Number(u64),
    Numbers(u64, u64),
    MessageHeader(MessageHeader),
    /// What a read takes, and the message that does not fit.
    MessageHeaders(MessageHeader, MessageHeader),
    Stamp(Stamp),
    Words(String),
}

impl Control {
    pub(in crate::engine) fn about(kind: Kind, message_id: u64) -> Self {
        Control { kind, flags: 0, message_id, body: Body::Empty }
    }

    pub(in crate::engine) fn credit(bytes: u64) -> Self {
        Control { body: Body::Number(bytes), ..Control::about(Kind::Credit, 0) }
    }

    pub(in crate::engine) fn want(key: MatchKey, element: ElementType, capacity: u64) -> Self {
        Control {
            body: Body::MessageHeader(MessageHeader { key, element, total: capacity }),
            ..Control::about(Kind::Want, 0)
        }
    }

    pub(in crate::engine) fn refuse(message_id: u64, posted: MessageHeader, message: MessageHeader) -> Self {
        Control { body: Body::MessageHeaders(posted, message), ..Control::about(Kind::Refuse, message_id) }
    }

    /// `cause`: by which rank's fault the job failed, if it did, and why; cut to what a control frame may carry.
    pub(in crate::engine) fn goodbye(cause: Option<(Rank, &str)>) -> Self {
        let goodbye = Control::about(Kind::Goodbye, 0);
        match cause {
            None => goodbye,
            Some((culprit, cause)) => {
                let words = text::cut(cause, CONTROL_BYTES_MAX).to_owned();
                Control { flags: FAILED, message_id: culprit.0.into(), body: Body::Words(words), ..goodbye }
            }
        }
    }
}
