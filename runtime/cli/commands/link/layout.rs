//! How the results of a link are shown: tables, curves, and what they mean.

use lathide_models::fit::by_size::Errors;
use serde_json::json;

use super::contention::Found;
use super::outcome::Outcome;
use super::plan::SIGNAL_BYTES;
use super::results::{Loaded, ProcessorUse, Row};
use crate::commands::common::compared;
use crate::commands::common::raw::{CALL_BYTES, CONGESTION_CONTROL};
use crate::report::format::{bytes, grouped, plain, seconds};
use crate::report::results::{Axis, Chart, Form, Look, Results, Table, dense, points};
use crate::report::summary::Summary;
use lathide_models::fit::cluster::survey::{Cluster, CostFit};

/// The version changes when a member of [`Outcome`] changes its meaning or goes.
const SCHEMA: &str = "lathide-link-2";
const MIB: usize = 1 << 20;

impl Outcome {
    pub(super) fn results(&self) -> Results {
        let mut results = Results::new(SCHEMA, "lathide beside raw TCP", self);
        results
            .text(format!(
                "Raw TCP is blocking and polled, between the same two processes, in turns with lathide. Within this host lathide and raw TCP both use {}, and TCP_NODELAY; raw TCP writes streams {} at a time. Each \
                 process's program has a core of its own where there are two.",
                CONGESTION_CONTROL,
                bytes(CALL_BYTES as f64)
            ))
            .table(latency());
        let (one_way, penalty, rates) = self.charts(&results);
        results
            .chart(one_way)
            .chart(penalty)
            .table(quantiles())
            .text(self.interval())
            .table(compared::table())
            .table(bandwidth())
            .chart(rates)
            .table(exchange())
            .table(overlap("overlap", "A message one way"))
            .table(overlap("exchange_overlap", "Messages both ways at once"))
            .table(fragments())
            .text(self.message_rate.as_ref().map(rate).unwrap_or_default())
            .text(self.under_load.as_ref().map(under_load).unwrap_or_default())
            .text(processor(&self.processor))
            .text(self.models());
        if let Some(it) = &self.cluster {
            results.table(cluster(it));
            it.notes.iter().for_each(|note| _ = results.text(format!("{note}.")));
        }
        if let Some(found) = &self.contention {
            found.show(&mut results);
        }
        if let Some(found) = &self.sending {
            found.show(&mut results);
        }
        results.conclusion = self.conclusion();
        results.warnings.clone_from(&self.warnings);
        results
    }

    /// What stands beside the medians.
    pub(super) fn interval(&self) -> String {
        match self.median_interval["confidence"].as_f64() {
            None => {
                "Beside medians stand least and greatest; there were too few repetitions for an interval.".to_owned()
            }
            Some(confidence) => format!(
                "Beside medians stand least and greatest of {} repetitions: the {:.1} % interval of the median, by order statistics.",
                self.repeats,
                (1000.0 * confidence).floor() / 10.0
            ),
        }
    }

