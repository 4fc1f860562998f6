//! A summary of what a node has observed, beside the models. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::RegionReport;
use super::advice::{Advice, Observed};
use super::links::{CLASSES, Count, Link};
use super::offset::Offset;
use super::phases::Times;
use crate::collective::{ChangeReport, CollectiveReport};
use crate::ids::Rank;
use lathide_models::fit::{Sample, hyperbolic};
use lathide_models::gain;

/// A fit needs sizes that are so many times apart; nearer ones do not tell a from b.
const SPREAD_MIN: u64 = 4;

/// Up to here the bytes of a message add little to its time.
const SHORT_BYTES: u64 = 4096;

/// What one node has observed so far ([`crate::Node::report`]). Times are in seconds, summed over all threads that make
/// calls.
///
/// The names are those of Strumpen 1994, section 2. Unknown values are `None`, and `notes` say why.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The node's rank.
    pub rank: Rank,
    /// The number of ranks in the job.
    pub size: u32,
    /// Whether messages moved while the program computed.
    pub overlap: bool,
    /// From the moment when the node had joined until now, or until its finalize.
    pub elapsed_s: f64,
    /// Threads that have made calls.
    pub threads: usize,
    /// Calculation: time outside lathide's calls.
    pub t_calc_s: f64,
    /// Time in `initread` and `initwrite`.
    pub t_post_s: f64,
    /// Time in waits.
    pub t_wait_s: f64,
    /// Communication that is not hidden: of `t_wait_s`, for each wait at most the transfer time of its message. The
    /// rest was waiting for partners that had not sent yet.
    pub t_exposed_s: f64,
    /// Communication: the transfer time of all messages, one by one in each direction of a link, both directions at
    /// once. It comes from samples, and for sizes without samples from the fitted eq. (3) of Stoica, Sultan, Keyes.
    pub t_com_s: Option<f64>,
    /// Processor time of the kernel's thread.
    pub t_kernel_s: Option<f64>,
    /// `t_calc / t_com`.
    pub gamma: Option<f64>,
    /// The fraction of the calculation between the posting of an operation and its wait.
    pub f: Option<f64>,
    /// The overhead of hiding, relative to the calculation: `(t_post + t_kernel) / t_calc`.
    pub omega: Option<f64>,
    /// The fraction of the communication that was hidden: `1 - t_exposed / t_com`.
    pub hidden: Option<f64>,
    /// `(t_calc + t_com) / (t_calc + t_post + t_exposed)`: the time of the same work without overlap, over the observed
    /// time.
    pub gain_observed: Option<f64>,
    /// The measured G: the time of a run with overlap off over that of this run. `None` unless set by a program that
    /// made both runs, such as `lathide gain -- PROGRAM`.
    pub gain_measured: Option<f64>,
    /// G by eq. (4), with the gamma, f and Omega observed.
    pub gain_model: Option<f64>,
    /// G by eq. (1): everything hidden at no cost.
    pub gain_ideal: Option<f64>,
    /// The links that have carried messages.
    pub links: Vec<LinkReport>,
    /// The collectives that were called, and how their algorithms were selected.
    #[serde(default)]
    pub collectives: Vec<CollectiveReport>,
    /// Algorithms that have changed by what was observed, in order. At most 64.
    #[serde(default)]
    pub changes: Vec<ChangeReport>,
    /// The regions that the program has named ([`Node::region`](crate::Node::region)), and the messages that were posted in them.
    #[serde(default)]
    pub regions: Vec<RegionReport>,
    /// What limits the node, and what would improve it.
    pub advice: Advice,
    /// What could not be determined, and why.
    pub notes: Vec<String>,
}

