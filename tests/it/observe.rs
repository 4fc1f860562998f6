//! What nodes see of themselves: reports, clocks, timelines.

pub(crate) mod cuts;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lathide::observe::{Limit, RegionMessages, Report};
use lathide::{Node, Operator, Result, Tag};
use serde_json::Value;

use crate::spmd::{Job, Start, programs};
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
    let reports: Vec<(Report, Report)> = job(2, |node| {
        // Until here the rank may have waited for the other to join, which counts as calculation.
        let first = node.report();
        steps(&node, 40, 8, Duration::from_millis(2)).unwrap();
        steps(&node, 40, 20_000, Duration::from_millis(2)).unwrap();
        steps(&node, 40, 300_000, Duration::from_millis(2)).unwrap();
        let report = node.report();
        // No collective call: its own messages could reach the peer before the peer's report is taken.
        steps(&node, 1, 8, Duration::ZERO).unwrap();
        node.finalize().unwrap();
        (first, report)
    });
    for (first, report) in reports {
        assert!(report.t_calc_s >= 0.24, "120 steps of 2 ms and more: {report:#?}");
        let sum_s = |report: &Report| report.t_calc_s + report.t_post_s + report.t_wait_s;
        assert!(sum_s(&report) <= report.elapsed_s * 1.001, "{report:#?}");
        let (counted_s, elapsed_s) = (sum_s(&report) - sum_s(&first), report.elapsed_s - first.elapsed_s);
        assert!(counted_s >= elapsed_s * 0.9, "one thread, always inside or outside: {first:#?} {report:#?}");
        let (covered_s, calculated_s) = (report.f.unwrap() * report.t_calc_s, report.t_calc_s - first.t_calc_s);
        assert!(covered_s > 0.8 * calculated_s, "nearly all is computed while messages are under way: {report:#?}");
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

/// Messages of reads, writes and collectives count for the region in which they were posted, wherever they end; those of another thread
/// for its own.
#[test]
fn messages_are_counted_by_region() {
    let reports: Vec<Report> = job(3, |node| {
        let halo = node.region("halo");
        steps(&node, 10, 800, Duration::ZERO).unwrap();
        drop(halo);
        // Posted within, waited for outside.
        let sums = {
            let _sums = node.region("sums");
            node.initallreduce(&Operator::sum(), vec![1.0f64; 4]).unwrap()
        };
        assert_eq!(sums.wait().unwrap(), [3.0; 4]);
        {
            let _outer = node.region("outer");
            let other = node.clone();
            std::thread::spawn(move || steps(&other, 5, 8, Duration::ZERO).unwrap()).join().unwrap();
            let _inner = node.region("halo");
            steps(&node, 1, 1600, Duration::ZERO).unwrap();
        }
        node.barrier().unwrap();
        let report = node.report();
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            (&json["regions"][0]["name"], &json["regions"][0]["sent"][0]["bytes"]),
            (&"halo".into(), &800.into())
        );
        node.finalize().unwrap();
        report
    });
    for report in reports {
        let names: Vec<&str> = report.regions.iter().map(|region| &*region.name).collect();
        assert_eq!(names, ["halo", "sums", "outer"], "{report}");
        let [halo, sums, outer] = &report.regions[..] else { panic!("{report}") };
        let sizes = |of: &[RegionMessages]| of.iter().map(|sized| (sized.bytes, sized.messages)).collect::<Vec<_>>();
        assert_eq!((halo.entered, sums.entered, outer.entered), (2, 1, 1));
        for of in [&halo.sent, &halo.received] {
            assert_eq!(sizes(of), [(800, 10), (1600, 1)]);
        }
        assert!(!sums.sent.is_empty() && !sums.received.is_empty(), "{report}");
        assert!(
            sums.sent.iter().all(|sized| sized.bytes <= 32 && sized.messages <= 4),
            "no exchange of observations: {report}"
        );
        assert!(outer.sent.is_empty() && outer.received.is_empty(), "{report}");
        assert!(report.to_string().contains("region halo: entered 2 times"), "{report}");
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
    // On a busy machine messages are late too, so it may take more than one job.
    let mut seen = Vec::new();
    for _ in 0..5 {
        let reports: Vec<Report> = job(2, |node| {
            for _ in 0..20 {
                steps(&node, 1, 8, Duration::from_millis(if node.rank() == 0 { 1 } else { 30 })).unwrap();
            }
            node.report()
        });
        let report = &reports[0];
        if report.advice.limit == Limit::Partners && report.t_wait_s > 5.0 * report.t_exposed_s {
            return;
        }
        seen.push((report.advice.limit, report.t_wait_s, report.t_exposed_s));
    }
    panic!("the limit, t_wait and t_exposed: {seen:?}");
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

/// Messages of reads, writes and collectives have sending times, if these are asked for, whoever handed them to the socket.
#[test]
fn messages_are_timed_until_they_have_left() {
    let reports: Vec<Report> = job_within(
        Duration::from_secs(60),
        2,
        |config| config.times_sends = true,
        |node| {
            let other = 1 - node.rank().0;
            for bytes in [8, 1000, 3 << 20] {
                let _halo = node.region("halo");
                let reading = node.initread(other, 1, vec![0u8; bytes]).unwrap();
                let writing = node.initwrite(other, 1, vec![1u8; bytes]).unwrap();
                std::thread::sleep(Duration::from_millis(5));
                writing.wait().unwrap();
                reading.wait().unwrap();
            }
            {
                let _sums = node.region("sums");
                node.allreduce(&Operator::sum(), vec![1.0f64; 1000]).unwrap();
            }
            // What has arrived has left.
            node.barrier().unwrap();
            node.report()
        },
    );
    for report in &reports {
        let [halo, sums] = &report.regions[..] else { panic!("{report}") };
        let sent: Vec<_> = halo.sent.iter().map(|sized| (sized.bytes, sized.timed, sized.messages)).collect();
        assert_eq!(sent, [(8, 1, 1), (1000, 1, 1), (3 << 20, 1, 1)], "{report}");
        assert!(!sums.sent.is_empty() && sums.sent.iter().all(|sized| sized.timed == sized.messages), "{sums:?}");
        // None, if others that left before took all of it.
        let is_time = |time_s: f64| (0.0..halo.within_s + sums.within_s).contains(&time_s);
        for sized in halo.sent.iter().chain(&halo.received).chain(&sums.sent) {
            assert!(sized.time_s.is_some_and(is_time), "{sized:?}");
        }
        let busy_s: f64 = halo.sending.iter().map(|[from, to]| to - from).sum();
        let all_s: f64 = halo.sent.iter().filter_map(|sized| sized.time_s).sum();
        // Rounded to microseconds; what counts for another region's message is in between.
        assert!(all_s > 0.0 && busy_s > all_s - 1e-5, "the host sends one message after the other: {halo:?}");
        assert!(halo.in_calls_s > 0.0 && halo.in_calls_s <= halo.within_s - 0.015, "three naps of 5 ms: {halo:?}");
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

/// How long rank 0 keeps its right neighbour waiting.
const LATE: Duration = Duration::from_millis(1500);

/// The program of the jobs below: steps on a ring, with rank 0 late once; then rank 1 ends as it is told.
pub(crate) fn program(ending: &str) -> Result<()> {
    let node = programs::join()?;
    steps(&node, 5, 50_000, Duration::from_millis(2))?;
    node.barrier()?;
    if node.rank() == 0 {
        std::thread::sleep(LATE);
        node.initwrite(1, 5, vec![1u8; 100])?.wait()?;
    } else if node.rank() == 1 {
        node.initread(0, 5, vec![0u8; 100])?.wait()?;
    }
    steps(&node, 5, 50_000, Duration::from_millis(2))?;
    if ending == "killed" && node.rank() == 1 {
        // What was told before is written fifty times a second, if the machine lets it.
        std::thread::sleep(Duration::from_secs(2));
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
    }
    if ending == "killed" {
        node.initread(1, 6, vec![0u8; 8])?.wait()?;
    }
    node.finalize()
}

/// A folder of one test's own.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let name = format!("lathide-observe-{}-{}", std::process::id(), FOLDERS.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("trace.json")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A timeline, held to the format's rules.
struct Timeline(Value);

impl Timeline {
    fn read(path: &Path) -> Self {
        let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let timeline = Timeline(serde_json::from_slice(&text).expect("the timeline is JSON"));
        timeline.check();
        timeline
    }

    fn entries(&self) -> impl Iterator<Item = &Value> {
        self.0["traceEvents"].as_array().expect("a timeline has entries").iter()
    }

    fn check(&self) {
        let (mut last, mut busy, mut open) = (0.0, std::collections::HashMap::new(), std::collections::HashMap::new());
        for entry in self.entries() {
            let phase = entry["ph"].as_str().expect("every entry has a phase");
            let (pid, tid) = (entry["pid"].as_u64().unwrap(), entry["tid"].as_u64().unwrap());
            let ranks = self.0["otherData"]["ranks"].as_array().unwrap();
            assert!(ranks.iter().any(|rank| rank["rank"].as_u64() == Some(pid)), "the process is no rank: {entry}");
            let ts = entry["ts"].as_f64().unwrap();
            if phase == "M" {
                continue;
            }
            assert!(ts >= last, "not in order: {entry}");
            last = ts;
            match phase {
                "X" => {
                    let known = ["compute", "initread", "initwrite", "initbarrier", "wait", "finalize"];
                    assert!(known.contains(&entry["name"].as_str().unwrap()), "{entry}");
                    let end = ts + entry["dur"].as_f64().unwrap();
                    let before = busy.insert((pid, tid), end).unwrap_or(0.0);
                    // Microseconds in a floating-point number.
                    assert!(ts >= before - 0.001, "a thread does two things at once, to {before}: {entry}");
                }
                "b" => {
                    // What an asynchronous event is known by: category, id, and here its name at both ends.
                    let name = entry["name"].as_str().unwrap().to_owned();
                    assert!(entry["cat"].is_string() && entry["id"].is_string(), "{entry}");
                    assert!(open.insert(entry["id"].to_string(), name).is_none(), "begins twice: {entry}");
                }
                "n" => {
                    assert!(open.contains_key(&entry["id"].to_string()), "not between its ends: {entry}");
                    assert!(["first fragment", "last fragment"].contains(&entry["name"].as_str().unwrap()), "{entry}");
                }
                "e" => {
                    let begun = open.remove(&entry["id"].to_string());
                    assert_eq!(begun.as_deref(), entry["name"].as_str(), "ends and has not begun: {entry}");
                }
                "s" | "f" => {}
                other => panic!("phase {other}: {entry}"),
            }
        }
        assert!(open.is_empty(), "never end: {open:?}");
    }

    /// The lengths of the slices of this name and rank, in milliseconds.
    fn slices_ms(&self, rank: u32, name: &str) -> Vec<f64> {
        let slices = self.entries().filter(|entry| entry["ph"] == "X" && entry["pid"] == rank && entry["name"] == name);
        slices.map(|entry| entry["dur"].as_f64().unwrap() / 1000.0).collect()
    }

    fn count(&self, phase: &str) -> usize {
        self.entries().filter(|entry| entry["ph"] == phase).count()
    }

    fn rank(&self, rank: usize) -> &Value {
        &self.0["otherData"]["ranks"][rank]
    }

    /// All three ranks are there, and the wait that is known to be long is long.
    fn check_program(&self) {
        for rank in 0..3 {
            assert_eq!(self.rank(rank as usize)["rank"], rank);
            for (name, least) in [("compute", 10), ("initread", 10), ("initwrite", 10), ("wait", 20)] {
                let count = self.slices_ms(rank, name).len();
                assert!(count >= least, "rank {rank} has {count} of {name}");
            }
        }
        let longest = self.slices_ms(1, "wait").into_iter().fold(0.0, f64::max);
        let late = LATE.as_secs_f64() * 1000.0;
        // It may have been late itself; no other wait takes long.
        assert!(longest >= 0.5 * late, "rank 1 waited for rank 0: {longest} ms of {late}");
        let computing = self.slices_ms(0, "compute").into_iter().fold(0.0, f64::max);
        assert!(computing >= late, "{computing}");
        let (begun, ended) = (self.count("s"), self.count("f"));
        assert!(
            begun >= 25 && begun == ended,
            "an arrow for each message of 31 whose wait ends after its call: {begun} begin, {ended} end"
        );
    }

    /// The clocks of nodes on one machine are known; what was measured must be within its bound.
    fn check_clocks(&self) {
        for rank in 1..3 {
            let of = |name: &str| self.rank(rank)[name].as_f64().unwrap_or_else(|| panic!("{:?}", self.rank(rank)));
            let apart = (of("measured_shift_us") - of("clock_shift_us")).abs();
            // The moments of both clocks' beginnings are read within microseconds, as often as a thread is interrupted there.
            assert!(apart <= of("measured_error_us") + 1000.0, "{:?}", self.rank(rank));
        }
    }
}

#[test]
fn ranks_started_by_hand_leave_one_timeline() {
    let folder = Folder::new();
    let file = folder.file();
    let ended = Job::start(Start::ByHand, 3, "observed well", &[("LATHIDE_TRACE", file.to_str().unwrap())]).end();
    assert!(ended.statuses.iter().all(std::process::ExitStatus::success), "{ended}");
    let timeline = Timeline::read(&file);
    timeline.check_program();
    timeline.check_clocks();
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["trace.json"], "{ended}");
}

mod launched {
    use std::process::Command;

    use super::*;
    use crate::process::{Finished, run};
    use crate::spmd::{ARGUMENTS, prepared, this};

    /// `lathide run -n 3 OPTIONS` of the program above.
    fn lathide(ending: &str, options: &[&str]) -> Finished {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
        command.args(["run", "-n", "3", "--link", "delay=5ms,rate=200mbit"]).args(options).arg(this()).args(ARGUMENTS);
        run(&mut prepared(command, &format!("observed {ending}"), &[]))
    }

    #[test]
    fn the_launcher_merges_the_timeline() {
        let folder = Folder::new();
        let option = format!("--trace={}", folder.file().display());
        let finished = lathide("well", &[&option]).succeeded();
        assert!(finished.stderr.contains("the timeline is"), "{finished:?}");
        let timeline = Timeline::read(&folder.file());
        timeline.check_program();
        timeline.check_clocks();
        for rank in 0..3 {
            let of = timeline.rank(rank);
            assert_eq!((&of["complete"], &of["dropped"]), (&Value::from(true), &Value::from(0)), "{of}");
            assert!((0.0..=1.0).contains(&of["hidden"].as_f64().unwrap()), "{of}");
        }
        let one_way = timeline.0["otherData"]["one_way"]["0-1"].clone();
        assert!(one_way["least_us"].as_f64().unwrap() >= 5000.0, "the link delays by 5 ms: {one_way}");
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_job_that_fails_leaves_what_there_is() {
        let folder = Folder::new();
        let option = format!("--trace={}", folder.file().display());
        let finished = lathide("killed", &[&option]).failed(128 + 9);
        assert!(finished.stderr.contains("ended early"), "{finished:?}");
        let timeline = Timeline::read(&folder.file());
        timeline.check_program();
        assert_eq!(timeline.rank(1)["complete"], false);
        assert_eq!(timeline.rank(0)["complete"], true, "it was told of the loss, and ended in order");
    }

    #[test]
    fn a_report_closes_the_job() {
        let folder = Folder::new();
        let option = format!("--report={}", folder.file().display());
        let finished = lathide("well", &[&option]).succeeded();
        assert!(finished.stderr.contains("gamma = t_calc/t_com"), "{finished:?}");
        assert!(finished.stderr.contains("by eq. (4)") && finished.stderr.contains("rank "), "{finished:?}");
        let reports: Vec<Report> = serde_json::from_slice(&std::fs::read(folder.file()).unwrap()).unwrap();
        let ranks: Vec<u32> = reports.iter().map(|report| report.rank.0).collect();
        assert_eq!(ranks, [0, 1, 2]);
        for report in &reports {
            assert!(report.gamma.unwrap() > 0.0 && report.t_com_s.unwrap() >= 10.0 * 5e-3, "{report:#?}");
            assert!(report.links.iter().all(|link| link.clock_error_s.unwrap() >= 5e-3), "{report:#?}");
        }
    }

    #[test]
    fn json_has_reports_and_quiet_has_none() {
        let finished = lathide("well", &["--report", "--json"]).succeeded();
        let json: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(json["reports"].as_array().unwrap().len(), 3, "{json}");
        assert!(json["reports"][1]["advice"]["words"].is_string(), "{json}");
        assert!(json["closing"][0].as_str().unwrap().starts_with("gamma"), "{json}");
        let finished = lathide("well", &["--report", "--quiet"]).succeeded();
        assert!(!finished.stderr.contains("gamma"), "{finished:?}");
    }

    #[test]
    fn a_timeline_that_cannot_be_written_is_said_before_the_job_starts() {
        let finished = lathide("well", &["--trace=/no/such/folder/trace.json"]).failed(125);
        assert!(finished.stderr.contains("/no/such/folder/trace.json"), "{finished:?}");
        assert!(!finished.stdout.contains("up"), "{finished:?}");
    }
}
