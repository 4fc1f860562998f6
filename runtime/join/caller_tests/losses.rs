//! Lines that are cut for a while, or for good: what is a delay, who is named as lost, and who of several first.

use super::*;

fn lost(notice: Option<Notice>) -> String {
    match notice {
        Some(Notice::Lost { rank: Rank(1), cause }) => cause,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_silence_shorter_than_the_time_to_resume_is_a_delay() {
    on_runtime(async {
        for launcher in [false, true] {
            let (served, between, mut first, mut second) = pair(launcher, RESUME).await;
            between.is_open.send_replace(false);
            let address = "127.0.0.3:3".parse().unwrap();
            second.control.sender().send(Report::Moved { address }).await.unwrap();
            first.control.sender().send(Report::Moved { address }).await.unwrap();
            // Longer than a rank is looked for that has died, and than one attempt.
            tokio::time::sleep(Duration::from_millis(2500)).await;
            assert!(first.control.notices.try_recv().is_err() && second.control.notices.try_recv().is_err());
            between.is_open.send_replace(true);
            assert_eq!(first.control.notices.recv().await, Some(Notice::Moved { rank: Rank(1), address }));
            assert_eq!(second.control.notices.recv().await, Some(Notice::Moved { rank: Rank(0), address }));
            served.task.abort();
        }
    });
}

#[test]
fn a_silence_longer_than_the_time_to_resume_is_named_at_both_ends() {
    on_runtime(async {
        for launcher in [false, true] {
            let (served, between, mut first, mut second) = pair(launcher, Some(Duration::from_secs(2))).await;
            between.is_open.send_replace(false);
            let cause = lost(first.control.notices.recv().await);
            assert!(cause.contains("it did not come again for 2s (LATHIDE_RESUME)"), "{cause}");
            assert_eq!(second.control.notices.recv().await, None);
            let Some(Ended::Cut(why)) = second.control.ended() else { panic!("{:?}", second.control.ended()) };
            assert!(why.contains("could not be made again for 2s (LATHIDE_RESUME)"), "{why}");
            served.task.abort();
        }
    });
}

/// Of a rank that was cut, and one that leaves since it has lost it, the first is named first, however long it might have come back.
#[test]
fn a_rank_that_another_has_lost_too_is_named_before_that_one() {
    on_runtime(async {
        for launcher in [false, true] {
            let served = served(3, launcher).await;
            let between = Between::new(served.root, Vec::new()).await;
            let node = |rank, at| node(rank, 3, at, RESUME);
            let (mut first, mut cut, mut last) =
                tokio::join!(node(0, served.root), node(1, between.at), node(2, served.root));
            for node in [&mut first, &mut cut, &mut last] {
                assert!(matches!(node.control.notices.recv().await, Some(Notice::Table { .. })));
            }
            between.is_open.send_replace(false);
            // The rendezvous has seen it by then, also on a loaded machine.
            tokio::time::sleep(Duration::from_secs(2)).await;
            let (error, blames) = (Some("rank 1 is lost".to_owned()), Some(Rank(1)));
            first.control.leave(Some(Report::Leaving { finalized: false, error, blames, sent: vec![] }), LONG).await;
            let cause = lost(last.control.notices.recv().await);
            assert!(cause.contains("rank 0 has lost it, too"), "{cause}");
            let next = last.control.notices.recv().await;
            assert!(matches!(next, Some(Notice::Lost { rank: Rank(0), .. })), "{next:?}");
            served.task.abort();
        }
    });
}

/// A rank that comes back when it has been given up is told so.
#[test]
fn a_rank_that_was_given_up_is_not_taken_back() {
    on_runtime(async {
        let (served, between, mut first, mut second) = pair(true, RESUME).await;
        between.is_open.send_replace(false);
        let cause = "its host is gone".to_owned();
        // The connection's end comes first, or the launcher's word does.
        served.orders.send(Order::Lost { rank: Rank(1), cause: cause.clone(), in_peace: false }).await.unwrap();
        assert_eq!(lost(first.control.notices.recv().await), cause, "at once: the launcher knows");
        between.is_open.send_replace(true);
        while second.control.notices.recv().await.is_some() {}
        let Some(Ended::Unwanted(why)) = second.control.ended() else { panic!("{:?}", second.control.ended()) };
        assert!(why.contains("given up"), "{why}");
        served.task.abort();
    });
}

#[test]
fn without_time_to_resume_a_cut_ends_it_at_once() {
    on_runtime(async {
        let (served, between, mut first, mut second) = pair(false, None).await;
        between.is_open.send_replace(false);
        let cause = lost(first.control.notices.recv().await);
        assert!(cause.contains("its connection closed without a goodbye"), "{cause}");
        assert_eq!((second.control.notices.recv().await, second.control.ended()), (None, None));
        assert_eq!(between.connections(), 1, "nobody calls again");
        served.task.abort();
    });
}

/// Without a launcher's word: what tells a rank that has died from one that is cut off is that nobody listens any more.
#[test]
fn a_rank_that_has_died_is_named_long_before_the_time_to_resume_is_over() {
    on_runtime(async {
        for launcher in [false, true] {
            let (served, _between, mut first, second) = pair(launcher, RESUME).await;
            let began = Instant::now();
            drop(second);
            let cause = lost(first.control.notices.recv().await);
            assert!(cause.contains("was killed") && cause.contains("nothing listens at 127.0.0.1:"), "{cause}");
            assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
            println!("named after {:?}", began.elapsed());
            served.task.abort();
        }
    });
}

#[test]
fn a_rendezvous_that_has_died_is_missed_long_before_the_time_to_resume_is_over() {
    on_runtime(async {
        let (served, _between, mut first, _second) = pair(true, RESUME).await;
        let began = Instant::now();
        served.task.abort();
        assert_eq!((first.control.notices.recv().await, first.control.ended()), (None, None));
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        println!("missed after {:?}", began.elapsed());
    });
}

/// Rank 0 serves the rendezvous, and leaves first: nobody waits for what will not come back.
#[test]
fn a_rendezvous_that_ends_in_order_is_not_called_again() {
    on_runtime(async {
        let (served, between, first, mut second) = pair(false, RESUME).await;
        let last = || Some(Report::Leaving { finalized: true, error: None, blames: None, sent: vec![] });
        first.control.leave(last(), LONG).await;
        // What it said to the others goes on its way before its own leave has come back.
        tokio::time::sleep(Duration::from_millis(200)).await;
        served.task.abort();
        assert_eq!((second.control.notices.recv().await, second.control.ended()), (None, None));
        assert_eq!(between.connections(), 1, "nobody calls again");
    });
}
