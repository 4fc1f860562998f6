//! When the links of a rank had no connection. Pure.

use super::align::Alignment;
use super::track::Track;
use crate::ids::Rank;
use crate::observe::event::What;

/// A time at which a link had none, in common time.
pub(super) struct Down<'a> {
    pub(super) peer: Rank,
    /// The kernel's thread, or one that helped.
    pub(super) thread: u32,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) cause: &'a str,
    pub(super) end: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// Another followed, on which so many bytes were sent again.
    Resumed(u64),
    /// None did.
    Lost,
    /// The file ends before.
    Open,
}

impl<'a> Down<'a> {
    pub(super) fn all(track: &'a Track, alignment: &Alignment) -> Vec<Self> {
        let last = alignment.common_ns(track.end_ns());
        let mut all: Vec<Down<'a>> = Vec::new();
        for event in &track.events {
            let at = alignment.common_ns(event.at_ns);
            match &event.what {
                What::LinkDown { peer, cause } => {
                    let (thread, cause) = (event.thread, cause.as_str());
                    all.push(Down { peer: *peer, thread, from: at, to: last.max(at), cause, end: End::Open });
                }
                What::LinkUp { peer, again } => {
                    let down = all.iter_mut().rev().find(|down| down.peer == *peer && down.end == End::Open);
                    if let Some(down) = down {
                        (down.to, down.end) = (at.max(down.from), again.map_or(End::Lost, End::Resumed));
                    }
                }
                _ => {}
            }
        }
        all
    }
}
