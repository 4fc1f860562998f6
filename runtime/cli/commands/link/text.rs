//! The result for people: header, tables, curves, a conclusion.

use crate::report::description::MachineDescription;
use crate::report::plot::{Chart, Stroke};
use crate::report::summary::Summary;
use crate::report::wrap;

use super::outcome::Outcome;
use super::results::Latency;
use super::tables::{self, digits, duration};

/// From here on the reader is warned.
const BACKGROUND_MIN: f64 = 0.05;
const MIB: usize = 1 << 20;

impl Outcome {
    /// Header, tables, curves and conclusion.
    pub(super) fn text(&self, colour: bool) -> String {
        let with = |is_there: bool, text: &dyn Fn() -> String| if is_there { text() } else { String::new() };
        let parts = [
            self.header(),
            tables::latency(&self.latency),
            self.penalty_curve(colour),
            with(!self.bandwidth.is_empty(), &|| tables::bandwidth(&self.bandwidth)),
            self.bandwidth_curve(colour),
            with(!self.exchange.is_empty(), &|| tables::exchange(&self.exchange)),
            with(!self.overlap.is_empty(), &|| tables::overlap("A message one way", &self.overlap)),
            with(!self.exchange_overlap.is_empty(), &|| {
                tables::overlap("Messages both ways at once", &self.exchange_overlap)
            }),
            tables::fragments(&self.fragments),
            self.message_rate.as_ref().map(tables::rate).unwrap_or_default(),
            self.under_load.as_ref().map(tables::under_load).unwrap_or_default(),
            tables::processor(&self.processor),
            self.hyperbolic.as_ref().map(tables::hyperbolic).unwrap_or_default(),
            self.segmented.as_ref().map(tables::segmented).unwrap_or_default(),
            self.cluster.as_ref().map(tables::cluster).unwrap_or_default(),
            self.conclusion(),
            self.warning(),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    fn header(&self) -> String {
        let MachineDescription { cores, kernel, congestion_control } = &self.machine;
        let raw = self.raw.congestion_control;
        [
            "lathide beside raw TCP, blocking and polled, between the same two processes, in turns.".to_owned(),
            format!("Link: {}.", self.link.how),
            format!(
                "Machine: {cores} cores, {kernel}, TCP {congestion_control}; within this host lathide and raw TCP both \
                 use {raw}, and TCP_NODELAY; raw TCP writes streams {} KiB at a time. Each process's program has a core of \
                 its own where there are two. Medians of {}.",
                self.raw.stream_call_bytes >> 10,
                self.repeats
            ),
        ]
        .map(|paragraph| wrap(&paragraph))
        .join("\n")
    }

    fn penalty_curve(&self, colour: bool) -> String {
        if self.latency.len() < 2 {
            return String::new();
        }
        let points =
            |of: fn(&Latency) -> Summary| self.latency.iter().map(move |row| (row.bytes as f64, of(row).median));
        let equal = self.latency.iter().map(|row| (row.bytes as f64, 1.0));
        Chart::new("message bytes", "penalty")
            .curve("raw TCP", Stroke::Dotted, equal)
            .points("against blocking", '*', points(|row| row.penalty))
            .points("against polled", 'o', points(|row| row.penalty_polled))
            .x_in_bytes()
            .render(colour)
    }

    fn bandwidth_curve(&self, colour: bool) -> String {
        if self.latency.len() < 2 {
            return String::new();
        }
        let half = |of: fn(&Latency) -> f64| {
            self.latency.iter().map(move |row| (row.bytes as f64, 1e-6 * row.bytes as f64 / of(row)))
        };
        let streams = self.bandwidth.iter().map(|row| (row.bytes as f64, 1e-6 * row.lathide_bytes_per_s.median));
        let raw = self.bandwidth.iter().map(|row| {
            let better = row.raw_bytes_per_s.median.max(row.raw_polled_bytes_per_s.median);
            (row.bytes as f64, 1e-6 * better)
        });
        Chart::new("message bytes", "MB/s")
            .curve("lathide to and fro", Stroke::Solid, half(|row| row.lathide_s.median))
            .curve("raw to and fro", Stroke::Dotted, half(|row| row.raw_s.median.min(row.raw_polled_s.median)))
            .points("raw, stream", 'o', raw)
            .points("lathide, stream", '*', streams)
            .x_in_bytes()
            .render(colour)
    }

    /// What it means.
    fn conclusion(&self) -> String {
        let Some(short) = self.latency.first() else { return String::new() };
        let mut parts = vec![format!(
            "{} bytes take {} one way with lathide, {:.2} of blocking raw TCP and {:.2} of polled",
            short.bytes,
            duration(short.lathide_s.median),
            short.penalty.median,
            short.penalty_polled.median,
        )];
        let best = self
            .bandwidth
            .iter()
            .max_by(|one, other| one.lathide_bytes_per_s.median.total_cmp(&other.lathide_bytes_per_s.median));
        parts.extend(best.map(|row| {
            let rate = digits(1e-6 * row.lathide_bytes_per_s.median);
            format!("streams reach {rate} MB/s, {:.2} of raw TCP", row.ratio.median)
        }));
        parts.extend(self.overlap.iter().min_by_key(|row| row.bytes.abs_diff(MIB)).map(|row| {
            let hidden = 100.0 * row.overlap.median.clamp(0.0, 1.0);
            let size = if row.bytes >= MIB { format!("{} MiB", row.bytes >> 20) } else { format!("{} KiB", row.bytes >> 10) };
            if self.link.emulated {
                format!("{hidden:.0} % of an exchange of {size} hide behind a calculation")
            } else {
                let cores = self.machine.cores;
                format!(
                    "of an exchange of {size} {hidden:.0} % hide behind a calculation, where no link but {cores} cores do \
                     all of both"
                )
            }
        }));
        wrap(&format!("{}.", parts.join("; ")))
    }

    /// When not to trust the numbers.
    fn warning(&self) -> String {
        let Some(share) = self.others_share.filter(|share| *share >= BACKGROUND_MIN) else { return String::new() };
        wrap(&format!(
            "Other programs had {:.0} % of the processors' time: measure again when the machine is quiet.",
            100.0 * share
        ))
    }
}
