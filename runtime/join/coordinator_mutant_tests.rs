//! Ranks that say anything to the rendezvous: reports that are almost right, in any order. Nothing panics, all that is passed on
//! fits a frame, and a rank speaks for itself only.

use std::sync::LazyLock;

use super::*;
use crate::chance::Chance;
use crate::config::Key;
use crate::ids::Tag;
use crate::join::control::{Outstanding, Unread, notice_frame};
use crate::join::framing;
use crate::mutant;
use crate::operation::OperationKind;

const SIZE: u32 = 3;
const CONTACT: Contact = Contact { incarnation: 1, epoch: 1 };
/// Seeds, at scale 1.
const RUNS: u64 = 100_000;
/// Text for people: 64 lines, each with words of the longest.
const SHOWN_BYTES_MAX: usize = 4 << 20;

const OBSERVED: &str = r#"{"Observed":{"rank":1,"size":3,"overlap":true,"elapsed_s":1.5,"threads":2,"t_calc_s":1.0,
    "t_post_s":0.1,"t_wait_s":0.2,"t_exposed_s":0.1,"t_com_s":0.5,"links":[{"peer":2,"messages_sent":5,"bytes_sent":9,
    "messages_received":5,"bytes_received":9,"sizes":[{"bytes":8,"samples":3,"median_s":1e-5,"min_s":1e-6,"max_s":1e-4}]}],
    "advice":{"limit":"partners","words":"post earlier","figures":[]},"notes":["none"]}}"#;

/// What ranks may say.
static SAID: LazyLock<Vec<String>> = LazyLock::new(|| {
    let outstanding = |kind, peer| Outstanding {
        kind,
        peer: Rank(peer),
        tag: Some(Tag(7)),
        bytes: 4096,
        done: 12,
        since_s: 1.25,
        state: "no message of this tag has come".to_owned(),
    };
    let snapshot = |peer| Snapshot {
        outstanding: vec![outstanding(OperationKind::Read, peer), outstanding(OperationKind::Write, peer)],
        unread: vec![Unread { from: Rank(peer), tag: Tag(8), count: 3 }],
        waits: vec![vec![Rank(peer)]],
        certain: true,
        sent: vec![0, 5, 5],
        received: vec![0, 5, 5],
    };
    let cores = Box::new(Cores { host: "a".to_owned(), mask: vec![15, 1], at_once: 4 });
    let keepalive = Some(Duration::from_millis(1500));
    let reports = [
        Report::Join {
            address: "127.0.0.1:80".parse().unwrap(),
            process: 9,
            version: "1".to_owned(),
            keepalive,
            resume: None,
            cores,
        },
        Report::Stalled(snapshot(1)),
        Report::Stalled(snapshot(2)),
        Report::Stalled(snapshot(0)),
        Report::Shows(snapshot(1)),
        Report::Moving,
        Report::Leaving { finalized: true, error: None, blames: None, sent: vec![0, 5, 5] },
        Report::Leaving {
            finalized: false,
            error: Some("it \"failed\"".to_owned()),
            blames: Some(Rank(2)),
            sent: vec![],
        },
    ];
    let mut said: Vec<String> = reports.iter().map(|report| serde_json::to_string(report).unwrap()).collect();
    said.push(OBSERVED.to_owned());
    said
});

struct Heard {
    coordinator: Coordinator,
    notices: Vec<mpsc::Receiver<Notice>>,
    events: mpsc::Receiver<Event>,
}

impl Heard {
    /// A rendezvous to which all ranks have come.
    fn new() -> Self {
        let settings = Settings {
            size: SIZE,
            key: Key::from_bytes([1; 32]),
            join_timeout: Duration::from_secs(10),
            launcher: true,
            hosts: vec!["a".to_owned(); SIZE as usize],
            rewrite: None,
        };
        let (sender, events) = mpsc::channel(1000);
        let mut coordinator = Coordinator::new(settings, sender, mpsc::channel(1).0, JoinSet::new());
        let mut notices = Vec::new();
        for slot in &mut coordinator.slots {
            let (line, queue) = Answering::unanswered();
            notices.push(queue);
            *slot = Some(RankSlot::new(CONTACT, line));
        }
        Heard { coordinator, notices, events }
    }

