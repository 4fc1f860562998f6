//! What the links of a node have shown: their reports, and what all messages of a program or of a region take on their way. Pure.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::links::{CLASSES, Count, Link};
use super::offset::Offset;
use crate::ids::Rank;
use lathide_models::fit::{Sample, hyperbolic};

/// A fit needs sizes that are so many times apart; nearer ones do not tell a from b.
const SPREAD_MIN: u64 = 4;

/// Up to here the bytes of a message add little to its time.
const SHORT_BYTES: u64 = 4096;

/// Messages by size class: out, in.
pub(crate) type Traffic = [[Count; CLASSES]; 2];

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

/// What messages take on their way, by link.
pub(crate) struct Services(BTreeMap<Rank, Service>);

/// What messages take on their way over one link.
struct Service {
    sizes: [Option<SizeReport>; CLASSES],
    fitted: Option<hyperbolic::Hyperbolic>,
}

/// Messages of both directions.
pub(crate) fn messages([sent, received]: &Traffic) -> u64 {
    Link::total(sent).messages + Link::total(received).messages
}

/// Sums the links up that have carried messages or were cut.
pub(crate) fn reports<'a>(links: impl Iterator<Item = &'a (Rank, Link)>, now_ns: u64) -> (Vec<LinkReport>, Services) {
    let (reports, services): (Vec<LinkReport>, Vec<Service>) =
        links.map(|(peer, link)| observed(*peer, link, now_ns)).unzip();
    let services = reports.iter().map(|report| report.peer).zip(services).collect();
    (reports, Services(services))
}

/// Sums one link up.
fn observed(peer: Rank, link: &Link, now_ns: u64) -> (LinkReport, Service) {
    let (sent, received) = (Link::total(&link.sent), Link::total(&link.received));
    let mut sizes = [None; CLASSES];
    link.samples().zip(&mut sizes).for_each(|(samples, size)| *size = summed(samples));
    let offset = link.clock.offset();
    // What stood in a queue behind another has waited for that, which has its own time.
    let mut alone = [None; CLASSES];
    link.unqueued().zip(&mut alone).for_each(|(samples, size)| *size = summed(samples));
    let samples: Vec<Sample> = link.unqueued().flatten().copied().collect();
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
    (report, Service { sizes: alone, fitted: model })
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

impl Services {
    /// What all these messages take on their way; `None` if no link has shown how long that is. And the links that have shown
    /// nothing, and are taken to be like the others.
    pub(crate) fn communication_s<'a>(
        &self,
        traffic: impl Iterator<Item = (Rank, &'a Traffic)>,
    ) -> (Option<f64>, Vec<Rank>) {
        let (mut sum_s, mut unseen) = (0.0, Vec::new());
        let any = self.0.values().find(|service| service.is_known());
        for (peer, [sent, received]) in traffic.filter(|(_, traffic)| messages(traffic) > 0) {
            let own = self.0.get(&peer).filter(|service| service.is_known());
            if own.is_none() {
                unseen.push(peer);
            }
            let Some(service) = own.or(any) else { return (None, unseen) };
            let direction_s =
                |counts: &[Count; CLASSES]| counts.iter().map(|count| service.all_s(count, &self.0)).sum::<f64>();
            sum_s += direction_s(sent).max(direction_s(received));
        }
        (Some(sum_s), unseen)
    }
}

impl Service {
    fn is_known(&self) -> bool {
        self.sizes.iter().any(Option::is_some)
    }

    /// What the messages of one class take, one after another. `all`: what the node's links have shown.
    fn all_s(&self, count: &Count, all: &BTreeMap<Rank, Service>) -> f64 {
        if count.messages == 0 {
            return 0.0;
        }
        count.messages as f64 * self.one_s(count.bytes as f64 / count.messages as f64, all)
    }

    /// What one message takes: as observed of its class or as fitted, here or else on another link; else as the class
    /// that is nearest.
    fn one_s(&self, bytes: f64, all: &BTreeMap<Rank, Service>) -> f64 {
        let class = super::links::class(bytes as u64);
        let known = |service: &Service| {
            let seen = service.sizes[class].map(|size| size.median_s);
            seen.or_else(|| service.fitted.and_then(|fitted| fitted.time_s(bytes as u64).ok()))
        };
        if let Some(time_s) = known(self).or_else(|| all.values().find_map(known)) {
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
pub(super) struct Time(pub(super) f64);

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
