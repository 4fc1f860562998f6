//! The result's tables for people, and its numbers in sentences.

use crate::report::summary::Summary;
use crate::report::table::Table;
use crate::report::wrap;

use super::cluster::{Cluster, CostFit};
use super::plan::SIGNAL_BYTES;
use super::results::{
    Bandwidth, Errors, Exchange, Fragments, Hyperbolic, Latency, Loaded, Overlap, ProcessorUse, Rate, Segmented,
};
use crate::commands::common::console::grouped;

pub(super) fn latency(rows: &[Latency]) -> String {
    let mut table = Table::new([
        "bytes",
        "raw\nus",
        "polled\nus",
        "lathide\nus",
        "penalty",
        "\nmin .. max",
        "penalty\npolled",
        "\nmin .. max",
    ]);
    for row in rows {
        let mut cells = vec![grouped(row.bytes)];
        cells.extend([row.raw_s, row.raw_polled_s, row.lathide_s].map(|time| digits(1e6 * time.median)));
        for ratio in [row.penalty, row.penalty_polled] {
            cells.extend([format!("{:.2}", ratio.median), range(ratio)]);
        }
        table.row(cells);
    }
    titled("One-way time, half the round trip. Penalty: lathide's time over raw TCP's, blocking and polled.", &table)
}

pub(super) fn bandwidth(rows: &[Bandwidth]) -> String {
    let mut table =
        Table::new(["bytes", "raw\nMB/s", "polled\nMB/s", "lathide\nMB/s", "ratio", "\nmin .. max", "\nmessages"]);
    for row in rows {
        let rates = [row.raw_bytes_per_s, row.raw_polled_bytes_per_s, row.lathide_bytes_per_s];
        let mut cells = vec![grouped(row.bytes)];
        cells.extend(rates.map(|rate| digits(1e-6 * rate.median)));
        cells.extend([format!("{:.2}", row.ratio.median), range(row.ratio), row.messages.to_string()]);
        table.row(cells);
    }
    titled(
        "Bandwidth one way, a few messages posted at a time. Ratio: lathide over the better of both raw ways.",
        &table,
    )
}

pub(super) fn exchange(rows: &[Exchange]) -> String {
    let mut table =
        Table::new(["bytes", "ping-pong\nms", "at once\nms", "speed-up", "\nmin .. max", "raw at once\nms", "penalty"]);
    for row in rows {
        let ms = |time: Summary| digits(1e3 * time.median);
        table.row([
            grouped(row.bytes),
            ms(row.pingpong_s),
            ms(row.simultaneous_s),
            format!("{:.2}", row.speedup.median),
            range(row.speedup),
            ms(row.raw_simultaneous_s),
            format!("{:.2}", row.penalty.median),
        ]);
    }
    titled(
        "A message each way: one after the other and both at once, with lathide; at once over one raw connection.",
        &table,
    )
}

pub(super) fn overlap(what: &str, rows: &[Overlap]) -> String {
    let mut table = Table::new([
        "bytes",
        "t_calc\nms",
        "t_com\nms",
        "t_total\nms",
        "overlap\n%",
        "\nmin .. max",
        "effective\n%",
        "available\n%",
        "other idle\n%",
        "own CPU\nms",
    ]);
    for row in rows {
        let ms = |time: Summary| digits(1e3 * time.median);
        let percent = |share: f64| format!("{:.0}", 100.0 * share);
        table.row([
            grouped(row.bytes),
            ms(row.t_calc_s),
            ms(row.t_com_s),
            ms(row.t_total_s),
            percent(row.overlap.median),
            format!("{} .. {}", percent(row.overlap.min), percent(row.overlap.max)),
            percent(row.effective_overlap.median),
            percent(row.availability.median),
            percent(row.availability_spare.median),
            ms(row.own_cpu_s),
        ]);
    }
    titled(
        &format!(
            "{what} behind a calculation. Overlap: 1 - (t_total - t_calc) / t_com; effective: with lathide's own \
             processor time charged to the calculation; available: what the calculation has of its processor meanwhile, \
             and what where the other node has nothing to calculate."
        ),
        &table,
    )
}

pub(super) fn fragments(rows: &[Fragments]) -> String {
    let Some(bytes) = rows.first().map(|row| row.bytes) else { return String::new() };
    let mut table = Table::new(["fragment\nbytes", "one way\nus", "\nmin .. max"]);
    for row in rows {
        let us = |time: f64| digits(1e6 * time);
        table.row([grouped(row.fragment_bytes), us(row.s.median), format!("{} .. {}", us(row.s.min), us(row.s.max))]);
    }
    titled(&format!("A message of {} bytes by fragment size.", grouped(bytes)), &table)
}

fn titled(title: &str, table: &Table) -> String {
    format!("{}\n\n{table}", wrap(title))
}

