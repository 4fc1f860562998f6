//! What is measured: sections of cells that the same processes go through.

use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};

use super::contender::Kind;

/// Where the ranks of a section run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    Free,
    /// Each on a core of its own.
    Bound,
    /// Both on the same.
    OneCore,
}

impl Placement {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Placement::Free => "not bound",
            Placement::Bound => "bound to a core each",
            Placement::OneCore => "bound to one core",
        }
    }
}

/// What joins the ranks of a section.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Link {
    Loopback,
    /// A switch, and links that pass so much each way: for `tc`, and in bytes per second.
    Star(&'static str, f64),
    /// The same, with a class for what is expedited.
    Classes(&'static str),
}

const GIGABIT: Link = Link::Star("1gbit", 125e6);
const SLOW: Link = Link::Star("100mbit", 12.5e6);

impl Link {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Link::Loopback => "loopback",
            Link::Star(rate, _) | Link::Classes(rate) => rate,
        }
    }
}

/// In what a value is told. Values are seconds: of a unit, a message or a MiB.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Microseconds,
    /// Messages per second.
    Rate,
    /// MB/s, of messages of the cell's bytes.
    Bandwidth,
    /// Microseconds per MiB, of messages of the cell's bytes.
    PerMib,
    /// The part that is hidden; the value is the other part.
    Hidden,
}

/// One thing that is measured.
pub(crate) struct Cell {
    /// What the programs call it.
    pub(crate) kind: &'static str,
    bytes: usize,
    milliseconds: f64,
    /// What of its values is shown: a name, which one, and in what.
    pub(crate) shown: Vec<(String, usize, Unit)>,
}

impl Cell {
    fn new(kind: &'static str, bytes: usize, milliseconds: f64, shown: &[(&str, usize, Unit)]) -> Self {
        let shown = shown.iter().map(|&(name, at, unit)| (format!("{name}{}", size(bytes)), at, unit)).collect();
        Self { kind, bytes, milliseconds, shown }
    }

    /// As the programs read it.
    pub(crate) fn plan(&self, scale: f64) -> String {
        format!("{}:{}:{}", self.kind, self.bytes, self.milliseconds * scale)
    }

    /// As the programs name it.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.kind, self.bytes)
    }

    /// A value in its unit.
    pub(crate) fn show(&self, seconds: f64, unit: Unit) -> f64 {
        match unit {
            Unit::Microseconds => seconds * 1e6,
            Unit::Rate => 1.0 / seconds,
            Unit::Bandwidth => self.bytes as f64 / seconds * 1e-6,
            Unit::Hidden => 1.0 - seconds,
            Unit::PerMib => seconds * 1e6 * f64::from(1 << 20) / self.bytes as f64,
        }
    }
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Microseconds => "us",
            Unit::Rate => "messages/s",
            Unit::Bandwidth => "MB/s",
            Unit::PerMib => "us/MiB",
            Unit::Hidden => "",
        }
    }
}

/// Bytes, for people.
fn size(bytes: usize) -> String {
    match bytes {
        0 => String::new(),
        _ if bytes >= 1 << 20 => format!(" {} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 => format!(" {} KiB", bytes >> 10),
        _ => format!(" {bytes} B"),
    }
}

/// Cells that the same processes go through, one after the other.
pub(crate) struct Section {
    /// What `--only` selects it by.
    pub(crate) key: String,
    pub(crate) title: String,
    pub(crate) ranks: u32,
    pub(crate) placement: Placement,
    pub(crate) link: Link,
    pub(crate) cells: Vec<Cell>,
    /// Who else than lathide and the MPIs has a part.
    pub(crate) kinds: Vec<Kind>,
    /// Whether its cells count in the bench's last line.
    pub(crate) is_collective: bool,
}

impl Section {
    /// Whether ranks have to share cores.
    pub(crate) fn is_crowded(&self) -> bool {
        self.placement == Placement::OneCore || self.ranks as usize > cores().len()
    }

    /// What a turn may take, at most.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(30 + 2 * self.cells.len() as u64)
    }
}

/// The cores that this process may use.
pub(crate) fn cores() -> Vec<usize> {
    let all = sched_getaffinity(None).expect("this process may run somewhere");
    (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core)).collect()
}

const MS: f64 = 100.0;

/// Cells of two ranks.
fn two(key: &str, what: &str, placement: Placement, cells: Vec<Cell>) -> Section {
    Section {
        key: key.to_owned(),
        title: what.to_owned(),
        ranks: 2,
        placement,
        link: Link::Loopback,
        cells,
        kinds: vec![Kind::ZeroMq, Kind::Raw, Kind::RawPolled],
        is_collective: false,
    }
}

/// What shows on what way messages go.
pub(crate) fn transport() -> Section {
    two("transport", "", Placement::Free, vec![Cell::new("stream", 1 << 20, 20.0, &[])])
}