/// Observations of one link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LinkReport {
    /// The rank on the other side.
    pub peer: Rank,
    /// Messages written to it.
    pub messages_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Messages read from it.
    pub messages_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// This node's clock minus the peer's, in seconds since each node's start.
    pub clock_offset_s: Option<f64>,
    /// Half of the minimum round trip: a bound on the error of the offset and of one-way times.
    pub clock_error_s: Option<f64>,
    /// Observed one-way times, by size class.
    pub sizes: Vec<SizeReport>,
    /// Eq. (3) of Stoica, Sultan, Keyes 1994 fitted to them.
    pub hyperbolic: Option<HyperbolicReport>,
    /// Why there is no fit, or why it is poor.
    pub note: Option<String>,
    /// How often its connection was cut, as seen from here.
    #[serde(default)]
    pub cuts: u64,
    /// Connections that this end has ended since a checksum of what came was wrong ([`crate::Config::checksum`]).
    #[serde(default)]
    pub wrong_checksums: u64,
    /// How long it had none, in seconds, all together.
    #[serde(default)]
    pub down_s: f64,
    /// Bytes that were sent a second time, since a connection had lost them.
    #[serde(default)]
    pub sent_again_bytes: u64,
}

/// One size class of messages.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SizeReport {
    /// The median of their bytes.
    pub bytes: u64,
    /// Number of samples kept.
    pub samples: usize,
    /// One-way time, from the call of `initwrite` to the arrival of the last byte: the median.
    pub median_s: f64,
    /// The minimum.
    pub min_s: f64,
    /// The maximum.
    pub max_s: f64,
}

/// A fitted `T(x; a, b) = a^2/(a + b x) + b x`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HyperbolicReport {
    /// a: the time of a message of no bytes.
    pub a_s: f64,
    /// b: the time of each byte of a long one.
    pub b_s_per_byte: f64,
    /// The median of the cross-validated error; `None` if too few sizes were observed.
    pub median_error: Option<f64>,
    /// The 90th percentile of that error.
    pub p90_error: Option<f64>,
}

/// What a report is made of.
pub(crate) struct Facts<'a> {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) overlap: bool,
    pub(crate) elapsed_s: f64,
    pub(crate) threads: usize,
    pub(crate) times: Times,
    pub(crate) kernel_s: Option<f64>,
    pub(crate) links: &'a [(Rank, Link)],
}

/// What messages take on their way over one link.
struct Service {
    sizes: [Option<SizeReport>; CLASSES],
    fitted: Option<hyperbolic::Hyperbolic>,
}

impl Report {
    pub(crate) fn new(facts: &Facts<'_>) -> Report {
        let Facts { rank, size, overlap, elapsed_s, threads, times, kernel_s, links } = *facts;
        let mut notes = Vec::new();
        let used: Vec<&(Rank, Link)> =
            links.iter().filter(|(peer, link)| *peer != rank && (messages(link) > 0 || link.downs.cuts > 0)).collect();
        let now_ns = (elapsed_s * 1e9) as u64;
        let (reports, services): (Vec<_>, Vec<_>) =
            used.iter().map(|(peer, link)| observed(*peer, link, now_ns)).unzip();
        let t_com_s = communication_s(&used, &services, &mut notes);
        let Times { calc_s, covered_s, post_s, wait_s, exposed_s } = times;
        let over_calc = |value: f64| (calc_s > 0.0).then(|| value / calc_s);
        let f = over_calc(covered_s).map(|f| f.clamp(0.0, 1.0));
        let omega = over_calc(post_s + kernel_s.unwrap_or(0.0));
        if kernel_s.is_none() {
            notes.push("the processor time of the kernel's thread is not known; Omega is without it".to_owned());
        }
        let known = t_com_s.filter(|t_com_s| *t_com_s > 0.0);
        let x = known.and_then(over_calc);
        let took_s = calc_s + post_s + exposed_s;
        let messages = used.iter().map(|(_, link)| messages(link)).sum();
        let advice = Observed {
            size,
            overlap,
            messages,
            t_calc_s: calc_s,
            t_post_s: post_s,
            t_wait_s: wait_s,
            t_exposed_s: exposed_s,
            t_com_s,
            f: f.unwrap_or(0.0),
            omega: omega.unwrap_or(0.0),
        }
        .advice();
        Report {
            rank,
            size,
            overlap,
            elapsed_s,
            threads,
            t_calc_s: calc_s,
            t_post_s: post_s,
            t_wait_s: wait_s,
            t_exposed_s: exposed_s,
            t_com_s,
            t_kernel_s: kernel_s,
            gamma: x.map(|x| 1.0 / x).filter(|gamma| gamma.is_finite()),
            f,
            omega,
            hidden: known.map(|t_com_s| (1.0 - exposed_s / t_com_s).clamp(0.0, 1.0)),
            gain_observed: known.filter(|_| took_s > 0.0).map(|t_com_s| (calc_s + t_com_s) / took_s),
            gain_measured: None,
            gain_model: x.zip(f).zip(omega).and_then(|((x, f), omega)| gain::with_overhead(x, f, omega).ok()),
            gain_ideal: x.and_then(|x| gain::with_overhead(x, 1.0, 0.0).ok()),
            links: reports,
            collectives: Vec::new(),
            changes: Vec::new(),
            regions: Vec::new(),
            advice,
            notes,
        }
    }
}