pub(super) fn rate(rate: &Rate) -> String {
    let per_s = |rate: Summary| grouped(rate.median.round() as usize);
    wrap(&format!(
        "Message rate: {} messages of {} bytes per second, {:.2} ({}) of raw TCP with one write each ({} blocking, {} \
         polled).",
        per_s(rate.lathide_per_s),
        rate.bytes,
        rate.ratio.median,
        range(rate.ratio),
        per_s(rate.raw_per_s),
        per_s(rate.raw_polled_per_s),
    ))
}

pub(super) fn under_load(loaded: &Loaded) -> String {
    wrap(&format!(
        "Beside a message of {} bytes to the same rank, 8 bytes take {} one way (p99 {}); alone {} (p99 {}): {:.1} \
         (p99 {:.1}) times as long, by {} round trips.",
        grouped(loaded.bytes),
        duration(loaded.p50_s),
        duration(loaded.p99_s),
        duration(loaded.idle_p50_s),
        duration(loaded.idle_p99_s),
        loaded.p50_ratio,
        loaded.p99_ratio,
        loaded.samples,
    ))
}

pub(super) fn processor(processor: &ProcessorUse) -> String {
    let parts = [(processor.message, "per message of 8 bytes to and fro"), (processor.mib, "per MiB streamed")];
    let texts = parts.into_iter().filter_map(|(used, of_what)| {
        let used = used?;
        Some(format!(
            "{} {of_what}, {:.2} ({}) of blocking raw TCP ({}; polled {})",
            duration(used.lathide_s.median),
            used.ratio.median,
            range(used.ratio),
            duration(used.raw_s.median),
            duration(used.raw_polled_s.median),
        ))
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        String::new()
    } else {
        wrap(&format!("Processor time of both processes: {}.", texts.join("; ")))
    }
}

pub(super) fn hyperbolic(fit: &Hyperbolic) -> String {
    wrap(&format!(
        "Hyperbolic model of lathide's one-way time, T(x; a, b) = a^2 / (a + b x) + b x: a = {}, b = {} ns/byte. {}",
        duration(fit.a_s),
        digits(1e9 * fit.b_s_per_byte),
        errors(&fit.errors),
    ))
}

/// The extension, where it says something that the hyperbolic model does not.
pub(super) fn segmented(fit: &Segmented) -> String {
    let piece = |segment: &lathide_models::fit::segmented::Segment| {
        format!("{} ns/byte from {} bytes", digits(1e9 * segment.s_per_byte), grouped(segment.from_bytes as usize))
    };
    let pieces: Vec<String> = fit.model.segments.iter().map(piece).collect();
    wrap(&format!(
        "Beside it, piece by piece: {} and {}. {}",
        duration(fit.model.start_s),
        pieces.join(", "),
        errors(&fit.errors)
    ))
}

/// The cluster model's parameters as functions of size.
pub(super) fn cluster(cluster: &Cluster) -> String {
    let sizes = [SIGNAL_BYTES, cluster.packet_bytes / 16, cluster.packet_bytes];
    let mut titles = vec!["".to_owned(), "startup\nus".to_owned(), "slope\nns/byte".to_owned()];
    titles.extend(sizes.map(|bytes| format!("{} bytes\nus", grouped(bytes))));
    titles.extend(["error %\nmedian", "\n9 of 10"].map(str::to_owned));
    let mut table = Table::new(titles);
    for (symbol, fit) in cluster.costs() {
        let Some(CostFit { cost, median_error, p90_error }) = fit else { continue };
        let mut cells = vec![symbol.to_owned(), digits(1e6 * cost.startup_s), digits(1e9 * cost.s_per_byte)];
        cells
            .extend(sizes.map(|bytes| cost.time_s(bytes as u64).map_or("-".to_owned(), |time_s| digits(1e6 * time_s))));
        cells.extend([median_error, p90_error].map(|error| error.map_or("-".to_owned(), |error| digits(1e2 * error))));
        table.row(cells);
    }
    let title = format!(
        "Cluster model (Tam, Wang, section 3.2), two nodes sending to one: costs startup + slope m of a message of m \
         bytes, with the error at sizes they were not fitted to. A packet is at most {} bytes; a receiver holds {} of \
         each sender before it reads (B_L, as set).",
        grouped(cluster.packet_bytes),
        grouped(cluster.buffer_packets as usize),
    );
    let notes: String = cluster.notes.iter().map(|note| format!("\n{}", wrap(&format!("{note}.")))).collect();
    titled(&title, &table) + &notes
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
    format!("{:.2} .. {:.2}", ratio.min, ratio.max)
}

/// A time with its unit.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 1.0 => format!("{} s", digits(seconds)),
        seconds if seconds >= 1e-3 => format!("{} ms", digits(1e3 * seconds)),
        seconds => format!("{} us", digits(1e6 * seconds)),
    }
}

/// Three digits that count, or all before the point.
pub(super) fn digits(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    if places == 0 { grouped(value.round().max(0.0) as usize) } else { format!("{value:.places$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0.1234, 4.4449, 28.06, 134_743.6].map(digits), ["0.123", "4.44", "28.1", "134 744"]);
        assert_eq!([4.4e-6, 1.234e-3, 2.5].map(duration), ["4.40 us", "1.23 ms", "2.50 s"]);
    }
}