/// All of them, in order; a little of each to show that it runs.
pub(crate) fn all(is_smoke: bool) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut placements = vec![Placement::Free];
    if cores().len() > 1 && !is_smoke {
        placements.insert(0, Placement::Bound);
    }
    for &placement in &placements {
        sections.push(two("latency", "one way (half a ping-pong) and exchange", placement, latency()));
    }
    let one_core = vec![Cell::new("pingpong", 8, MS, &[("one way", 0, Unit::Microseconds)])];
    sections.push(two("one-core", "one way (half a ping-pong)", Placement::OneCore, one_core));
    for &placement in &placements {
        sections.push(two("rate", "messages in a row, with an answer after each 1000", placement, rate()));
    }
    for &placement in &placements {
        sections.push(two(
            "bandwidth",
            "long messages in a row; processor time of both processes",
            placement,
            bandwidth(),
        ));
    }
    let ranks: &[u32] = if is_smoke { &[2] } else { &[2, 4, 8] };
    sections.extend(placements.iter().map(|&placement| Section { placement, ..collectives(2, Link::Loopback) }));
    sections.extend(ranks[1..].iter().map(|&ranks| collectives(ranks, Link::Loopback)));
    sections.extend(ranks.iter().map(|&ranks| collectives(ranks, GIGABIT)));
    for link in [GIGABIT, SLOW] {
        sections.push(overlap("write", &["overlap"], link));
        sections.push(overlap("collective", &["overlap-broadcast", "overlap-allreduce"], link));
    }
    for link in [GIGABIT, Link::Classes("1gbit")] {
        sections.push(beside(if is_smoke { 64 << 10 } else { 32 << 20 }, link));
    }
    if is_smoke {
        for section in &mut sections {
            section.cells.retain(|cell| cell.bytes <= 64 << 10);
            // They wait in a loop, with a thread more than there are cores.
            section.kinds.retain(|kind| !matches!(kind, Kind::OpenMpiThread | Kind::MpichThread));
        }
        sections.retain(|section| !section.cells.is_empty());
    }
    sections
}

fn latency() -> Vec<Cell> {
    let one_way = [8, 1024].map(|bytes| Cell::new("pingpong", bytes, MS, &[("one way", 0, Unit::Microseconds)]));
    let exchange = [8, 1024].map(|bytes| Cell::new("exchange", bytes, MS, &[("exchange", 0, Unit::Microseconds)]));
    one_way.into_iter().chain(exchange).collect()
}

fn rate() -> Vec<Cell> {
    vec![
        Cell::new("rate", 8, MS, &[("written in turn", 0, Unit::Rate)]),
        Cell::new("posted", 8, MS, &[("posted at once", 0, Unit::Rate)]),
    ]
}

fn bandwidth() -> Vec<Cell> {
    let shown = [("bandwidth", 0, Unit::Bandwidth), ("processor time", 1, Unit::PerMib)];
    [64 << 10, 1 << 20, 16 << 20].map(|bytes| Cell::new("stream", bytes, 2.0 * MS, &shown)).into()
}

fn collectives(ranks: u32, link: Link) -> Section {
    let mut cells = vec![Cell::new("barrier", 0, MS, &[("barrier", 0, Unit::Microseconds)])];
    for kind in ["broadcast", "allreduce", "gather", "allgather", "alltoall"] {
        for bytes in [8, 64 << 10, 1 << 20] {
            cells.push(Cell::new(kind, bytes, MS, &[(kind, 0, Unit::Microseconds)]));
        }
    }
    Section {
        key: format!("{}collectives-{ranks}", if link == Link::Loopback { "" } else { "shaped-" }),
        title: format!("collectives of {ranks} ranks over {}, time per call", link.name()),
        ranks,
        placement: Placement::Free,
        link,
        cells,
        kinds: Vec::new(),
        is_collective: true,
    }
}

/// Behind a calculation that takes as long as the link needs for the message.
fn overlap(what: &str, kinds: &[&'static str], link: Link) -> Section {
    let mut cells = Vec::new();
    for kind in kinds {
        // A step of the longest takes too long on a slow link to be done for each collective.
        let sizes = if kinds.len() > 1 && link == SLOW { 0..2 } else { 0..3 };
        for &bytes in &[64 << 10, 1 << 20, 8 << 20][sizes] {
            let name = kind.trim_start_matches("overlap-").replace("overlap", "write");
            let shown = [(name.as_str(), 0, Unit::Microseconds), ("  overlap", 1, Unit::Hidden)];
            cells.push(Cell::new(kind, bytes, MS, &shown));
        }
    }
    Section {
        key: format!("overlap-{}-{what}", link.name()),
        link,
        kinds: vec![Kind::OpenMpiThread, Kind::MpichThread, Kind::Raw],
        ..two("", &format!("a step of a {what} and a calculation over {}", link.name()), Placement::Bound, cells)
    }
}

/// Short messages to and fro while a long one is on its way.
fn beside(bytes: usize, link: Link) -> Section {
    let shown = [("median, long", 0, Unit::Microseconds), ("p99, long", 1, Unit::Microseconds)];
    let cells = vec![Cell::new("beside", bytes, MS, &shown)];
    let (key, classes) = match link {
        Link::Classes(_) => ("beside-classes", " with a class for what is expedited"),
        _ => ("beside", ""),
    };
    Section {
        key: key.to_owned(),
        link,
        kinds: vec![Kind::OpenMpiThread, Kind::MpichThread, Kind::Raw],
        ..two("", &format!("8 B one way beside a long message over 1gbit{classes}"), Placement::Free, cells)
    }
}