    /// What has come of it.
    fn check(&mut self) {
        for queue in &mut self.notices {
            while let Ok(notice) = queue.try_recv() {
                notice_frame(notice).expect("a notice fits a frame");
            }
        }
        while let Ok(event) = self.events.try_recv() {
            match event {
                Event::Observed(rank, report) => assert!(report.rank == rank && rank.0 < SIZE),
                Event::JoinFailed(text) | Event::Deadlock(text) | Event::Stalled(text) | Event::Shown(text) => {
                    assert!(text.len() <= SHOWN_BYTES_MAX, "{} bytes", text.len());
                }
                Event::AllJoined(_) | Event::Left { .. } => {}
            }
        }
        assert!(self.coordinator.pending_failures.count() <= SIZE as usize);
    }
}

/// Returns whether most of what ranks have said was understood.
async fn run(chance: &mut Chance) -> bool {
    let corpus: Vec<&str> = SAID.iter().map(String::as_str).collect();
    let mut heard = Heard::new();
    let (mut now, mut understood, said) = (Instant::now(), 0, 1 + chance.below(14));
    let joins = chance.once_in(2);
    for at in 0..said {
        let rank = Rank(chance.below(SIZE));
        let text = match at {
            // All join, and the job begins.
            0..3 if joins => corpus[0].to_owned(),
            _ if chance.once_in(3) => chance.pick(&corpus).to_owned(),
            _ => mutant::text(chance, &corpus),
        };
        let rank = if joins && at < 3 { Rank(at) } else { rank };
        if let Ok(report) = framing::decode::<Report>(text.as_bytes()) {
            understood += 1;
            heard.coordinator.take(Input::Report(rank, CONTACT, Box::new(report))).await;
        }
        match chance.below(12u32) {
            0 => heard.coordinator.take(Input::Launcher(Order::Ask)).await,
            1 => heard.coordinator.take(Input::Closed(rank, CONTACT, "it is gone".to_owned())).await,
            2 => {
                now += Duration::from_millis(chance.below(20_000));
                heard.coordinator.look_at_clock(now).await;
            }
            _ => {}
        }
        heard.check();
    }
    2 * understood > said
}

#[test]
fn ranks_may_say_anything_to_the_rendezvous() {
    for text in SAID.iter() {
        framing::decode::<Report>(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    mutant::each_seed("ranks_may_say_anything_to_the_rendezvous", RUNS, |chance| runtime.block_on(run(chance)));
}

#[test]
fn notices_that_are_almost_right_are_errors_or_notices() {
    let table = Notice::Table {
        addresses: vec!["127.0.0.1:1".parse().unwrap(), "[::1]:65535".parse().unwrap()],
        incarnations: vec![1, u64::MAX],
        launcher: true,
        may_poll: vec![true, false],
        ranks_per_core: 1.5,
    };
    let lost = Notice::Lost { rank: Rank(1), cause: "it is gone".to_owned() };
    let said = [table, lost, Notice::Ask, Notice::Refused { cause: "no".to_owned() }];
    let said = said.map(|notice| serde_json::to_string(&notice).unwrap());
    let corpus = said.each_ref().map(String::as_str);
    mutant::each_seed("notices_that_are_almost_right_are_errors_or_notices", 10 * RUNS, |chance| {
        let text = mutant::text(chance, &corpus);
        match framing::decode::<Notice>(text.as_bytes()) {
            Ok(notice) => {
                if let Notice::Table { ranks_per_core, .. } = notice {
                    assert!(!ranks_per_core.is_nan());
                }
                true
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                false
            }
        }
    });
}

/// A rank has one report, whoever it says it is.
#[test]
fn a_rank_reports_for_itself_only() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut heard = Heard::new();
    for claimed in 0..50 {
        let text = OBSERVED.replace("\"rank\":1", &format!("\"rank\":{claimed}"));
        let report = framing::decode::<Report>(text.as_bytes()).unwrap();
        runtime.block_on(heard.coordinator.take(Input::Report(Rank(2), CONTACT, Box::new(report))));
        let Ok(Event::Observed(rank, report)) = heard.events.try_recv() else { panic!("it is passed on") };
        assert_eq!((rank, report.rank), (Rank(2), Rank(2)));
    }
}
