//! The set-up of every host of a job, gathered by its ranks.

use std::time::Instant;

use lathide::{Node, Tag};

use super::{HostSetup, Placed};
use crate::commands::common::clock::boot;
use crate::launch::failed::Result;

const SETUP: Tag = Tag((1 << 20) + 1);
const PING: Tag = Tag((1 << 20) + 2);
/// No set-up is longer.
const SETUP_BYTES: usize = 16 << 10;
const ROUND_TRIPS: usize = 3;
/// Stands for no core of its own.
const ANY: f64 = -1.0;

/// All hosts, by their first ranks. Every rank calls it, with the core that its program keeps to; rank 0 gets them.
///
/// # Errors
/// What the messages end with.
pub(crate) fn gather(node: &Node, core: Option<usize>) -> Result<Vec<HostSetup>> {
    let own = vec![boot(), core.map_or(ANY, |core| core as f64)];
    let all = node.allgather(own)?;
    let places: Vec<(f64, Option<usize>)> =
        all.chunks_exact(2).map(|of| (of[0], (of[1] >= 0.0).then_some(of[1] as usize))).collect();
    let mut hosts = Vec::new();
    for (first, ranks) in by_host(&places) {
        // Of rank 0's host another rank, if it has one, shows the way.
        let far = if first == 0 { ranks.get(1).map(|placed| placed.rank) } else { Some(first) };
        if node.rank() == 0 {
            let setup = if first == 0 { HostSetup::here() } else { received(node, first)? };
            let round_trip_s = far.map(|rank| ping(node, rank)).transpose()?;
            hosts.push(HostSetup { ranks, round_trip_s, ..setup });
            continue;
        }
        if node.rank() == first {
            let mut bytes = serde_json::to_vec(&HostSetup::here())?;
            bytes.truncate(SETUP_BYTES);
            node.initwrite(0, SETUP, bytes)?.wait()?;
        }
        if far.is_some_and(|rank| node.rank() == rank) {
            answer(node)?;
        }
    }
    Ok(hosts)
}

/// The first rank of each host, with all of its ranks.
fn by_host(places: &[(f64, Option<usize>)]) -> Vec<(u32, Vec<Placed>)> {
    let mut hosts: Vec<(f64, u32, Vec<Placed>)> = Vec::new();
    for (rank, (boot, core)) in (0..).zip(places) {
        let placed = Placed { rank, core: *core };
        match hosts.iter_mut().find(|(known, ..)| known == boot) {
            Some((.., ranks)) => ranks.push(placed),
            None => hosts.push((*boot, rank, vec![placed])),
        }
    }
    hosts.into_iter().map(|(_, first, ranks)| (first, ranks)).collect()
}

fn received(node: &Node, rank: u32) -> Result<HostSetup> {
    let bytes = node.initread(rank, SETUP, vec![0_u8; SETUP_BYTES])?.wait()?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// The quickest round trip of 8 bytes to this rank, in seconds.
fn ping(node: &Node, rank: u32) -> Result<f64> {
    let mut least_s = f64::MAX;
    for _ in 0..ROUND_TRIPS {
        let back = node.initread(rank, PING, vec![0.0_f64])?;
        let began = Instant::now();
        node.initwrite(rank, PING, vec![0.0_f64])?.wait()?;
        back.wait()?;
        least_s = least_s.min(began.elapsed().as_secs_f64());
    }
    Ok(least_s)
}

fn answer(node: &Node) -> Result<()> {
    for _ in 0..ROUND_TRIPS {
        let heard = node.initread(0, PING, vec![0.0_f64])?.wait()?;
        node.initwrite(0, PING, heard)?.wait()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_put_together_by_host() {
        let hosts = by_host(&[(7.0, Some(0)), (9.0, None), (7.0, Some(1))]);
        let placed = |rank, core| Placed { rank, core };
        assert_eq!(hosts, [(0, vec![placed(0, Some(0)), placed(2, Some(1))]), (1, vec![placed(1, None)])]);
        assert!(by_host(&[]).is_empty());
    }
}
