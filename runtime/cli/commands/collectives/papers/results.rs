//! What was measured beside what the papers predict: the layout.

use lathide_models::fit::cluster::survey::Cluster;
use serde_json::{Value, json};

use super::known::{Known, Shares};
use super::predict::{PACKET_BYTES, Prediction};
use super::queue::Queue;
use super::rows::{Measured, Messages, Rows, SERIAL, TREE, joined};
use super::verdict::{self, Errors, Verdict};
use crate::commands::common::console::Link;
use crate::report::description::MachineDescription;
use crate::report::format::{bytes, seconds};
use crate::report::results::{Axis, Chart, Form, Look, Results, Table, points};

/// The version changes when a member of the JSON object changes its meaning or goes.
const SCHEMA: &str = "lathide-papers-1";

/// The results; `None` if nothing was measured. In the JSON object:
///
/// - `repeats`: repetitions, at what was repeated least.
/// - `network`: the hyperbolic model's parameters; `shared`: whether several pairs at once share one medium, `null` if no
///   two were measured. `pairs`: (a', b') of so many pairs at once, and b where both of each send at once; `messages`: what they were fitted to.
/// - `gather`, `packets`, `broadcast`, `exchange`: times are of the slowest rank, errors `predicted / measured - 1`.
/// - `errors`: their absolute values summed up.
/// - `verdicts`: of two equations the one that is right here, and mean errors where they differ.
pub(super) fn results(
    link: Link,
    (prediction, queue): (&Prediction<'_>, &Queue),
    cluster: Option<&Cluster>,
    measured: &[Measured],
    background_load: Option<f64>,
) -> Option<Results> {
    let measured = &joined(measured);
    let rows = Rows::new(measured, prediction).ok()?;
    let repeats = measured.iter().map(|measured| measured.times_s.len()).min()?;
    let known = prediction.known;
    let Shares { a_w_s, a_c_s, a_l_s, b_w_s_per_byte, b_c_s_per_byte } = known.shares;
    let packet = known.cluster.packet(PACKET_BYTES as f64, 2).ok()?;
    let reception_s = packet.receive_s + packet.user_receive_s;
    let is_shared = known.is_shared();
    let packets = verdict::packets(&rows.packets, reception_s, packet.send_gap_s, is_shared == Some(true));
    let exchange = verdict::exchange(&rows.exchange);
    let paths = match (link.emulated, is_shared) {
        (true, Some(false)) => {
            "Over this link each pair of ranks has a path of its own. The equations have one port for each rank, and so predict \
             too much wherever a rank sends to several at once, or receives from them. In `lathide lab` each host has one port."
        }
        _ => "",
    };
    let data = json!({
        "link": link,
        "machine": MachineDescription::here(),
        "repeats": repeats,
        "background_load": background_load,
        "cluster": cluster,
        "queue_bytes": queue.bytes,
        "network": {
            "a_w_s": a_w_s, "b_w_s_per_byte": b_w_s_per_byte, "a_c_s": a_c_s, "b_c_s_per_byte": b_c_s_per_byte,
            "a_l_s": a_l_s, "shared": is_shared,
        },
        "pairs": pairs(known),
        "messages": Messages::all(&known.seen),
        "gather": rows.gather,
        "packets": rows.packets,
        "broadcast": rows.broadcast,
        "exchange": rows.exchange,
        "errors": errors(&rows),
        "verdicts": { "packets": packets, "exchange": exchange },
    });
    let mut results =
        Results::new(SCHEMA, "Gather, broadcast and neighbour exchange as the papers measured them", &data);
    results.text(
        "Parameters are measured first, on messages between pairs and streams to one receiver. Times are of the slowest rank, \
         measured in turns. Error: predicted / measured - 1.",
    );
    results.text(paths);
    parameters(&mut results, prediction, queue);
    gather(&mut results);
    broadcast(&mut results);
    exchanges(&mut results);
    results.table(errors_table());
    let words = |verdict: Option<Verdict>| verdict.map(|verdict| verdict.words);
    let sentences =
        [verdict::gather(&rows.gather), words(packets), verdict::broadcast(&rows.broadcast), words(exchange)];
    results.conclusion = sentences.into_iter().flatten().collect::<Vec<String>>().join(" ");
    results.notes.clone_from(&known.notes);
    Some(results)
}

fn pairs(known: &Known) -> Vec<Value> {
    let row = |(pairs, block): (&u32, &lathide_models::hyperbolic::Block)| {
        json!({
            "pairs": pairs,
            "a_s": block.a_s(),
            "b_s_per_byte": block.b_s_per_byte(),
            "both_ways_b_s_per_byte": known.both_ways.get(pairs),
        })
    };
    known.pairs.iter().map(row).collect()
}

/// What the predictions follow from.
fn parameters(results: &mut Results, prediction: &Prediction<'_>, queue: &Queue) {
    let known = prediction.known;
    let (short, long) = (known.packet(PACKET_BYTES, 2), known.packet(known.packet_bytes, 2));
    if let (Ok(short), Ok(long)) = (short, long) {
        let rows = [
            ("O_s", short.send_s, long.send_s),
            ("g_s", short.send_gap_s, long.send_gap_s),
            ("L", short.transfer_s, long.transfer_s),
            ("g_r", short.receive_gap_s, long.receive_gap_s),
            ("O_r", short.receive_s, long.receive_s),
            ("U_r", short.user_receive_s, long.user_receive_s),
        ];
        let rows = rows.map(|(symbol, short, long)| json!({ "symbol": symbol, "short": short, "long": long }));
        let held = queue.bytes.map_or_else(|| "no limit".to_owned(), bytes);
        results.table(
            Table::with(rows.into())
                .title(format!("The cluster model, for p = 2. B_L: {held}, {}.", queue.from))
                .column("symbol", "", Form::Word)
                .column("short", &bytes(PACKET_BYTES as f64), Form::Seconds)
                .column("long", &bytes(known.packet_bytes as f64), Form::Seconds),
        );
    }
    let Shares { a_w_s, a_c_s, a_l_s, b_w_s_per_byte, b_c_s_per_byte } = known.shares;
    let medium = match known.is_shared() {
        Some(true) => "pairs at once share one medium",
        Some(false) => "pairs at once do not slow each other's long messages: switched, b_C = 0",
        None => "two pairs at once were not measured: taken for switched",
    };
    results.table(
        Table::of("pairs")
            .title(format!(
                "The hyperbolic model: {medium}. a_W = {}, a_C = {}, a_L = {}, b_W = {}/byte, b_C = {}/byte, from messages in \
                 so many pairs at once (eqs. 16 and 17):",
                seconds(a_w_s),
                seconds(a_c_s),
                seconds(a_l_s),
                seconds(b_w_s_per_byte),
                seconds(b_c_s_per_byte)
            ))
            .column("pairs", "pairs", Form::Count)
            .column("a_s", "a'", Form::Seconds)
            .column("b_s_per_byte", "b'", Form::SecondsPerByte)
            .column("both_ways_b_s_per_byte", "b, both ways\nat once", Form::SecondsPerByte),
    );
}

/// Of the member's rows those with the most ranks, and how many that are.
fn of_most<'a>(results: &'a Results, member: &str) -> (Vec<&'a Value>, u64) {
    let ranks = |row: &Value| row["ranks"].as_u64().unwrap_or_default();
    let most = results.rows(member).iter().map(ranks).max().unwrap_or_default();
    (results.rows(member).iter().filter(|row| ranks(row) == most).collect(), most)
}

