//! What `lathide link` found out: times, bandwidth, overlap, and the models fitted to them.

use serde_json::Value;

use super::markup::{escaped, paragraph, share, table};
use super::section::{Section, header, list, points};
use super::svg::{Axis, Chart, short, size, time};
use lathide_models::fit::hyperbolic::Hyperbolic;
use lathide_models::fit::segmented::Segmented;

/// The section of a result.
pub(super) fn section(file: &str, json: &Value) -> Section {
    let mut body = header(json);
    body += &latency(json);
    body += &bandwidth(json);
    body += &overlap(json);
    body += &fragments(json);
    body += &cluster(json);
    Section { title: format!("Link: {}", escaped(file)), body }
}

fn seconds(row: &Value, member: &str) -> String {
    row[member].as_f64().map_or("-".to_owned(), time)
}

fn ratio(row: &Value, member: &str) -> String {
    row[member].as_f64().map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn bytes(row: &Value, member: &str) -> String {
    row[member].as_f64().map_or("-".to_owned(), size)
}

fn latency(json: &Value) -> String {
    let rows = list(json, "latency");
    let (least, most) = rows
        .iter()
        .filter_map(|row| row["bytes"].as_f64())
        .fold((f64::MAX, 0.0_f64), |(least, most), bytes| (least.min(bytes), most.max(bytes)));
    let dense = |of: &dyn Fn(u64) -> Option<f64>| -> Vec<(f64, f64)> {
        let place = |step: i32| least * (most / least).powf(f64::from(step) / 200.0);
        (0..=200).filter_map(|step| Some((place(step), of(place(step) as u64)?))).collect()
    };
    let parameters =
        |fit: &Value| Some(Hyperbolic { a_s: fit["a_s"].as_f64()?, b_s_per_byte: fit["b_s_per_byte"].as_f64()? });
    let mut chart = Chart::new(("message bytes", Axis::Log(4)), ("one way, seconds", Axis::Log(10)))
        .written(size, time)
        .points("lathide", points(rows, "bytes", "lathide_s"))
        .points("raw TCP, blocking", points(rows, "bytes", "raw_s"))
        .points("raw TCP, polled", points(rows, "bytes", "raw_polled_s"));
    let hyperbolic = parameters(&json["hyperbolic"]);
    if let Some(model) = hyperbolic.filter(|_| most > least) {
        chart = chart.line("hyperbolic model", dense(&|bytes| model.time_s(bytes).ok()));
    }
    if let Some(model) = serde_json::from_value::<Segmented>(json["segmented"].clone()).ok().filter(|_| most > least) {
        chart = chart.line("segmented extension", dense(&|bytes| model.time_s(bytes).ok()));
    }
    let mut html = format!("<h3>One-way time</h3>\n{}", chart.render());
    let percent = |fit: &Value, member: &str| {
        fit[member].as_f64().map_or("-".to_owned(), |error| format!("{:.1} %", 100.0 * error))
    };
    if let Some(model) = hyperbolic {
        html += &paragraph(&format!(
            "T(x; a, b) = a^2/(a + b x) + b x (Stoica, Sultan, Keyes, eq. (3)): a = {}, b = {} ns/byte. Its error, \
             cross-validated: median {}, p90 {}; that of the segmented extension: median {}, p90 {}.",
            time(model.a_s),
            short(1e9 * model.b_s_per_byte),
            percent(&json["hyperbolic"], "median_error"),
            percent(&json["hyperbolic"], "p90_error"),
            percent(&json["segmented"], "median_error"),
            percent(&json["segmented"], "p90_error"),
        ));
    }
    let cells = rows.iter().map(|row| {
        let mut cells = vec![bytes(row, "bytes")];
        cells.extend(["raw_s", "raw_polled_s", "lathide_s"].map(|member| seconds(row, member)));
        cells.extend(["penalty", "penalty_min", "penalty_max", "penalty_polled"].map(|member| ratio(row, member)));
        cells
    });
    html + &table(&["bytes", "raw", "polled", "lathide", "penalty", "min", "max", "against polled"], cells)
}

fn bandwidth(json: &Value) -> String {
    let rows = list(json, "bandwidth");
    if rows.is_empty() {
        return String::new();
    }
    let rate =
        |row: &Value, member: &str| row[member].as_f64().map_or("-".to_owned(), |rate| format!("{:.1}", 1e-6 * rate));
    let cells = rows.iter().map(|row| {
        let mut cells = vec![bytes(row, "bytes")];
        cells.extend(
            ["raw_bytes_per_s", "raw_polled_bytes_per_s", "lathide_bytes_per_s"].map(|member| rate(row, member)),
        );
        cells.push(ratio(row, "ratio"));
        cells
    });
    let titles = ["bytes", "raw MB/s", "polled MB/s", "lathide MB/s", "ratio"];
    format!("<h3>Bandwidth one way</h3>\n{}", table(&titles, cells))
}

fn overlap(json: &Value) -> String {
    let rows = list(json, "overlap");
    if rows.is_empty() {
        return String::new();
    }
    let part = |row: &Value, member: &str| row[member].as_f64().map_or("-".to_owned(), share);
    let cells = rows.iter().map(|row| {
        let mut cells = vec![bytes(row, "bytes")];
        cells.extend(["t_calc_s", "t_com_s", "t_total_s"].map(|member| seconds(row, member)));
        cells.extend(["overlap", "effective_overlap", "availability"].map(|member| part(row, member)));
        cells
    });
    let titles = ["bytes", "t_calc", "t_com", "t_total", "overlap", "effective", "available"];
    format!(
        "<h3>An exchange behind a calculation: overlap = 1 - (t_total - t_calc)/t_com</h3>\n{}",
        table(&titles, cells)
    )
}

fn fragments(json: &Value) -> String {
    let rows = list(json, "fragments");
    if rows.is_empty() {
        return String::new();
    }
    let chart = Chart::new(("fragment bytes", Axis::Log(2)), ("one way, seconds", Axis::Linear))
        .written(size, time)
        .points("a message by fragment size", points(rows, "fragment_bytes", "s"))
        .render();
    format!("<h3>Fragment size, for a message of {} bytes</h3>\n{chart}", bytes(&rows[0], "bytes"))
}

/// The cluster model's parameters, in the order of a message's way.
fn cluster(json: &Value) -> String {
    let cluster = &json["cluster"];
    let symbols = [
        ("o_s", "O_s, to send"),
        ("g_s", "g_s, between sends"),
        ("l", "L, on the way"),
        ("g_r", "g_r, between arrivals"),
        ("o_r", "O_r, to receive in the background"),
        ("u_r", "U_r, to consume"),
        ("m_ctc", "M_ctc, cache to cache"),
        ("m_ctm", "M_ctm, cache to memory"),
        ("m_mtm", "M_mtm, memory to memory"),
    ];
    let rows: Vec<Vec<String>> = symbols
        .into_iter()
        .filter_map(|(key, what)| {
            let (startup_s, slope) = (cluster[key]["startup_s"].as_f64()?, cluster[key]["s_per_byte"].as_f64()?);
            let packet = cluster["packet_bytes"].as_f64()?;
            let error = cluster[key]["median_error"].as_f64().map_or("-".to_owned(), share);
            Some(vec![what.to_owned(), time(startup_s), short(1e9 * slope), time(startup_s + slope * packet), error])
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let notes: String = list(cluster, "notes").iter().filter_map(Value::as_str).map(paragraph).collect();
    let titles = ["cost", "startup", "ns/byte", "of a packet", "held-out error"];
    let title = format!("Cluster model (Tam, Wang, section 3.2), packets of {} bytes", bytes(cluster, "packet_bytes"));
    format!("<h3>{title}</h3>\n{}{notes}", table(&titles, rows))
}
