//! What nodes see of themselves: reports, clocks, timelines.

use std::time::{Duration, Instant};

use lathide::observe::{Limit, Report};
use lathide::{Node, Result, Tag};

use crate::support::{job, job_within};

const HALO: Tag = Tag(1);

/// Keeps the processor busy.
fn compute(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Steps of version I.3 on a ring: read, write, compute, wait.
fn steps(node: &Node, count: usize, bytes: usize, work: Duration) -> Result<()> {
    let (left, right) = (node.rank().on_ring(-1, node.size()), node.rank().on_ring(1, node.size()));
    let (mut edge, mut ghost) = (vec![1u8; bytes], vec![0u8; bytes]);
    for _ in 0..count {
        let reading = node.initread(left, HALO, ghost)?;
        let writing = node.initwrite(right, HALO, edge)?;
        compute(work);
        edge = writing.wait()?;
        ghost = reading.wait()?;
    }
    Ok(())
}

#[test]
fn a_report_adds_up() {
    let reports: Vec<Report> = job(2, |node| {
        steps(&node, 40, 8, Duration::from_millis(2)).unwrap();
        steps(&node, 40, 20_000, Duration::from_millis(2)).unwrap();
        steps(&node, 40, 300_000, Duration::from_millis(2)).unwrap();
        let report = node.report();
        node.barrier().unwrap();
        node.finalize().unwrap();
        report
    });
    for report in reports {
        assert!(report.t_calc_s >= 0.24, "120 steps of 2 ms and more: {report:#?}");
        let sum_s = report.t_calc_s + report.t_post_s + report.t_wait_s;
        assert!(sum_s <= report.elapsed_s * 1.001, "{report:#?}");
        assert!(sum_s >= report.elapsed_s * 0.9, "one thread, always inside or outside: {report:#?}");
        assert!(report.f.unwrap() > 0.8, "nearly all is computed while messages are under way: {report:#?}");
        assert!(report.t_exposed_s <= report.t_wait_s && report.omega.unwrap() > 0.0, "{report:#?}");
        let [link] = &report.links[..] else { panic!("one peer: {report:#?}") };
        assert_eq!((link.messages_sent, link.bytes_sent), (120, 40 * 320_008), "{link:#?}");
        assert_eq!((link.messages_received, link.bytes_received), (120, 40 * 320_008), "{link:#?}");
        assert_eq!(link.sizes.len(), 3, "{link:#?}");
        let fit = link.hyperbolic.expect("sizes are far apart");
        assert!(fit.a_s > 0.0 && fit.a_s < 1.0 && fit.b_s_per_byte < 1e-5, "{fit:?}");
        assert!(report.gamma.unwrap() > 0.0 && (0.0..=1.0).contains(&report.hidden.unwrap()), "{report:#?}");
        assert!(report.gain_model.unwrap() > 0.0 && report.gain_observed.unwrap() > 0.0, "{report:#?}");
        assert!(report.to_string().contains("eq. (4)"), "{report}");
    }
}

#[test]
fn clocks_are_compared_within_their_bound() {
    let reports: Vec<(Report, Instant, Instant)> = job(2, |node| {
        steps(&node, 200, 8, Duration::ZERO).unwrap();
        let before = Instant::now();
        let report = node.report();
        let after = Instant::now();
        node.barrier().unwrap();
        (report, before, after)
    });
    let [(zero, zero_before, zero_after), (one, one_before, one_after)] = &reports[..] else { panic!("two ranks") };
    // Both clocks are the same one, begun at different moments: when each showed `elapsed_s` is known within a call.
    let apart = |a: &Instant, b: &Instant| if a > b { (*a - *b).as_secs_f64() } else { -(*b - *a).as_secs_f64() };
    let least = apart(one_before, zero_after) + zero.elapsed_s - one.elapsed_s;
    let most = apart(one_after, zero_before) + zero.elapsed_s - one.elapsed_s;
    let (offset, error) = (zero.links[0].clock_offset_s.unwrap(), zero.links[0].clock_error_s.unwrap());
    assert!(offset >= least - error && offset <= most + error, "{offset} within {error} is not in {least} .. {most}");
    let back = one.links[0].clock_offset_s.unwrap();
    assert!((offset + back).abs() <= error + one.links[0].clock_error_s.unwrap(), "{offset} {back}");
}

#[test]
fn a_partner_that_is_late_is_not_taken_for_a_slow_link() {
    let reports: Vec<Report> = job(2, |node| {
        for _ in 0..20 {
            steps(&node, 1, 8, Duration::from_millis(if node.rank() == 0 { 1 } else { 30 })).unwrap();
        }
        node.report()
    });
    assert_eq!(reports[0].advice.limit, Limit::Partners, "{:#?}", reports[0]);
    assert!(reports[0].t_wait_s > 5.0 * reports[0].t_exposed_s, "{:#?}", reports[0]);
}

#[test]
fn switched_off_nothing_is_observed() {
    let reports: Vec<Report> = job_within(
        Duration::from_secs(60),
        2,
        |config| config.observe = false,
        |node| {
            steps(&node, 10, 1000, Duration::ZERO).unwrap();
            node.report()
        },
    );
    for report in reports {
        assert_eq!((report.t_calc_s, report.t_wait_s, report.links.len()), (0.0, 0.0, 0), "{report:#?}");
        assert_eq!(report.advice.limit, Limit::Nothing);
    }
}

#[test]
fn one_that_observes_and_one_that_does_not_get_along() {
    let reports: Vec<Report> = job_within(
        Duration::from_secs(60),
        2,
        |config| config.observe = config.rank == 0,
        |node| {
            steps(&node, 50, 8, Duration::ZERO).unwrap();
            node.report()
        },
    );
    assert_eq!(reports[0].links[0].messages_received, 50, "{:#?}", reports[0]);
    assert_eq!(reports[0].t_com_s, None, "nobody answers");
    assert_eq!(reports[0].advice.limit, Limit::Unknown);
}
