//! lathide side by side with Open MPI, MPICH, ZeroMQ and raw TCP, each over TCP on this machine.
//!
//! `cargo bench --bench peers` (`-- --only latency,collectives-4 --rounds 7 --json FILE`). The peers' programs are C, in this folder; they are
//! built when the bench starts, and whoever cannot be built or started here is left out with a word. The same cells are written
//! for each as a program of that library would have them: `mpi.c` for both MPIs, `zmq.c`, [`ranks`] for lathide and raw
//! TCP. A turn starts a contender's processes, which go through all cells of a section; turns go round, A B C … A B C …, the first round
//! warms up and does not count. A row has the median of the rounds with the least and the greatest; a ratio is always of times, lathide's over
//! the best peer's. Without `--bench` (under `cargo test --benches`) a little of everything only shows that it runs.

mod contender;
mod job;
mod ranks;
mod report;
mod section;
mod star;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contender::{Contender, Kind};
use report::{Report, Rounds};
use section::{Link, Section};
use serde_json::json;

fn main() -> ExitCode {
    if let Ok(program) = std::env::var(ranks::PROGRAM) {
        ranks::run(&program);
        return ExitCode::SUCCESS;
    }
    match Options::parse().and_then(|options| compare(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Options {
    /// Beginnings of sections' keys; all without any.
    only: Vec<String>,
    /// Beside the first, which warms up.
    rounds: usize,
    json: Option<PathBuf>,
    is_smoke: bool,
    /// What of each cell's time is spent on it.
    scale: f64,
}

impl Options {
    fn parse() -> Result<Self, String> {
        let mut options = Self { only: Vec::new(), rounds: 1, json: None, is_smoke: true, scale: 0.01 };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => (options.rounds, options.is_smoke, options.scale) = (5, false, 1.0),
                "--only" => options.only.extend(value()?.split(',').map(str::to_owned)),
                "--rounds" => options.rounds = value()?.parse().map_err(|_| "--rounds: a number".to_owned())?,
                "--json" => options.json = Some(value()?.into()),
                // Of the test harness.
                _ => {}
            }
        }
        Ok(options)
    }

    fn wants(&self, section: &Section) -> bool {
        self.only.is_empty() || self.only.iter().any(|key| section.key.starts_with(key))
    }
}

fn compare(options: &Options) -> Result<(), String> {
    let folder = Folder::new()?;
    let all = section::all(options.is_smoke);
    let wanted: Vec<&Section> = all.iter().filter(|section| options.wants(section)).collect();
    let contenders = contenders(&wanted, &folder.0);
    let has_star = star::check(&folder.0);
    if let Err(why) = &has_star {
        println!("no links of a given rate: {why}");
    }
    let mut report = Report::default();
    for section in wanted {
        if section.link != Link::Loopback && has_star.is_err() {
            continue;
        }
        let rounds = measure(section, &contenders, options, &folder.0);
        if !rounds.contains_key(&Kind::Lathide) {
            return Err(format!("lathide has no value in {}", section.key));
        }
        report.add(section, &rounds);
    }
    let summary = report.summary();
    if let Some(summary) = &summary {
        println!("\n{summary}");
    }
    if let Some(path) = &options.json {
        let who: BTreeMap<&str, &str> =
            contenders.iter().map(|contender| (contender.kind.name(), contender.transport.as_str())).collect();
        let machine = json!({"cores": section::cores().len(), "kernel": kernel()});
        let rows = report.rows();
        let text = json!({"machine": machine, "contenders": who, "rows": rows, "summary": summary}).to_string();
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn kernel() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

/// Those that can be had here; the others are left out with a word.
fn contenders(sections: &[&Section], folder: &Path) -> Vec<Contender> {
    let mut contenders = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| sections.iter().any(|section| kind.joins(section))) {
        match Contender::build(kind, folder) {
            Ok(contender) => match over_loopback(&contender, folder) {
                Ok(how) => {
                    println!("{:<18} {}; {how}", kind.name(), contender.transport);
                    contenders.push(contender);
                }
                Err(why) => println!("{:<18} left out: {}: {why}", kind.name(), contender.transport),
            },
            Err(why) => println!("{:<18} left out: {why}", kind.name()),
        }
    }
    contenders
}

/// That what a contender sends passes the network's loopback device, and not memory that its processes share.
fn over_loopback(contender: &Contender, folder: &Path) -> Result<String, String> {
    let received = || -> Result<f64, String> {
        let text = std::fs::read_to_string("/proc/net/dev").map_err(|error| format!("/proc/net/dev: {error}"))?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix("lo:")).ok_or("there is no lo")?;
        line.split_whitespace().next().and_then(|bytes| bytes.parse().ok()).ok_or("lo has no bytes".to_owned())
    };
    let before = received()?;
    let values = contender.turn(&section::transport(), 1.0, folder)?;
    let passed = received()? - before;
    let payload = values.first().and_then(|(_, values)| values.get(2)).copied().unwrap_or(f64::INFINITY);
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let how = format!("of {:.0} MiB sent, {:.0} MiB and what warmed up passed lo", mib(payload), mib(passed));
    if passed >= payload { Ok(how) } else { Err(format!("it does not use TCP: {how}")) }
}

/// All rounds of a section. Who fails once has no part in the rest.
fn measure(section: &Section, contenders: &[Contender], options: &Options, folder: &Path) -> Rounds {
    let (mut warm_up, mut rounds) = (Rounds::new(), Rounds::new());
    let mut here: Vec<&Contender> = contenders.iter().filter(|contender| contender.kind.joins(section)).collect();
    let first = usize::from(!options.is_smoke);
    for round in 0..options.rounds + first {
        let (into, scale) = match round < first {
            true => (&mut warm_up, options.scale / 4.0),
            false => (&mut rounds, options.scale),
        };
        here.retain(|contender| match contender.turn(section, scale, folder) {
            Ok(values) => {
                into.entry(contender.kind).or_default().push(values);
                true
            }
            Err(why) => {
                println!("{}: left out of {}: {why}", contender.kind.name(), section.key);
                into.remove(&contender.kind);
                false
            }
        });
        here.retain(|contender| {
            let faster = is_hopeless(contender.kind, &warm_up).filter(|_| section.is_crowded() && round < first);
            if let Some(faster) = faster {
                let (kind, key) = (contender.kind.name(), &section.key);
                println!("{kind}: left out of {key}: {} is more than twice as fast in every cell", faster.name());
            }
            faster.is_none()
        });
    }
    rounds
}

/// Of peers that share cores, who only waits in a loop is slower by far, and would take most of the bench's time: it has
/// no part in the rest if another peer is twice as fast in every cell.
fn is_hopeless(kind: Kind, warm_up: &Rounds) -> Option<Kind> {
    let times = |kind: &Kind| warm_up.get(kind).and_then(|turns| turns.first());
    let own = times(&kind).filter(|_| kind.is_peer())?;
    let is_twice_as_fast = |other: &&Kind| {
        let pairs = times(other).into_iter().flatten().zip(own);
        pairs.clone().count() > 0 && pairs.into_iter().all(|((_, fast), (_, slow))| 2.0 * fast[0] < slow[0])
    };
    warm_up.keys().filter(|other| other.is_peer()).find(is_twice_as_fast).copied()
}

/// Where programs are built, for as long as the bench runs.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("peers-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
