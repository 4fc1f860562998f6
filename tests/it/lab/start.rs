//! A cable that is cut at any moment of a job's start: while agents look for the launcher, ranks for the rendezvous and for each other.

use super::is_possible;
use super::jobs::{in_lab, path};
use crate::scale::is_whole;

/// Labs at a time: they mostly wait.
const AT_ONCE: usize = 6;
/// Long enough to be past the start of a job.
const LAST_S: f64 = 2.0;

/// How a job over two hosts ended whose second was cut off `after_s` after the job's start, for so many seconds or for good.
fn cut(after_s: f64, mend_after_s: Option<f64>) {
    let mend = mend_after_s.map_or(String::new(), |seconds| format!("sleep {seconds}; $l lab mend host1;"));
    // What the job has started is known by a variable. It has ended with the launcher, or soon after.
    let script = format!(
        "l=$1; mark=LATHIDE_LAB_TEST_MARK=$LATHIDE_LAB; export LATHIDE_RESUME=4 LATHIDE_KEEPALIVE=3 LATHIDE_JOIN=10; \
         left() {{ grep -l -z \"^$mark$\" /proc/[0-9]*/environ 2>/dev/null; }}; \
         env $mark $l run --hosts host0,host1 $2 --steps 50 & job=$!; sleep {after_s}; $l lab cut host1; {mend} \
         wait $job; echo \"status $?\"; \
         for n in $(seq 100); do [ -z \"$(left)\" ] && break; sleep 0.1; done; echo \"left: $(left)\"; \
         for n in $(left); do tr '\\0' ' ' < ${{n%environ}}cmdline; done"
    );
    let (_, text, took) = in_lab(&["--hosts", "2", "--delay", "10ms"], &script, &[&path("stencil")]);
    let case = format!("cut after {after_s:.1} s for {mend_after_s:?} s, {took:.1?}: {text}");
    let is_done = text.contains("status 0") && text.contains("correct to the bit");
    assert!(text.ends_with("left: \n"), "{case}");
    if mend_after_s.is_some() {
        assert!(is_done, "{case}");
    } else if !is_done {
        let causes = ["cannot reach the launcher", "could not join its job", "is lost", "was lost"];
        let cause = causes.into_iter().find(|cause| text.contains(cause));
        assert!(text.contains("host1") && cause.is_some() && !text.contains("status 0"), "{case}");
        println!("cut for good after {after_s:.1} s: {}, {took:.1?}", cause.unwrap_or_default());
    }
}

fn at_any_moment(mend_after_s: Option<f64>) {
    if !is_possible() {
        return;
    }
    let step_s = if is_whole() { 0.1 } else { 0.2 };
    let moments: Vec<f64> = (0..).map(|n| f64::from(n) * step_s).take_while(|after_s| *after_s <= LAST_S).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(&after_s) = moments.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    cut(after_s, mend_after_s);
                }
            });
        }
    });
}

#[test]
fn a_cut_at_any_moment_of_the_start_is_a_delay() {
    at_any_moment(Some(2.0));
}

#[test]
fn a_host_cut_off_at_any_moment_of_the_start_is_named() {
    at_any_moment(None);
}
