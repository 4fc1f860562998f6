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

    /// The medium, in a few words.
    pub(in crate::commands::link) fn in_short(&self) -> Option<String> {
        let it = &self.contention;
        let most = it.pairs.last().filter(|one| one.load.pairs > 1)?.load.pairs;
        let rate = format!("{} MB/s", plain(1e-6 * it.aggregate_bytes_per_s?));
        Some(match it.medium {
            Medium::Port => format!("{most} pairs at once share a host's port"),
            Medium::Processor => format!("{most} pairs at once are limited by the processors, to {rate}"),
            Medium::Shared => format!("{most} pairs at once share one medium of {rate}"),
            Medium::Switched => format!("{most} pairs at once do not slow each other down"),
            Medium::Unclear => format!("what {most} pairs at once share is unclear"),
        })
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
                 the error at sizes they were not fitted to. One port: the most pairs that share one. Slowed: times of long messages over those of one pair. Processors: busy meanwhile, and these nodes' part.",
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
            chart = chart.curve(format!("n = {}, eq. (16)", one.load.pairs), Look::Dotted, curve);
        }
        for one in &it.pairs {
            let same = rows.iter().filter(|row| row["pairs"] == one.load.pairs);
            chart = chart.points(format!("n = {}", one.load.pairs), points(same, "bytes", "s"));
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
            Medium::Unclear => {
                "What the pairs share is unclear: they take longer, but not by more than noise or busy processors explain".to_owned()
            }
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

#[cfg(test)]
mod tests {
    use lathide_models::fit::contention::{Load, Observed, Processor, fit};
    use lathide_models::fit::flood::{Flood, queue};

    use super::*;
    use crate::report::WIDTH;
    use crate::report::text::text;

    const B: f64 = 1.6e-7;

    /// What is shown where n pairs take `slower(n)` times as long, `per_port(n)` of them share a port, and `own` of the
    /// processors was busy with it.
    fn shown(slower: fn(u32) -> u32, per_port: fn(u32) -> u32, own: f64) -> (Value, String) {
        let (mut observed, pairs) = (Vec::new(), [1, 2, 4]);
        for (pairs, power) in pairs.into_iter().flat_map(|n| (3..20).step_by(2).map(move |power| (n, power))) {
            let time_s = 3e-4 + B * f64::from(slower(pairs)) * f64::from(1 << power);
            observed.extend([0, 1, 2].map(|repeat| Observed { repeat, pairs, bytes: 1 << power, time_s }));
        }
        let processor = Some(Processor { own, busy: 1.0 });
        let loads = pairs.map(|pairs| Load { pairs, per_port: per_port(pairs), processor });
        let floods = vec![Flood { bytes: 100_000, resent_bytes: 0, time_s: 0.1 }];
        let found = Found::new(fit(&observed, &loads).expect("a line"), queue(&floods, 3), &observed, floods);
        let mut results = Results::new("test-1", "contention", &json!({ "contention": found }));
        found.show(&mut results);
        assert!(found.in_short().is_some_and(|words| words.starts_with("4 pairs at once ")));
        let text = text(&results, false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "too wide:\n{text}");
        (results.data["contention"].clone(), text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[track_caller]
    fn says(text: &str, parts: &[&str]) {
        assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}:\n{text}");
    }

    #[test]
    fn the_medium_is_named() {
        let (json, text) = shown(|n| n, |_| 1, 0.1);
        says(
            &text,
            &["The medium is shared: b_c = 160 ns per byte", "all pairs together get 6.25 MB/s", "slowed", "3.90"],
        );
        assert_eq!((&json["medium"], &json["aggregate_is_limit"]), (&"shared".into(), &true.into()));
        let (json, text) = shown(|_| 1, |_| 1, 0.1);
        says(
            &text,
            &["The network is switched: up to 4 pairs", "b_c = 0 (at most 40 ns per byte)", "Of more than 4 pairs"],
        );
        assert_eq!((&json["medium"], &json["network_b_s_per_byte"]), (&"switched".into(), &0.0.into()));
        let (json, text) = shown(|n| n.div_ceil(2), |n| n.div_ceil(2), 0.1);
        says(&text, &["A host's port is the limit: its pairs share b_p = 160 ns"]);
        assert_eq!(json["medium"], "port");
        let (json, text) = shown(|n| n, |n| n, 0.1);
        says(&text, &["A host's port is the limit", "between the same two ports"]);
        assert_eq!(json["medium"], "port");
        let (json, text) = shown(|n| n, |_| 1, 0.6);
        says(&text, &["The processors are the limit, not the network", "upper bounds"]);
        assert_eq!((&json["medium"], &json["aggregate_is_limit"]), (&"processor".into(), &false.into()));
    }

    #[test]
    fn json_has_all_that_is_shown() {
        let (json, text) = shown(|n| n, |_| 1, 0.1);
        for member in ["a_s", "b_s_per_byte", "median_error", "p90_error", "slowdown", "slowdown_error", "bytes_per_s"]
        {
            assert!(json["pairs"][1][member].is_f64(), "{member}: {json}");
        }
        let numbers = ["network_a_s", "network_a_error_s", "network_b_s_per_byte", "network_b_error_s_per_byte"];
        for member in numbers.into_iter().chain(["median_error", "p90_error", "queue_bytes"]) {
            assert!(json[member].is_f64(), "{member}: {json}");
        }
        assert!(json["points"][0]["s_min"].is_f64() && json["queue_is_least"] == true, "{json}");
        says(&text, &["B_L", "at least", "a lower bound"]);
    }
}
