//! Cuts at the end of a job: at every byte of the last words.

use std::time::Duration;

use lathide::{Config, Error, Node, Overlap, Result};

use super::proxy::{Contact, Fault, Net, Plan};
use crate::scale::is_whole;
use crate::support::job_at;

/// The handshake of a link; what follows is the program's, and the end.
const HANDSHAKE: [u64; 2] = [92 + 41, 103 + 40 + 32];

/// Two words each way, and the end.
fn program(node: Node) -> Result<()> {
    let peer = 1 - node.rank().0;
    for number in 0..2u8 {
        let read = node.initread(peer, 1, vec![0u8; 5])?;
        drop(node.initwrite(peer, 1, vec![number; 5])?);
        assert_eq!(read.wait()?, [number; 5]);
    }
    // Nobody waits for this one but finalize.
    let last = node.initread(peer, 2, vec![0u8; 700])?;
    drop(node.initwrite(peer, 2, vec![7u8; 700])?);
    assert_eq!(last.wait()?, [7; 700]);
    node.finalize()
}

fn job(overlap: Overlap, script: impl Fn(Contact) -> Plan + Send + Sync + 'static) -> (Vec<Result<()>>, u64, u64) {
    let net = Net::start(2, script);
    let configure = move |config: &mut Config| {
        config.overlap = overlap;
        // Else collectives of its own find out what links cost.
        config.calibrate = false;
        config.resume = Some(Duration::from_secs(10));
    };
    let ends = job_at(net.root.clone(), Duration::from_secs(60), 2, configure, program);
    let bytes = net.tally.bytes.load(std::sync::atomic::Ordering::Relaxed);
    (ends, net.tally.cuts(), bytes)
}

#[test]
fn a_cut_at_any_byte_of_the_end_is_no_failure() {
    let (ends, _, bytes) = job(Overlap::On, |_| Plan::open());
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    let (mut cuts, mut jobs, mut errors) = (0, 0, Vec::new());
    let faults = [
        Fault::Reset,
        Fault::Close,
        Fault::Late { is_dialer: true, by: Duration::from_millis(50) },
        Fault::Hole(Duration::from_millis(20)),
        Fault::Late { is_dialer: false, by: Duration::from_millis(50) },
        Fault::HalfClose(Duration::from_millis(20)),
    ];
    let step = if is_whole() { 3 } else { 29 };
    for of_dialer in [false, true] {
        let from = HANDSHAKE[usize::from(of_dialer)];
        // What one way has, and a little more.
        for after in (from..bytes / 2 + 100).step_by(step) {
            let fault = faults[jobs % faults.len()];
            let overlap = if jobs % 5 == 4 { Overlap::Off } else { Overlap::On };
            let script = move |contact: Contact| match contact.number {
                0 => Plan::strike(fault, of_dialer, after),
                // And again, now and then, where the last words are said once more.
                1 if after % 4 == 0 => Plan::strike(Fault::Reset, !of_dialer, 150 + after % 200),
                _ => Plan::open(),
            };
            let (ends, of_job, _) = job(overlap, script);
            (cuts, jobs) = (cuts + of_job, jobs + 1);
            for (rank, end) in ends.into_iter().enumerate() {
                let Err(error) = end else { continue };
                assert!(matches!(error, Error::PeerLost { .. }), "{error}");
                errors.push(format!(
                    "{fault:?} after {after} bytes of the dialer {of_dialer}, {overlap:?}: rank {rank}: {error}"
                ));
            }
        }
    }
    println!("{jobs} jobs, {cuts} cuts, {} errors", errors.len());
    assert!(errors.is_empty(), "{errors:#?}");
}