impl Report {
    /// Leaves out all links but those with the most bytes, and says so.
    pub(crate) fn keep_busiest_links(&mut self, most: usize) {
        if self.links.len() > most {
            self.notes.push(format!("only the {most} busiest of {} links are shown", self.links.len()));
            self.links.sort_by_key(|link| std::cmp::Reverse(link.bytes_sent.saturating_add(link.bytes_received)));
            self.links.truncate(most);
            self.links.sort_by_key(|link| link.peer);
        }
    }
}

fn messages(link: &Link) -> u64 {
    Link::total(&link.sent).messages + Link::total(&link.received).messages
}

/// Sums one link up.
fn observed(peer: Rank, link: &Link, now_ns: u64) -> (LinkReport, Service) {
    let (sent, received) = (Link::total(&link.sent), Link::total(&link.received));
    let mut sizes = [None; CLASSES];
    link.samples().zip(&mut sizes).for_each(|(samples, size)| *size = summed(samples));
    let offset = link.clock.offset();
    let samples: Vec<Sample> = link.samples().flatten().copied().collect();
    let (fitted, note) = fit(&samples, offset);
    let report = LinkReport {
        peer,
        messages_sent: sent.messages,
        bytes_sent: sent.bytes,
        messages_received: received.messages,
        bytes_received: received.bytes,
        clock_offset_s: offset.map(|offset| offset.ns as f64 * 1e-9),
        clock_error_s: offset.map(|offset| offset.error_ns as f64 * 1e-9),
        sizes: sizes.iter().flatten().copied().collect(),
        hyperbolic: fitted,
        note,
        cuts: link.downs.cuts,
        wrong_checksums: link.downs.by_checksum,
        down_s: link.downs.lasted_ns(now_ns) as f64 * 1e-9,
        sent_again_bytes: link.downs.again,
    };
    let model = fitted.map(|fit| hyperbolic::Hyperbolic { a_s: fit.a_s, b_s_per_byte: fit.b_s_per_byte });
    (report, Service { sizes, fitted: model })
}