/// Axes that are logarithmic, since times differ as much as sizes.
fn chart(x: String, form: Form) -> Chart {
    Chart::new(Axis::log(x, form), Axis::log("time", Form::Seconds))
}

fn curve(rows: &[&Value], x: &str, y: &str) -> Vec<(f64, f64)> {
    points(rows.iter().copied(), x, y).into_iter().map(|[x, y, ..]| (x, y)).collect()
}

fn gather(results: &mut Results) {
    results.table(
        Table::of("gather")
            .title(
                "Gather (Tam, Wang, Figs. 4 and 5): simple, and windowed by Algorithm 1 with w of eqs. (5) to (7), beside \
                 eq. (8).",
            )
            .column("ranks", "p", Form::Count)
            .column("bytes", "block", Form::Bytes)
            .column("packets_each", "i", Form::Count)
            .column("window", "w", Form::Count)
            .range("simple_s", "simple", Form::Seconds)
            .range("windowed_s", "windowed", Form::Seconds)
            .column("predicted_s", "eq. (8)", Form::Seconds)
            .column("error", "error", Form::SignedPercent(0)),
    );
    let (rows, ranks) = of_most(results, "gather");
    let chart = chart(format!("bytes of a block, {ranks} ranks; curve: eq. (8)"), Form::Bytes)
        .curve("", Look::Dotted, curve(&rows, "bytes", "predicted_s"))
        .points("simple", points(rows.iter().copied(), "bytes", "simple_s"))
        .points("windowed", points(rows.iter().copied(), "bytes", "windowed_s"));
    results.chart(chart);
}

