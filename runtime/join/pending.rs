//! Connections that are not authenticated yet: how many there may be, and which one makes room for another.
//!
//! Whoever can reach the port can open as many as he likes. When there are too many, the source address that has most of them
//! loses one, at random: strangers elsewhere cannot touch a rank's connection, and among those of one address a rank's gets
//! through with a probability that does not depend on who came first; it dials again otherwise. One that has proved
//! itself is never dropped.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::AbortHandle;

/// The least room there is, and that beside what the job's own ranks can need at one time.
const PENDING_MIN: usize = 64;
const BESIDE: usize = 32;

/// How many connections may be unauthenticated at a time in a job of this size: every rank may dial at once, and again while its
/// earlier connection is not given up yet.
pub(super) fn most(size: u32) -> usize {
    PENDING_MIN.max(2 * size as usize + BESIDE)
}

/// Whether a connection is authenticated.
#[derive(Clone, Default)]
pub(super) struct Authentication(Arc<AtomicBool>);

impl Authentication {
    /// It has.
    pub(super) fn is_given(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The connections that are not authenticated.
pub(super) struct Pending {
    most: usize,
    entries: Vec<Entry>,
}

struct Entry {
    source: IpAddr,
    response: Authentication,
    task: AbortHandle,
}

impl Pending {
    pub(super) fn new(most: usize) -> Self {
        Pending { most, entries: Vec::new() }
    }

    /// Takes one more, and drops one if there are too many.
    pub(super) fn add(&mut self, from: IpAddr, response: Authentication, task: AbortHandle) {
        self.entries.retain(Entry::is_pending);
        self.entries.push(Entry { source: source(from), response, task });
        if self.entries.len() > self.most {
            self.evict();
        }
    }

    /// Drops one. Returns whether there was any.
    pub(super) fn evict(&mut self) -> bool {
        self.entries.retain(Entry::is_pending);
        let sources: Vec<IpAddr> = self.entries.iter().map(|entry| entry.source).collect();
        // Without random numbers no nonce can be made either, and nobody gets in.
        let Some(victim) = victim(&sources, getrandom::u64().unwrap_or(0)) else { return false };
        self.entries.swap_remove(victim).task.abort();
        true
    }
}

impl Entry {
    fn is_pending(&self) -> bool {
        !self.task.is_finished() && !self.response.0.load(Ordering::Relaxed)
    }
}

/// What counts as one source: an address; of version 6 all that one network can take for itself.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

/// One of the source that has most.
fn victim(sources: &[IpAddr], random: u64) -> Option<usize> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for source in sources {
        *counts.entry(*source).or_default() += 1;
    }
    let most = *counts.values().max()?;
    let candidates: Vec<usize> = (0..sources.len()).filter(|&at| counts[&sources[at]] == most).collect();
    Some(candidates[(random % candidates.len() as u64) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| source(text.parse().unwrap())).collect()
    }

    #[test]
    fn the_source_that_has_most_loses_one_whichever() {
        let all = addresses(&["10.0.0.1", "10.0.0.9", "10.0.0.9", "10.0.0.2", "::ffff:10.0.0.9", "10.0.0.1"]);
        let mut hit = [0; 6];
        for random in 0..300 {
            hit[victim(&all, random).unwrap()] += 1;
        }
        assert_eq!(hit, [0, 100, 100, 0, 100, 0]);
        assert_eq!(victim(&[], 5), None);
    }

    #[test]
    fn an_ipv6_network_is_one_source() {
        let all = addresses(&["2001:db8::1", "2001:db8::2:0:0:7", "2001:db8:0:1::1", "fe80::1"]);
        assert_eq!(all[0], all[1]);
        assert!(all[1] != all[2] && all[2] != all[3]);
    }

    #[test]
    fn a_job_never_crowds_itself_out() {
        for size in [1, 2, 64, 128, 1000] {
            assert!(most(size) > 2 * (size as usize - 1) && most(size) >= 64);
        }
    }

    #[test]
    fn who_has_proved_itself_is_not_dropped() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut pending = Pending::new(3);
            let rank = tokio::spawn(std::future::pending::<()>());
            let response = Authentication::default();
            let address: IpAddr = "10.0.0.1".parse().unwrap();
            pending.add(address, response.clone(), rank.abort_handle());
            response.is_given();
            let strangers: Vec<_> = (0..1000).map(|_| tokio::spawn(std::future::pending::<()>())).collect();
            for stranger in &strangers {
                pending.add(address, Authentication::default(), stranger.abort_handle());
            }
            let left = || strangers.iter().filter(|stranger| !stranger.is_finished()).count();
            // The runtime takes some turns to end so many; then some more, in which no other may end.
            let turns = async |most| {
                let mut more = 100;
                while more > 0 {
                    tokio::task::yield_now().await;
                    more -= u32::from(left() <= most);
                }
            };
            turns(3).await;
            assert_eq!((rank.is_finished(), left()), (false, 3));
            while pending.evict() {}
            turns(0).await;
            assert_eq!((rank.is_finished(), left()), (false, 0));
        });
    }
}
