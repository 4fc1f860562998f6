//! One clock for all ranks: that of the lowest rank there is. Pure.
//!
//! Nodes on one machine read the same clock, and their files say what it showed when theirs began. Between machines
//! the differences that nodes have measured are added up along the path with the least error.

use std::collections::HashMap;

use super::super::event::What;
use super::super::offset::Offset;
use super::track::Track;

/// Comparisons so far apart show how clocks drift.
const DRIFT_SPAN_NS: u64 = 10_000_000_000;

/// How one rank's clock is turned into the common one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Alignment {
    /// The rank's clock minus the common one: at one moment of the rank's clock, and how that grows.
    at_ns: u64,
    offset_ns: f64,
    drift: f64,
    pub(super) how: How,
    /// It is wrong by no more, in nanoseconds.
    pub(super) error_ns: u64,
    /// The difference as it was measured, where it was and is not used.
    pub(super) measured: Option<Offset>,
}

/// Where an alignment comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// By nothing: no path of messages leads to the common clock.
    Unknown,
    /// The machine's clock is the same.
    Shared,
    /// By the minimum round trip.
    Measured,
}

impl How {
    pub(super) fn word(self) -> &'static str {
        match self {
            How::Unknown => "unknown",
            How::Shared => "same machine's clock",
            How::Measured => "minimum round trip",
        }
    }
}

impl Alignment {
    /// The common clock's nanoseconds.
    pub(super) fn common_ns(&self, at_ns: u64) -> i64 {
        let since_ns = at_ns as f64 - self.at_ns as f64;
        at_ns as i64 - (self.offset_ns + self.drift * since_ns).round() as i64
    }
}

/// What one rank knows of another's clock: its own minus that.
#[derive(Clone, Copy, Debug)]
struct Known {
    at_ns: u64,
    offset_ns: f64,
    drift: f64,
    error_ns: u64,
}

/// The alignment of each track to the first.
pub(super) fn align(tracks: &[Track]) -> Vec<Alignment> {
    let measured = measured(tracks);
    let Some(first) = tracks.first() else { return Vec::new() };
    let align = |(track, measured): (&Track, Option<Known>)| {
        let is_first = track.head.rank == first.head.rank;
        let is_shared = is_first || (track.head.boot.is_some() && track.head.boot == first.head.boot);
        let as_offset = |known: Known| Offset { ns: known.offset_ns.round() as i64, error_ns: known.error_ns };
        let (at_ns, offset_ns, drift, how, error_ns) = match measured {
            _ if is_shared => {
                // A clock that began later shows less.
                (0, first.head.began_ns as f64 - track.head.began_ns as f64, 0.0, How::Shared, 0)
            }
            Some(known) => (known.at_ns, known.offset_ns, known.drift, How::Measured, known.error_ns),
            None => (0, 0.0, 0.0, How::Unknown, 0),
        };
        let measured = measured.filter(|_| is_shared && !is_first).map(as_offset);
        Alignment { at_ns, offset_ns, drift, how, error_ns, measured }
    };
    tracks.iter().zip(measured).map(align).collect()
}

/// The differences to the first track's clock, along the paths with the least error.
fn measured(tracks: &[Track]) -> Vec<Option<Known>> {
    let links: Vec<HashMap<u32, Known>> = tracks.iter().map(known).collect();
    let mut found: Vec<Option<Known>> = vec![None; tracks.len()];
    let mut settled = vec![false; tracks.len()];
    if let Some(first) = found.first_mut() {
        *first = Some(Known { at_ns: 0, offset_ns: 0.0, drift: 0.0, error_ns: 0 });
    }
    loop {
        let open = (0..tracks.len()).filter(|at| !settled[*at]).filter_map(|at| Some((at, found[at]?)));
        let Some((near, base)) = open.min_by_key(|(_, known)| known.error_ns) else { return found };
        settled[near] = true;
        for (far, links) in links.iter().enumerate() {
            let Some(link) = links.get(&tracks[near].head.rank.0).filter(|_| !settled[far]) else { continue };
            // Moments are those of the far clock; drift is far too small for it to matter which.
            let through = Known {
                at_ns: link.at_ns,
                offset_ns: link.offset_ns + base.offset_ns,
                drift: link.drift + base.drift,
                error_ns: link.error_ns + base.error_ns,
            };
            if found[far].is_none_or(|known| through.error_ns < known.error_ns) {
                found[far] = Some(through);
            }
        }
    }
}

/// What a rank has learnt of each peer's clock.
fn known(track: &Track) -> HashMap<u32, Known> {
    let mut compared: HashMap<u32, Vec<(u64, Offset)>> = HashMap::new();
    for event in &track.events {
        if let What::Clock { peer, offset } = event.what {
            compared.entry(peer.0).or_default().push((event.at_ns, offset));
        }
    }
    let best = |all: &[(u64, Offset)]| all.iter().copied().min_by_key(|(_, offset)| offset.error_ns);
    let of_peer = |(peer, all): (u32, Vec<(u64, Offset)>)| {
        let (at_ns, offset) = best(&all)?;
        let known = Known { at_ns, offset_ns: offset.ns as f64, drift: 0.0, error_ns: offset.error_ns };
        let (first, last) = (all.first()?.0, all.last()?.0);
        if last - first < DRIFT_SPAN_NS {
            return Some((peer, known));
        }
        let third = (last - first) / 3;
        let early: Vec<_> = all.iter().copied().filter(|(at, _)| *at <= first + third).collect();
        let late: Vec<_> = all.iter().copied().filter(|(at, _)| *at >= last - third).collect();
        let ((from, a), (to, b)) = (best(&early)?, best(&late)?);
        let drift = (b.ns - a.ns) as f64 / (to - from) as f64;
        let error_ns = a.error_ns.max(b.error_ns);
        Some((peer, Known { at_ns: from, offset_ns: a.ns as f64, drift, error_ns }))
    };
    compared.into_iter().filter_map(of_peer).collect()
}