fn broadcast(results: &mut Results) {
    results.table(
        Table::of("packets")
            .title(
                "Broadcast in packets, one after the other down the binomial tree (Tam, Wang, Fig. 2), beside eq. (1), Postal, \
                 and eq. (2), cluster.",
            )
            .column("ranks", "p", Form::Count)
            .column("packets", "k", Form::Count)
            .column("bytes", "packet", Form::Bytes)
            .range("measured_s", "measured", Form::Seconds)
            .column("postal_s", "eq. (1)", Form::Seconds)
            .column("postal_error", "error", Form::SignedPercent(0))
            .column("cluster_s", "eq. (2)", Form::Seconds)
            .column("cluster_error", "error", Form::SignedPercent(0)),
    );
    let (rows, ranks) = of_most(results, "packets");
    let lines = chart(format!("packets, {ranks} ranks"), Form::Count)
        .curve("eq. (1)", Look::Dotted, curve(&rows, "packets", "postal_s"))
        .curve("eq. (2)", Look::Solid, curve(&rows, "packets", "cluster_s"))
        .points("measured", points(rows.iter().copied(), "packets", "measured_s"));
    results.chart(lines);
    results.table(
        Table::of("broadcast")
            .title(
                "Broadcast of one message down the binary tree, and from the root to one after another, with contention \
                 (Stoica, Sultan, Keyes, Figs. 11 and 12).",
            )
            .column("form", "form", Form::Word)
            .column("ranks", "p", Form::Count)
            .column("bytes", "bytes", Form::Bytes)
            .range("measured_s", "measured", Form::Seconds)
            .column("predicted_s", "predicted", Form::Seconds)
            .column("error", "error", Form::SignedPercent(0)),
    );
    let (rows, ranks) = of_most(results, "broadcast");
    let mut lines = chart(format!("bytes, {ranks} ranks; curves: predicted"), Form::Bytes);
    for form in [TREE, SERIAL] {
        let own: Vec<&Value> = rows.iter().copied().filter(|row| row["form"] == form).collect();
        lines = lines
            .curve("", Look::Dotted, curve(&own, "bytes", "predicted_s"))
            .points(form, points(own.iter().copied(), "bytes", "measured_s"));
    }
    results.chart(lines);
}

fn exchanges(results: &mut Results) {
    results.table(
        Table::of("exchange")
            .title(
                "Neighbour exchange (Stoica, Sultan, Keyes, Fig. 14): K messages from each rank at once. As printed, \
                 b = max(K N b_C, b_W); with rule 3 for the workstation too, max(K N b_C, K b_W).",
            )
            .column("neighbours", "K", Form::Count)
            .column("ranks", "N", Form::Count)
            .column("bytes", "bytes", Form::Bytes)
            .range("measured_s", "measured", Form::Seconds)
            .column("printed_s", "printed", Form::Seconds)
            .column("printed_error", "error", Form::SignedPercent(0))
            .column("rule_3_s", "rule 3", Form::Seconds)
            .column("rule_3_error", "error", Form::SignedPercent(0)),
    );
    let (rows, ranks) = of_most(results, "exchange");
    let mut lines = chart(format!("bytes, {ranks} ranks; curves: rule 3"), Form::Bytes);
    for neighbours in [1, 2, 4] {
        let own: Vec<&Value> = rows.iter().copied().filter(|row| row["neighbours"] == neighbours).collect();
        lines = lines
            .curve("", Look::Dotted, curve(&own, "bytes", "rule_3_s"))
            .points(format!("K = {neighbours}"), points(own.iter().copied(), "bytes", "measured_s"));
    }
    results.chart(lines);
}

fn errors(rows: &Rows) -> Vec<Errors> {
    let mut errors = Vec::new();
    let ranks: std::collections::BTreeSet<u32> = rows.gather.iter().map(|row| row.ranks).collect();
    let gather = || rows.gather.iter().map(|row| (row.ranks, row.bytes, row.error));
    for ranks in ranks {
        errors.extend(Errors::of(format!("gather, eq. (8), p = {ranks}"), gather().filter(|row| row.0 == ranks)));
    }
    errors.extend(Errors::of("gather, eq. (8)", gather()));
    let loose = rows.gather.iter().map(|row| (row.ranks, row.bytes, row.loose_error));
    errors.extend(Errors::of("the same, C1 = O_s + L", loose));
    let packets =
        |of: fn(&super::rows::Packets) -> f64| rows.packets.iter().map(move |row| (row.ranks, row.bytes, of(row)));
    errors.extend(Errors::of("broadcast in packets, eq. (1)", packets(|row| row.postal_error)));
    errors.extend(Errors::of("broadcast in packets, eq. (2)", packets(|row| row.cluster_error)));
    for form in [TREE, SERIAL] {
        let own = rows.broadcast.iter().filter(|row| row.form == form);
        errors.extend(Errors::of(format!("broadcast, {form}"), own.map(|row| (row.ranks, row.bytes, row.error))));
    }
    let exchange =
        |of: fn(&super::rows::Exchange) -> f64| rows.exchange.iter().map(move |row| (row.ranks, row.bytes, of(row)));
    errors.extend(Errors::of("exchange, as printed", exchange(|row| row.printed_error)));
    errors.extend(Errors::of("exchange, rule 3", exchange(|row| row.rule_3_error)));
    errors
}

fn errors_table() -> Table {
    Table::of("errors")
        .title("Errors without their signs.")
        .column("what", "", Form::Word)
        .column("points", "points", Form::Count)
        .column("mean", "mean", Form::Percent(1))
        .column("greatest", "greatest", Form::Percent(0))
        .column("at_ranks", "at\np", Form::Count)
        .column("at_bytes", "and\nbytes", Form::Bytes)
}
