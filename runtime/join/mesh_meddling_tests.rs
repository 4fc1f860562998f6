//! Somebody without the key between a rank and the rendezvous, who understands what he reads: he has no word in it.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::proxy_tests::{config, here, on_runtime, serve, settings};
use super::*;
use crate::join::events::Settings;
use crate::wire::handshake::{CHALLENGE_BYTES, HELLO_BYTES, READY_BYTES, RESPONSE_BYTES};
use crate::wire::seal::TAG_BYTES;

/// What somebody without the key, between rank 1 and the rendezvous, does to a control frame.
#[derive(Clone, Copy, Debug)]
enum Meddling {
    Nothing,
    /// Changes a bit of this byte.
    Flip(usize),
    /// Says other words of the same kind, with the tag of those that were said.
    Rewrite,
    /// Says something of his own before it.
    Inject,
    Repeat,
    /// Half a second later.
    RepeatLater,
    LeaveOut,
    Shorten,
    /// Lets the next frame go first.
    Swap,
    /// Sends the other direction's last frame back.
    Reflect,
}

/// Which message of one direction, from 0 on.
type ReceiveBuffer = (bool, usize);

/// Words that nobody has said: an address where nobody is, a lost rank, the end of the job.
const FORGED: [(bool, &str); 6] = [
    (true, r#"{"Join":{"address":"127.0.0.9:9","process":1,"version":"forged"}}"#),
    (true, r#"{"Leaving":{"finalized":false,"error":"forged","blames":null}}"#),
    (true, r#"{"Leaving":{"finalized":true,"error":null,"blames":null}}"#),
    (false, r#"{"Table":{"addresses":["127.0.0.9:9","127.0.0.9:9"],"incarnations":[1,2],"launcher":true}}"#),
    (false, r#"{"Lost":{"rank":0,"cause":"forged"}}"#),
    (false, r#"{"Refused":{"cause":"forged"}}"#),
];

/// The frames of somebody who can count, but has no key.
fn forged(is_report: bool, tag: &[u8]) -> Vec<Vec<u8>> {
    let words = FORGED.iter().filter(|(of_rank, _)| *of_rank == is_report);
    words.map(|(_, text)| [&(text.len() as u32).to_le_bytes(), text.as_bytes(), tag].concat()).collect()
}

/// What becomes of `frame`, followed by `next` if that is wanted.
fn meddled(what: Meddling, is_report: bool, frame: &[u8], other: &[u8]) -> Vec<Vec<u8>> {
    let (whole, tag) = (frame.to_vec(), &frame[frame.len() - TAG_BYTES..]);
    match what {
        Meddling::Nothing | Meddling::Swap | Meddling::RepeatLater => vec![whole],
        Meddling::Flip(at) => {
            let mut changed = whole;
            // A smaller length: a larger one is no more than a delay.
            let bit = if at == 0 { changed[0].trailing_zeros() as usize } else { at % 8 };
            changed[at] ^= 1 << bit;
            vec![changed]
        }
        Meddling::Rewrite => vec![forged(is_report, tag).swap_remove(0)],
        Meddling::Inject => forged(is_report, tag).into_iter().chain([whole]).collect(),
        Meddling::Repeat => vec![whole.clone(), whole],
        Meddling::LeaveOut => Vec::new(),
        Meddling::Shorten => {
            let shorter = (frame.len() - 4 - TAG_BYTES - 1) as u32;
            vec![[&shorter.to_le_bytes(), &frame[4..]].concat()]
        }
        Meddling::Reflect => vec![other.to_vec(), whole],
    }
}

/// Passes a control connection on, and meddles with one of its frames.
async fn meddle(listener: TcpListener, target: SocketAddr, place: ReceiveBuffer, what: Meddling) {
    let (near, _) = listener.accept().await.unwrap();
    let far = TcpStream::connect(target).await.unwrap();
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let last: [Arc<parking_lot::Mutex<Vec<u8>>>; 2] = Default::default();
    let (dialer, acceptor) = ([HELLO_BYTES, RESPONSE_BYTES], [CHALLENGE_BYTES, READY_BYTES]);
    for (is_report, passes, mut from, mut to) in [(true, dialer, near_in, far_out), (false, acceptor, far_in, near_out)]
    {
        let last = last.clone();
        tokio::spawn(async move {
            for pass in passes {
                let mut bytes = vec![0; pass];
                from.read_exact(&mut bytes).await?;
                to.write_all(&bytes).await?;
            }
            let mut held = Vec::new();
            let mut index = 0;
            loop {
                let mut prefix = [0; 4];
                from.read_exact(&mut prefix).await?;
                let mut frame = vec![0; 4 + u32::from_le_bytes(prefix) as usize + TAG_BYTES];
                frame[..4].copy_from_slice(&prefix);
                from.read_exact(&mut frame[4..]).await?;
                // Acknowledgements come when they come, and are not counted.
                let is_message = frame[4] != 6;
                let is_meant = is_message && (is_report, index) == place;
                index += usize::from(is_message);
                let what = if is_meant { what } else { Meddling::Nothing };
                let other = last[usize::from(!is_report)].lock().clone();
                last[usize::from(is_report)].lock().clone_from(&frame);
                if matches!(what, Meddling::Swap) {
                    held = frame;
                    continue;
                }
                for frame in meddled(what, is_report, &frame, &other).into_iter().chain([std::mem::take(&mut held)]) {
                    to.write_all(&frame).await?;
                }
                if matches!(what, Meddling::RepeatLater) {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    to.write_all(&frame).await?;
                }
            }
            #[allow(unreachable_code, reason = "names the type of the errors")]
            io::Result::Ok(())
        });
    }
}

/// What the two ranks of a job hear while somebody meddles: their errors as they join, or rank 0's next notice and why rank 1
/// has no more.
#[derive(Debug)]
struct Heard {
    texts: Vec<String>,
    has_joined: bool,
}

/// Frames of rank 1: Join, Moving, Stalled, Moving; to it: the table, and that rank 0 is lost.
async fn job_with(place: ReceiveBuffer, what: Meddling) -> Heard {
    use crate::join::control::Snapshot;
    let ((listener, root), (front, by_way)) = (here().await, here().await);
    let served = serve(listener, Settings { join_timeout: Duration::from_secs(2), ..settings(2) });
    tokio::spawn(meddle(front, root, place, what));
    let configs = [config(0, root, false), config(1, by_way, false)];
    let (a, b) = tokio::join!(join(&configs[0]), join(&configs[1]));
    let heard = match (a, b) {
        (Ok(a), Ok(b)) => {
            let (mut a, mut b) = (a.control.unwrap(), b.control.unwrap());
            for report in [Report::Moving, Report::Stalled(Snapshot::default()), Report::Moving] {
                b.sender().send(report).await.unwrap();
            }
            let mut texts = Vec::new();
            if place.0 {
                let notice = timeout(Duration::from_secs(20), a.notices.recv()).await.expect("rank 0 hears of it");
                texts.push(format!("{notice:?}"));
            } else {
                let words = "words\x1b[2J of rank 0".to_owned();
                let last = Report::Leaving { finalized: false, error: Some(words), blames: None, sent: vec![] };
                a.leave(Some(last), Duration::from_secs(20)).await;
                while let Some(notice) = timeout(Duration::from_secs(20), b.notices.recv()).await.expect("it hears") {
                    texts.push(format!("{notice:?}"));
                    if matches!(what, Meddling::Nothing) {
                        break;
                    }
                }
                texts.extend(b.forged().map(str::to_owned));
            }
            Heard { texts, has_joined: true }
        }
        (a, b) => {
            let texts =
                [a, b].map(|joined| joined.map(|_| "joined").map_or_else(|error| error.to_string(), str::to_owned));
            Heard { texts: texts.to_vec(), has_joined: false }
        }
    };
    served.abort();
    heard
}

#[test]
fn nobody_without_the_key_has_a_word_between_a_rank_and_the_rendezvous() {
    on_runtime(async {
        let calm = job_with((false, 9), Meddling::Nothing).await;
        assert!(calm.texts.iter().any(|text| text.contains("words\\\\u{1b}[2J of rank 0")), "{calm:?}");
        let reports = (0..3).map(|index| (true, index));
        let notices = (0..2).map(|index| (false, index));
        let mut count = 0;
        for place in reports.chain(notices) {
            let all = [
                Meddling::Rewrite,
                Meddling::Inject,
                Meddling::Repeat,
                Meddling::LeaveOut,
                Meddling::Shorten,
                Meddling::Swap,
                Meddling::Reflect,
            ];
            // "Moving" is short enough to try every byte.
            let flips = (4..if place == (true, 1) { 4 + 8 + TAG_BYTES } else { 4 }).chain([0]).map(Meddling::Flip);
            for what in all.into_iter().chain(flips) {
                // Nothing follows that would show it: a frame that is held back is as good as a slow one.
                let is_last = matches!(what, Meddling::LeaveOut | Meddling::Swap) && (!place.0 || place.1 == 0);
                // Before Join there is nothing to send back.
                if is_last || matches!((what, place), (Meddling::Reflect, (true, 0))) {
                    continue;
                }
                let heard = job_with(place, what).await;
                let text = format!("{:?}", heard.texts);
                assert!(text.contains("changed on its way"), "{place:?} {what:?}: {heard:?}");
                assert!(!text.contains("forged") && !text.contains("127.0.0.9"), "{place:?} {what:?}: {heard:?}");
                count += 1;
            }
        }
        println!("{count} manipulations");
    });
}

/// Without what would show it, the job ends as it would on a network that loses everything.
#[test]
fn a_join_that_is_held_back_is_named() {
    on_runtime(async {
        let heard = job_with((true, 0), Meddling::LeaveOut).await;
        assert!(!heard.has_joined, "{heard:?}");
        assert!(heard.texts.iter().all(|text| text.contains("rank 1 of 2 did not join")), "{heard:?}");
    });
}

/// The program is told what has ended its job, on both ranks.
#[test]
fn a_running_job_that_is_meddled_with_ends_with_a_name_for_it() {
    on_runtime(async {
        let ((listener, root), (front, by_way)) = (here().await, here().await);
        let served = serve(listener, settings(2));
        tokio::spawn(meddle(front, root, (false, 0), Meddling::RepeatLater));
        let rank = |rank: u32, root| {
            let config = config(rank, root, false);
            tokio::task::spawn_blocking(move || {
                let node = crate::init_with(config).unwrap();
                let error = node.initread(1 - rank, 1, vec![0u8]).unwrap().wait().unwrap_err();
                (error.blames(), error.to_string())
            })
        };
        let (a, b) = tokio::join!(rank(0, root), rank(1, by_way));
        for (blames, text) in [a.unwrap(), b.unwrap()] {
            assert!(blames == Some(Rank(1)) && text.contains("what the rendezvous said cannot be trusted"), "{text}");
            assert!(text.contains("it was changed on its way"), "{text}");
        }
        served.abort();
    });
}
