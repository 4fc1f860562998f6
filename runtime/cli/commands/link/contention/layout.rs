//! How contention is shown: a table and a curve by number of pairs, and what they mean.

use lathide_models::fit::contention::{Medium, Pairs};
use serde_json::{Value, json};

use super::results::Found;
use crate::report::format::{bytes, plain, seconds};
use crate::report::results::{Axis, Chart, Form, Look, Results, Table, dense, points};

impl Found {
    /// Shows it next.
    pub(in crate::commands::link) fn show(&self, results: &mut Results) {
        let chart = self.chart(results);
        results.table(self.table()).chart(chart).text(self.verdict()).table(self.floods()).text(self.queue());
        self.notes.iter().for_each(|note| _ = results.text(format!("{}.", capitalised(note))));
    }

    fn table(&self) -> Table {
        let row = |one: &Pairs| {
            let mut row = json!(one);
            row["own"] = json!(one.load.processor.map(|processor| processor.own));
            row["busy"] = json!(one.load.processor.map(|processor| processor.busy));
            row
        };
        Table::with(self.contention.pairs.iter().map(row).collect())
            .title(format!(
                "Simultaneous pairs, in turns: a' and b' of a message of each, by {} (Stoica, Sultan, Keyes, section 4), with \
                 the error at sizes they were not fitted to. One port: the most pairs that share one. Slowed: b' over that of \
                 one pair. Processors: busy meanwhile, and these nodes' part.",
                self.form()
            ))
            .column("pairs", "pairs", Form::Count)
            .column("per_port", "one\nport", Form::Count)
            .column("a_s", "a'", Form::Seconds)
            .column("b_s_per_byte", "b'", Form::SecondsPerByte)
            .column("slowdown", "slowed", Form::Fixed(2))
            .column("bytes_per_s", "all pairs", Form::Rate)
            .column("median_error", "error\nmedian", Form::Percent(1))
            .column("p90_error", "\np90", Form::Percent(1))
            .column("busy", "busy", Form::Percent(0))
            .column("own", "nodes", Form::Percent(0))
    }

    fn form(&self) -> &'static str {
        match self.contention.form {
            lathide_models::fit::contention::Form::Hyperbola => "the hyperbola T(x; a', b')",
            lathide_models::fit::contention::Form::Line => "the straight line a' + b' x",
        }
    }

    /// Times of each number of pairs, beside eq. (16) with what was found.
    fn chart(&self, results: &Results) -> Chart {
        let mut chart = Chart::new(Axis::log("message bytes", Form::Bytes), Axis::log("one way", Form::Seconds));
        let it = &self.contention;
        let rows: &[Value] = results.data["contention"]["points"].as_array().map(Vec::as_slice).unwrap_or_default();
        for one in &it.pairs {
            let (a_s, b_s_per_byte) = it.at(one.load.pairs, one.load.per_port);
            let sizes = self.points.iter().map(|point| point.bytes as f64);
            let curve = dense(sizes).map(|bytes| (bytes, it.form.time_s(a_s, b_s_per_byte, bytes as u64)));
            chart = chart.curve(format!("{}, eq. (16)", one.load.pairs), Look::Dotted, curve);
        }
        for one in &it.pairs {
            let same = rows.iter().filter(|row| row["pairs"] == one.load.pairs);
            chart = chart.points(format!("{} pairs", one.load.pairs), points(same, "bytes", "s"));
        }
        chart
    }

    /// The medium, in words, with the parameters of eq. (16).
    fn verdict(&self) -> String {
        let it = &self.contention;
        let most = it.pairs.last().map_or(1, |one| one.load.pairs);
        let (b, b_error) = (per_byte(it.network_b_s_per_byte), per_byte(it.network_b_error_s_per_byte));
        let (a, a_error) = (seconds(it.network_a_s), seconds(it.network_a_error_s));
        let rate = |bytes_per_s: f64| format!("{} MB/s", plain(1e-6 * bytes_per_s));
        let aggregate = it.aggregate_bytes_per_s.map(rate).unwrap_or_default();
        let medium = match it.medium {
            Medium::Shared => {
                format!("The medium is shared: b_c = {b} per byte (+- {b_error}), all pairs together get {aggregate}")
            }
            Medium::Switched if most == 1 => "One pair alone does not show what others would share".to_owned(),
            Medium::Switched => format!(
                "The network is switched: up to {most} pairs do not slow each other down, so b_c = 0 (at most {b_error} per \
                 byte); together they reach {aggregate}"
            ),
            Medium::Port => format!(
                "A host's port is the limit: its pairs share b_p = {} per byte, and between hosts no contention was seen (b_c \
                 at most {b_error} per byte); together they reach {aggregate}",
                it.port_b_s_per_byte.map(per_byte).unwrap_or_default()
            ),
            Medium::Processor => format!(
                "The processors are the limit, not the network: they serve {aggregate} in all, which looks like b_c = {b} per \
                 byte (+- {b_error})"
            ),
        };
        let errors = &it.errors;
        format!(
            "{medium}. a_c = {a} (+- {a_error}) per pair; a = {} on each side, with half of the delay; max(b, b_c) = {} per byte. \
             Eq. (16) with these at sizes they were not fitted to: median error {:.1} %, p90 {:.1} %.",
            seconds(it.workstation_a_s),
            per_byte(it.slower_s_per_byte),
            100.0 * errors.median_error,
            100.0 * errors.p90_error,
        )
    }

    fn floods(&self) -> Table {
        let row = |flood: &lathide_models::fit::flood::Flood| {
            let mut row = json!(flood);
            row["ratio"] = json!(1.0 - (flood.resent_bytes as f64 / flood.bytes as f64).min(1.0));
            row
        };
        Table::with(self.floods.iter().map(row).collect())
            .title("Floods: every other host sends to one at once. Kept: the part that TCP did not have to send again.")
            .column("bytes", "all bytes", Form::Bytes)
            .column("time_s", "time", Form::Seconds)
            .column("resent_bytes", "resent", Form::Bytes)
            .column("ratio", "kept", Form::Percent(1))
    }

    fn queue(&self) -> String {
        let (Some(queue), Some(is_least)) = (self.queue_bytes, self.queue_is_least) else { return String::new() };
        let least = if is_least { "at least " } else { "" };
        format!(
            "B_L, what the network holds before it loses some (Tam, Wang, section 3.2 and eq. (4), with {} hosts as fast as \
             the receiver each): {least}{}.",
            self.queue_overload.unwrap_or_default(),
            bytes(queue)
        )
    }
}

/// A time per byte.
fn per_byte(s_per_byte: f64) -> String {
    seconds(s_per_byte)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
