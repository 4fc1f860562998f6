//! Counters that begin near their turning points.

use crate::engine::Engine;
use crate::engine::outgoing::{BESIDE, Beside};
use crate::ids::Path;

/// Where the counters of a job's engines begin.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Starts {
    /// Frames of each direction of each link: both ends count alike.
    pub(crate) frames: u32,
    /// Bytes of each direction of each link, likewise.
    pub(crate) positions: u64,
    /// What each link may keep, if not as much as usual.
    pub(crate) bound: Option<u64>,
    /// How long messages go to peers that read beside, if they do.
    beside: Option<Beside>,
    /// Each engine's operations.
    pub(crate) ops: u64,
    /// Each sender's messages.
    pub(crate) message_ids: u64,
}

impl Starts {
    /// At zero, or a little before a power of two; `below` gives chance.
    pub(crate) fn random(below: &mut dyn FnMut(usize) -> usize) -> Self {
        let bound = [None, Some(1000), Some(4000), Some(20_000)][below(4)];
        let beside = [None, Some(Beside { from_bytes: 500, bound: 8000, call: 3000 }), Some(BESIDE)][below(3)];
        let mut before = |ends: &[u64]| match below(ends.len() + 1) {
            0 => 0,
            which => ends[which - 1] - below(12) as u64,
        };
        Starts {
            frames: before(&[u32::MAX.into()]) as u32,
            positions: before(&[u32::MAX.into(), 1 << 63, u64::MAX]),
            bound,
            beside,
            ops: before(&[u32::MAX.into(), 1 << 63]),
            // The header carries 56 bits.
            message_ids: before(&[u32::MAX.into(), 1 << 48, (1 << 56) - (1 << 20)]),
        }
    }
}

impl Engine {
    /// The same for a lane that has just been opened.
    pub(crate) fn begin_lane_at(&mut self, path: Path, starts: Starts) {
        let link = &mut self.links[path.peer.index()];
        let Some(lane) = link.lane(path) else { return };
        link.lanes[lane].parser.number = starts.frames;
        let state = &mut link.outgoing.lanes[lane];
        state.number = starts.frames;
        state.begin_at(starts.positions);
        if let Some(bound) = starts.bound {
            state.retention.force_bound(bound);
            state.acknowledgement.set_at_once(bound / 4);
        }
    }

    /// Has the counters begin at `starts`; nothing has been posted yet.
    pub(crate) fn begin_at(&mut self, starts: Starts) {
        self.next_op = starts.ops;
        for link in &mut self.links {
            link.next_own_slot = starts.message_ids;
            link.outgoing.next_message_id = starts.message_ids;
            link.outgoing.number = starts.frames;
            link.parser.as_mut().expect("nothing is read now").number = starts.frames;
            link.outgoing.begin_at(starts.positions);
            if let Some(bound) = starts.bound {
                link.outgoing.retention.force_bound(bound);
                link.outgoing.acknowledgement.set_at_once(bound / 4);
            }
            if let Some(how) = starts.beside {
                link.outgoing.retention.is_read_beside(how);
            }
        }
    }
}