    /// One-way times with the models of them, the penalty, and rates.
    fn charts(&self, results: &Results) -> (Chart, Chart, Chart) {
        let size = || Axis::log("message bytes", Form::Bytes);
        let of = |key: &str| results.series("latency", "bytes", key);
        let sizes = || self.latency.iter().map(|row| row.bytes() as f64);
        let mut one_way = Chart::new(size(), Axis::log("one way", Form::Seconds));
        if let Some(fit) = &self.hyperbolic {
            let curve = dense(sizes()).filter_map(|bytes| Some((bytes, fit.model.time_s(bytes as u64).ok()?)));
            one_way = one_way.curve("hyperbolic", Look::Solid, curve);
        }
        if let Some(fit) = &self.segmented {
            let curve = dense(sizes()).filter_map(|bytes| Some((bytes, fit.model.time_s(bytes as u64).ok()?)));
            one_way = one_way.curve("segmented", Look::Dotted, curve);
        }
        let one_way = one_way
            .points("lathide", of("lathide_s"))
            .points("raw, blocking", of("raw_s"))
            .points("raw, polled", of("raw_polled_s"));
        let penalty = Chart::new(size(), Axis::linear("penalty", Form::Plain))
            .curve("raw TCP", Look::Dotted, sizes().map(|bytes| (bytes, 1.0)))
            .points("against blocking", of("penalty"))
            .points("against polled", of("penalty_polled"));
        let to_and_fro = |variants: &'static [&str]| {
            let least_s = |row: &Row| variants.iter().map(|name| row.get(name).median).fold(f64::MAX, f64::min);
            self.latency.iter().map(move |row| (row.bytes() as f64, row.bytes() as f64 / least_s(row)))
        };
        let streams = results.rows("bandwidth");
        let rates = Chart::new(size(), Axis::linear("rate", Form::Rate))
            .curve("lathide ping-pong", Look::Solid, to_and_fro(&["lathide_s"]))
            .curve("raw ping-pong", Look::Dotted, to_and_fro(&["raw_s", "raw_polled_s"]))
            .points("lathide, stream", points(streams, "bytes", "lathide_bytes_per_s"))
            .points("raw, stream", points(streams, "bytes", "raw_bytes_per_s"))
            .points("polled, stream", points(streams, "bytes", "raw_polled_bytes_per_s"));
        (one_way, penalty, rates)
    }

    /// The models of lathide's one-way time.
    fn models(&self) -> String {
        let Some(fit) = &self.hyperbolic else { return String::new() };
        let (a, b) = (seconds(fit.model.a_s), seconds(fit.model.b_s_per_byte));
        let hyperbolic = format!(
            "Hyperbolic model of lathide's one-way time, T(x; a, b) = a^2 / (a + b x) + b x (Stoica, Sultan, Keyes, eq. (3)): \
             a = {a}, b = {b} per byte. {}",
            errors(&fit.errors)
        );
        let Some(fit) = &self.segmented else { return hyperbolic };
        let pieces = fit.model.segments.iter();
        let pieces =
            pieces.map(|piece| format!("{} per byte from {}", seconds(piece.s_per_byte), bytes(piece.from_bytes)));
        format!(
            "{hyperbolic} Beside it, piecewise linear: {} and {}. {}",
            seconds(fit.model.start_s),
            pieces.collect::<Vec<_>>().join(", "),
            errors(&fit.errors)
        )
    }

    /// What it means.
    fn conclusion(&self) -> String {
        let Some(short) = self.latency.first() else { return String::new() };
        let median = |name| short.get(name).median;
        let (size, time) = (short.bytes(), seconds(median("lathide_s")));
        let (blocking, polled) = (median("penalty"), median("penalty_polled"));
        let mut parts = vec![format!(
            "{size} bytes take {time} one way with lathide, {blocking:.2} of blocking raw TCP and {polled:.2} of polled"
        )];
        let rate = |row: &Row| row.get("lathide_bytes_per_s").median;
        let best = self.bandwidth.iter().max_by(|one, other| rate(one).total_cmp(&rate(other)));
        parts.extend(best.map(|row| {
            format!("streams reach {} MB/s, {:.2} of raw TCP", plain(1e-6 * rate(row)), row.get("ratio").median)
        }));
        parts.extend(self.overlap.iter().min_by_key(|row| row.bytes().abs_diff(MIB)).map(|row| {
            let (hidden, size) = (100.0 * row.get("overlap").median.clamp(0.0, 1.0), bytes(row.bytes() as f64));
            if self.link.emulated {
                format!("{hidden:.0} % of a message of {size} hide behind a calculation")
            } else {
                let cores = self.machine.cores;
                format!(
                    "of a message of {size} {hidden:.0} % hide behind a calculation, where no link but {cores} cores do \
                     all of both"
                )
            }
        }));
        parts.extend(self.contention.as_ref().and_then(Found::in_short));
        format!("{}.", parts.join("; "))
    }
}