fn fit(samples: &[Sample], offset: Option<Offset>) -> (Option<HyperbolicReport>, Option<String>) {
    if offset.is_none() {
        let note = "one-way times are not known: stamps have not come and gone in both directions".to_owned();
        return (None, Some(note));
    }
    let sizes = || samples.iter().map(|sample| sample.bytes);
    let (Some(least), Some(most)) = (sizes().min(), sizes().max()) else {
        return (None, Some("no message was received from there alone on the link".to_owned()));
    };
    if most < SPREAD_MIN * least.max(16) {
        let note = format!(
            "messages of {least} to {most} bytes do not tell a from b; that needs sizes {SPREAD_MIN} times apart"
        );
        return (None, Some(note));
    }
    match hyperbolic::fit(samples) {
        Err(error) => (None, Some(format!("no fit: {error}"))),
        Ok(fitted) => {
            let report = HyperbolicReport {
                a_s: fitted.model.a_s,
                b_s_per_byte: fitted.model.b_s_per_byte,
                median_error: fitted.quality.map(|quality| quality.median_error),
                p90_error: fitted.quality.map(|quality| quality.p90_error),
            };
            (Some(report), None)
        }
    }
}

fn summed(samples: &[Sample]) -> Option<SizeReport> {
    let (mut bytes, mut times): (Vec<u64>, Vec<f64>) =
        samples.iter().map(|sample| (sample.bytes, sample.time_s)).unzip();
    bytes.sort_unstable();
    times.sort_by(f64::total_cmp);
    let (min_s, max_s) = (*times.first()?, *times.last()?);
    let middle = times.len() / 2;
    Some(SizeReport { bytes: bytes[middle], samples: times.len(), median_s: times[middle], min_s, max_s })
}

/// What all messages of a node take on their way; `None` if no link has shown how long that is.
fn communication_s(used: &[&(Rank, Link)], services: &[Service], notes: &mut Vec<String>) -> Option<f64> {
    let mut sum_s = 0.0;
    let mut unseen = Vec::new();
    for ((peer, link), service) in used.iter().zip(services).filter(|((_, link), _)| messages(link) > 0) {
        // A link that has shown nothing is taken to be like the others.
        let others = services.iter().find(|service| service.is_known());
        let service = if service.is_known() {
            service
        } else {
            unseen.push(peer.to_string());
            others?
        };
        let direction_s =
            |counts: &[Count; CLASSES]| counts.iter().map(|count| service.all_s(count, services)).sum::<f64>();
        sum_s += direction_s(&link.sent).max(direction_s(&link.received));
    }
    if !unseen.is_empty() {
        notes.push(format!("links to ranks {} have shown no times and are taken to be like others", unseen.join(", ")));
    }
    Some(sum_s)
}

impl Service {
    fn is_known(&self) -> bool {
        self.sizes.iter().any(Option::is_some)
    }

    /// What the messages of one class take, one after another. `all`: what the node's links have shown.
    fn all_s(&self, count: &Count, all: &[Service]) -> f64 {
        if count.messages == 0 {
            return 0.0;
        }
        count.messages as f64 * self.one_s(count.bytes as f64 / count.messages as f64, all)
    }

