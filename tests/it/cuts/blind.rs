//! Deferred mode: while a rank computes, nobody reads its links.

use std::time::Duration;

use lathide::{Config, Overlap};

use super::proxy::{Fault, Net, Plan};
use crate::support::job_at;

/// Both ends lose their connection while the one that has to dial again computes, for longer than a link may be down.
#[test]
fn a_rank_that_computes_in_deferred_mode_dials_again() {
    for keepalive in [Some(Duration::from_secs(1)), None] {
        let net = Net::start(2, |_| Plan::open());
        let configure = move |config: &mut Config| {
            config.overlap = Overlap::Off;
            (config.keepalive, config.resume) = (keepalive, Some(Duration::from_secs(4)));
        };
        let (root, net) = (net.root.clone(), std::sync::Arc::new(net));
        job_at(root, Duration::from_secs(60), 2, configure, move |node| {
            node.barrier().unwrap();
            if node.rank() == 0 {
                net.cut_all();
                // As if it computed.
                std::thread::sleep(Duration::from_secs(8));
                node.initwrite(1, 1, vec![7u8; 100_000]).unwrap().wait().unwrap();
            } else {
                let read = node.initread(0, 1, vec![0u8; 100_000]).unwrap();
                assert_eq!(read.wait().unwrap_or_else(|error| panic!("{keepalive:?}: {error}")), vec![7; 100_000]);
            }
            node.finalize().unwrap();
        });
    }
}

/// A connection that breaks when only its dialer takes it for open: whoever does not wait would not notice.
#[test]
fn all_join_in_deferred_mode_though_a_handshakes_last_word_is_lost() {
    // All of what a dialer says but for OPEN, and a little of that.
    const BEFORE_OPEN: u64 = 103 + 40;
    let late = Fault::Late { is_dialer: true, by: Duration::from_millis(100) };
    let net = Net::start(3, move |contact| match contact.number {
        0 => Plan::strike(late, true, BEFORE_OPEN + 5),
        _ => Plan::open(),
    });
    let configure = |config: &mut Config| config.overlap = Overlap::Off;
    job_at(net.root.clone(), Duration::from_secs(60), 3, configure, |node| {
        node.barrier().unwrap();
        node.finalize().unwrap();
    });
    assert_eq!(net.tally.cuts(), 3);
}