fn by_size(rows: &str, title: impl Into<String>) -> Table {
    Table::of(rows).title(title).column("bytes", "bytes", Form::Bytes)
}

fn latency() -> Table {
    let title = "One-way time, half the round trip. Penalty: lathide's time over raw TCP's, blocking and polled.";
    by_size("latency", title)
        .column("raw_s", "raw", Form::Seconds)
        .column("raw_polled_s", "polled", Form::Seconds)
        .column("lathide_s", "lathide", Form::Seconds)
        .range("penalty", "penalty", Form::Fixed(2))
        .range("penalty_polled", "penalty\npolled", Form::Fixed(2))
}

fn quantiles() -> Table {
    let title = "One-way time by round trip: the median and the 99th percentile within a repetition (medians over repetitions), and the \
                 greatest of all.";
    by_size("latency", title)
        .column("raw_p50_s", "raw\np50", Form::Seconds)
        .column("raw_p99_s", "\np99", Form::Seconds)
        .column("raw_greatest_s_max", "\nmax", Form::Seconds)
        .column("raw_polled_p50_s", "polled\np50", Form::Seconds)
        .column("raw_polled_p99_s", "\np99", Form::Seconds)
        .column("raw_polled_greatest_s_max", "\nmax", Form::Seconds)
        .column("lathide_p50_s", "lathide\np50", Form::Seconds)
        .column("lathide_p99_s", "\np99", Form::Seconds)
        .column("lathide_greatest_s_max", "\nmax", Form::Seconds)
}

fn bandwidth() -> Table {
    let title =
        "Bandwidth one way, a few messages posted at a time. Ratio: lathide over the better of both raw variants.";
    by_size("bandwidth", title)
        .column("raw_bytes_per_s", "raw", Form::Rate)
        .column("raw_polled_bytes_per_s", "polled", Form::Rate)
        .column("lathide_bytes_per_s", "lathide", Form::Rate)
        .range("ratio", "ratio", Form::Fixed(2))
        .column("messages", "messages", Form::Count)
}

fn exchange() -> Table {
    let title =
        "A message each way: one after the other and both at once, with lathide; at once over one raw connection.";
    by_size("exchange", title)
        .column("pingpong_s", "ping-pong", Form::Seconds)
        .column("simultaneous_s", "at once", Form::Seconds)
        .range("speedup", "speed-up", Form::Fixed(2))
        .column("raw_simultaneous_s", "raw at once", Form::Seconds)
        .column("penalty", "penalty", Form::Fixed(2))
}

fn overlap(rows: &str, what: &str) -> Table {
    let title = format!(
        "{what} behind a calculation. Overlap: 1 - (t_total - t_calc) / t_com; effective: with lathide's own processor time \
         charged to the calculation; available: what the calculation has of its processor meanwhile, and what where the \
         other node has nothing to calculate. OSU: overlap as osu_i* print it, not below 0; IMB: as IMB-NBC does, (t_com + t_calc - \
         t_total) / max(t_com, t_calc)."
    );
    by_size(rows, title)
        .column("t_calc_s", "t_calc", Form::Seconds)
        .column("t_com_s", "t_com", Form::Seconds)
        .column("t_total_s", "t_total", Form::Seconds)
        .range("overlap", "overlap", Form::Percent(0))
        .column("overlap_osu", "OSU", Form::Percent(0))
        .column("overlap_imb", "IMB", Form::Percent(0))
        .column("effective_overlap", "effec-\ntive", Form::Percent(0))
        .column("availability", "avail-\nable", Form::Percent(0))
        .column("availability_spare", "other\nidle", Form::Percent(0))
        .column("own_cpu_s", "own\nCPU", Form::Seconds)
}

fn fragments() -> Table {
    Table::of("fragments")
        .title("A message by fragment size.")
        .column("bytes", "message", Form::Bytes)
        .column("fragment_bytes", "fragment", Form::Bytes)
        .range("s", "one way", Form::Seconds)
}

