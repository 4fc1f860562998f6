//! What the jobs of one measurement have in common: the hosts they ran on, what else these had to do, and how it ended.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use parking_lot::Mutex;
use serde_json::json;

use super::setup::HostSetup;
use crate::launch::failed::Failed;
use crate::report::results::Results;
use crate::report::verdict::{Evidence, HostLoad, Verdict};

/// See the module. Its clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    began: Instant,
    started: SystemTime,
    found: Arc<Mutex<Found>>,
}

#[derive(Debug, Default)]
struct Found {
    hosts: Vec<HostSetup>,
    /// Each job's seconds, and the loads of its hosts.
    loads: Vec<(f64, Vec<HostLoad>)>,
    signal: Option<i32>,
}

impl Session {
    /// One that begins now.
    #[allow(clippy::disallowed_methods, reason = "the date of a result is the calendar's; no time is taken by it")]
    pub(crate) fn new() -> Self {
        Session { began: Instant::now(), started: SystemTime::now(), found: Arc::default() }
    }

    /// The seconds since it began.
    pub(crate) fn elapsed_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// The hosts of a job; of a later one those that are new.
    pub(super) fn on(&self, hosts: Vec<HostSetup>) {
        let known = &mut self.found.lock().hosts;
        for host in hosts {
            match known.iter_mut().find(|known| known.host == host.host) {
                // The job with more ranks shows more.
                Some(known) if host.ranks.len() > known.ranks.len() => *known = host,
                Some(_) => {}
                None => known.push(host),
            }
        }
    }

    /// What else the hosts of a job of so many seconds had to do.
    pub(super) fn beside(&self, seconds: f64, loads: Vec<HostLoad>) {
        self.found.lock().loads.push((seconds, loads));
    }

    /// A signal has ended it.
    pub(crate) fn interrupted(&self, signal: i32) {
        self.found.lock().signal = Some(signal);
    }

    /// Whether a signal has ended it, so that nothing more is to be begun.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.found.lock().signal.is_some()
    }

    /// Why there is no result, if nothing was measured.
    pub(crate) fn nothing(&self) -> Failed {
        match self.found.lock().signal {
            None => Failed::new("nothing was measured: there was no time"),
            Some(signal) => Failed {
                message: format!("interrupted by signal {signal} before anything was measured"),
                status: u8::try_from(128 + signal).unwrap_or(1),
            },
        }
    }

    /// The name of the host of this rank.
    pub(crate) fn host(&self, rank: u32) -> String {
        let found = self.found.lock();
        let host = found.hosts.iter().find(|host| host.ranks.iter().any(|placed| placed.rank == rank));
        host.map_or_else(|| format!("rank {rank}'s host"), |host| host.host.clone())
    }

    /// What else each host had to do, on average over all jobs.
    pub(crate) fn loads(&self) -> Vec<HostLoad> {
        mean(&self.found.lock().loads)
    }

    /// The share of other programs on the host where they had most, if any host was seen.
    pub(crate) fn background_load(&self) -> Option<f64> {
        self.loads().into_iter().map(|load| load.others).reduce(f64::max)
    }

    /// Puts into results the hosts, how the program was called and when, and the verdict that follows from this evidence.
    pub(crate) fn judge(&self, results: &mut Results, evidence: Evidence) {
        let found = self.found.lock();
        let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let started_s = self.started.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if !found.hosts.is_empty() {
            results.data.insert("hosts".to_owned(), json!(found.hosts));
        }
        results.data.insert(
            "run".to_owned(),
            json!({
                "command_line": words,
                "lathide": env!("CARGO_PKG_VERSION"),
                "started": date(started_s),
                "took_s": self.elapsed_s(),
            }),
        );
        let interrupted =
            found.signal.map(|signal| format!("Signal {signal} ended it early; this is what had been measured."));
        let ended_early = interrupted.or(evidence.ended_early);
        results.verdict = Some(Verdict::of(&Evidence { ended_early, ..evidence }));
        results.ended_by_signal = found.signal;
    }
}

/// The mean load of each host, longer jobs counting more.
fn mean(jobs: &[(f64, Vec<HostLoad>)]) -> Vec<HostLoad> {
    let mut hosts: Vec<(f64, HostLoad)> = Vec::new();
    for (seconds, loads) in jobs {
        for load in loads {
            let [others, stolen] = [load.others, load.stolen].map(|share| share * seconds);
            match hosts.iter_mut().find(|(_, known)| known.host == load.host) {
                Some((all_s, known)) => {
                    *all_s += seconds;
                    known.others += others;
                    known.stolen += stolen;
                }
                None => hosts.push((*seconds, HostLoad { host: load.host.clone(), others, stolen })),
            }
        }
    }
    let mean = |(all_s, HostLoad { host, others, stolen }): (f64, HostLoad)| {
        let all_s = all_s.max(f64::MIN_POSITIVE);
        HostLoad { host, others: others / all_s, stolen: stolen / all_s }
    };
    hosts.into_iter().map(mean).collect()
}

/// Seconds since 1970 as date and time of UTC, as in ISO 8601.
fn date(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Years that begin with March have the leap day at their end.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = 400 * era + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::verdict::Kind;

    #[test]
    fn dates_by_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn loads_are_means_over_the_time() {
        let load = |others| vec![HostLoad { host: "a".to_owned(), others, stolen: 0.0 }];
        let all = mean(&[(1.0, load(0.4)), (3.0, load(0.0))]);
        assert!(all.len() == 1 && (all[0].others - 0.1).abs() < 1e-12, "{all:?}");
    }

    #[test]
    fn what_a_signal_ended_is_partial_and_says_how_it_was_called() {
        let session = Session::new();
        let judged = || {
            let mut results = Results::new("lathide-test-1", "A test", &json!({}));
            session.clone().judge(&mut results, Evidence::default());
            results
        };
        let whole = judged();
        assert_eq!((whole.verdict.unwrap().kind, whole.ended_by_signal), (Kind::Valid, None));
        assert!(whole.data["run"]["command_line"].is_array() && whole.data.get("hosts").is_none());
        session.interrupted(2);
        let part = judged();
        assert_eq!((part.verdict.unwrap().kind, part.ended_by_signal), (Kind::Partial, Some(2)));
    }
}