    /// What one message takes: as observed of its class or as fitted, here or else on another link; else as the class
    /// that is nearest.
    fn one_s(&self, bytes: f64, all: &[Service]) -> f64 {
        let class = super::links::class(bytes as u64);
        let known = |service: &Service| {
            let seen = service.sizes[class].map(|size| size.median_s);
            seen.or_else(|| service.fitted.and_then(|fitted| fitted.time_s(bytes as u64).ok()))
        };
        if let Some(time_s) = known(self).or_else(|| all.iter().find_map(known)) {
            return time_s;
        }
        let known = self.sizes.iter().enumerate().filter_map(|(at, size)| Some((at.abs_diff(class), (*size)?)));
        known.min_by_key(|(distance, _)| *distance).map_or(0.0, |(_, size)| {
            // A longer message takes at most as many times as long, and a short one is all start: no byte of it says how
            // long further ones take. A shorter message takes at most as long.
            size.median_s * (bytes / (size.bytes.max(SHORT_BYTES) as f64)).max(1.0)
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { rank, size, elapsed_s, t_calc_s, t_post_s, t_wait_s, t_exposed_s, .. } = self;
        write!(f, "rank {rank} of {size}, {}: t_calc {}", Time(*elapsed_s), Time(*t_calc_s))?;
        if let Some(t_com_s) = self.t_com_s {
            write!(f, ", t_com {}", Time(t_com_s))?;
        }
        write!(f, ", posts {}, waits {}", Time(*t_post_s), Time(*t_wait_s))?;
        writeln!(f, " (of them {} for messages under way)", Time(*t_exposed_s))?;
        if let (Some(gamma), Some(share), Some(omega)) = (self.gamma, self.f, self.omega) {
            writeln!(
                f,
                "  gamma = t_calc/t_com = {gamma:.3}, f = {share:.3}, Omega = (t_post + t_kernel)/t_calc = {omega:.4}"
            )?;
        }
        if let Some(hidden) = self.hidden {
            write!(f, "  {:.0} % of the communication was hidden (1 - t_exposed/t_com)", 100.0 * hidden)?;
        }
        if let (Some(observed), Some(model), Some(ideal)) = (self.gain_observed, self.gain_model, self.gain_ideal) {
            write!(f, "; G = {observed:.2} as observed, {model:.2} by eq. (4), {ideal:.2} by eq. (1)")?;
        }
        if let Some(measured) = self.gain_measured {
            write!(f, "; G = {measured:.2} measured (off/on)")?;
        }
        if self.hidden.is_some() || self.gain_measured.is_some() {
            writeln!(f)?;
        }
        self.links.iter().try_for_each(|link| writeln!(f, "  {link}"))?;
        self.collectives.iter().try_for_each(|collective| writeln!(f, "  {collective}"))?;
        self.changes.iter().try_for_each(|change| writeln!(f, "  changed at {change}"))?;
        self.regions.iter().try_for_each(|region| writeln!(f, "  {region}"))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))?;
        write!(f, "  {}", self.advice.words)
    }
}

impl fmt::Display for LinkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkReport { peer, messages_sent, bytes_sent, messages_received, bytes_received, .. } = self;
        write!(f, "link to rank {peer}: {messages_sent} messages, {bytes_sent} bytes out; ")?;
        write!(f, "{messages_received} messages, {bytes_received} bytes in")?;
        if let Some(fit) = &self.hyperbolic {
            write!(f, "; T(x) of eq. (3): a = {}, b = {:.3} ns/byte", Time(fit.a_s), fit.b_s_per_byte * 1e9)?;
            if let (Some(median), Some(p90)) = (fit.median_error, fit.p90_error) {
                write!(f, " (error {:.0} %, 90th percentile {:.0} %)", 100.0 * median, 100.0 * p90)?;
            }
        } else if let Some(size) = self.sizes.iter().max_by_key(|size| size.bytes) {
            write!(f, "; {} bytes take {} ({} samples)", size.bytes, Time(size.median_s), size.samples)?;
        }
        if let (Some(offset_s), Some(error_s)) = (self.clock_offset_s, self.clock_error_s) {
            write!(f, "; clocks {} apart, within {}", Time(offset_s), Time(error_s))?;
        }
        if let Some(note) = &self.note {
            write!(f, "; {note}")?;
        }
        if self.cuts > 0 {
            let times = if self.cuts == 1 { "once".to_owned() } else { format!("{} times", self.cuts) };
            let of_checksums = match self.wrong_checksums {
                0 => String::new(),
                count => format!(" ({count} by a wrong checksum)"),
            };
            let (down, again) = (Time(self.down_s), self.sent_again_bytes);
            write!(f, "; cut {times}{of_checksums}, down for {down}, {again} bytes sent again")?;
        }
        Ok(())
    }
}

/// Seconds, in a unit that suits.
struct Time(f64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0.abs() {
            size if size >= 1.0 => (1.0, "s"),
            size if size >= 1e-3 => (1e3, "ms"),
            0.0 => (1.0, "s"),
            _ => (1e6, "us"),
        };
        write!(f, "{:.3} {unit}", self.0 * scale)
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