/// The cluster model's parameters as functions of size, in the order of a message's way.
fn cluster(cluster: &Cluster) -> Table {
    let row = |(symbol, what, fit): (&str, &str, Option<CostFit>)| {
        let fit = fit?;
        let time_s = |bytes: usize| json!(fit.cost.time_s(bytes as u64).ok());
        let mut row = json!(fit);
        (row["symbol"], row["cost"]) = (symbol.into(), what.into());
        (row["short_s"], row["packet_s"]) = (time_s(SIGNAL_BYTES), time_s(cluster.packet_bytes));
        Some(row)
    };
    Table::with(cluster.costs().into_iter().filter_map(row).collect())
        .title(format!(
            "Cluster model (Tam, Wang, section 3.2), two nodes sending to one: costs startup + slope m of a message of m \
             bytes, with the error at sizes they were not fitted to. A packet is at most {}; a receiver holds {} of \
             each sender before it reads (B_L, as set).",
            bytes(cluster.packet_bytes as f64),
            grouped(cluster.buffer_packets as f64),
        ))
        .column("symbol", "", Form::Word)
        .column("cost", "cost", Form::Word)
        .column("startup_s", "startup", Form::Seconds)
        .column("s_per_byte", "slope", Form::SecondsPerByte)
        .column("short_s", &format!("{SIGNAL_BYTES} bytes"), Form::Seconds)
        .column("packet_s", "a packet", Form::Seconds)
        .column("median_error", "error\nmedian", Form::Percent(1))
        .column("p90_error", "\np90", Form::Percent(1))
}

fn rate(row: &Row) -> String {
    let per_s = |name| grouped(row.get(name).median);
    let [lathide, raw, polled] = ["lathide_per_s", "raw_per_s", "raw_polled_per_s"].map(per_s);
    let (bytes, ratio) = (row.bytes(), range(row.get("ratio")));
    format!(
        "Message rate: {lathide} messages of {bytes} bytes per second, {ratio} of raw TCP with one write each ({raw} blocking, \
         {polled} polled)."
    )
}

fn under_load(loaded: &Loaded) -> String {
    let Loaded { idle_p50_s, idle_p99_s, p50_s, p99_s, p50_ratio, p99_ratio, samples, .. } = *loaded;
    let [p50, p99, idle_p50, idle_p99] = [p50_s, p99_s, idle_p50_s, idle_p99_s].map(seconds);
    let long = bytes(loaded.bytes as f64);
    format!(
        "Beside a message of {long} to the same rank, 8 bytes take {p50} one way (p99 {p99}); alone {idle_p50} (p99 \
         {idle_p99}): {p50_ratio:.1} (p99 {p99_ratio:.1}) times as long, by {samples} round trips."
    )
}

fn processor(processor: &ProcessorUse) -> String {
    let state = |row: &Row, of_what: &str| {
        let [lathide, raw, polled] = ["lathide_s", "raw_s", "raw_polled_s"].map(|name| seconds(row.get(name).median));
        let ratio = range(row.get("ratio"));
        format!("{lathide} {of_what}, {ratio} of blocking raw TCP ({raw}; polled {polled})")
    };
    let message = processor.message.iter().map(|row| state(row, "per message of 8 bytes to and fro"));
    let texts: Vec<String> = message.chain(processor.mib.iter().map(|row| state(row, "per MiB streamed"))).collect();
    if texts.is_empty() { String::new() } else { format!("Processor time of both processes: {}.", texts.join("; ")) }
}

fn errors(errors: &Errors) -> String {
    format!(
        "Cross-validated: median error {:.1} % of {} sizes, p90 {:.1} %.",
        100.0 * errors.median_error,
        errors.held_out_bytes.len(),
        100.0 * errors.p90_error,
    )
}

fn range(ratio: Summary) -> String {
    format!("{:.2} ({:.2} .. {:.2})", ratio.median, ratio.min, ratio.max)
}
