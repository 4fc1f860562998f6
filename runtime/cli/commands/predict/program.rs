//! `lathide predict program`: a program's own messages, priced by the hyperbolic model (Stoica, Sultan, Keyes 1994).

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::answer::{Answer, Column, Form, column};
use super::input;
use super::model::Predict;
use super::network::NetworkArgs;
use super::prices::{Priced, priced};
use super::problem::Problem;
use super::saved::Saved;
use crate::commands::common::inventory::{self, Inventory, Row, beside, counts};
use crate::commands::common::options::one;
use crate::report::format::seconds;
use crate::report::results::Table;
use lathide::launcher::quantity::WHOLE;

/// What the messages of a program take by class, predicted from the link beside measured (Stoica, Sultan, Keyes 1994)
///
/// A class is a region that the program names (`node.region("halo")`). The inventory is what the ranks counted of
/// themselves; the link's parameters are measured without the program.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The ranks' reports, as lathide run --report=FILE writes them (- for standard input). Times are in it if the program
    /// ran with -x LATHIDE_OBSERVE=sends
    #[arg(long, value_name = "FILE")]
    inventory: PathBuf,
    /// The region that is a unit of work: all is told for one [default: iteration or cycle, else the whole job]
    #[arg(long, value_name = "REGION")]
    per: Option<String>,
    /// How many ranks send at once with full contention [default: all that send in the class]
    #[arg(long, value_name = "N", value_parser = one::<u32>(WHOLE.within("1", "65536")))]
    senders: Option<u32>,
    #[command(flatten)]
    network: NetworkArgs,
}

const EXAMPLES: &str = "\
Examples:
  lathide link --hosts a,b,c,d --pairs 1,2 --json > link.json
  lathide run --hosts a,b,c,d -x LATHIDE_OBSERVE=sends --report=run.json ./solver
  lathide predict program --inventory run.json --from link.json
  lathide predict program --inventory run.json --from link.json --per cycle --senders 2";

/// The row of all classes together.
const ALL: &str = "all";
/// No job's reports are that long.
const FILE_MAX: u64 = 1 << 30;

impl Predict for Args {
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem> {
        if saved.is_none() && !self.network.is_given() {
            return Err(Problem::new(
                "the link's parameters are missing: --from link.json has them (lathide link --pairs 1,2 --json > \
                 link.json), or give --a-w, --b-w, --a-c and --b-c",
            ));
        }
        let name = self.inventory.display().to_string();
        if name == "-" && saved.is_some_and(|saved| saved.name() == "-") {
            return Err(Problem::new("standard input cannot be both --inventory and --from"));
        }
        let text = input::read(&format!("--inventory {name}"), &self.inventory, FILE_MAX)?;
        let refused = |error: String| Problem::new(format!("--inventory {name}: {error}"));
        let json: Value = serde_json::from_str(&text).map_err(|error| refused(format!("it is no JSON: {error}")))?;
        let reports = inventory::read(&json).map_err(refused)?;
        let inventory = Inventory::of(&reports, self.per.as_deref()).map_err(refused)?;
        answer(&inventory, priced(&self.network, saved)?, self.senders.map(f64::from))
    }
}

fn answer(inventory: &Inventory, priced: Priced, senders: Option<f64>) -> Result<Answer, Problem> {
    let Priced { prices, parameters, mut notes } = priced;
    let mut sending = inventory::sending(&inventory.classes, &prices, senders)?;
    let mut receiving = inventory::receiving(&inventory.classes, &prices, senders)?;
    let all = [&mut sending, &mut receiving].map(|rows| {
        let all = inventory::sum(rows);
        rows.extend(all.clone());
        all
    });
    notes.extend(inventory.notes.iter().cloned());
    notes.extend(left_out(&sending));
    if inventory.classes.iter().any(|class| !counts(&class.name)) {
        notes.push(format!("not in the sum, since they are no part of a unit of work: {}", beside()));
    }
    let columns = columns();
    let row = |row: &Row| {
        let members = serde_json::to_value(row).unwrap_or_default();
        columns.iter().map(|column| members[column.key].clone()).collect()
    };
    let rows = sending.iter().map(row).collect();
    let equation = "Stoica, Sultan, Keyes 1994, sections 2.5 and 5.2.2: T_s(x; a_s, b_s) with b_s = max(b_s, n b_C) of n \
                    senders at once; T_r of the i-th of K reads at once with a = i (2 a_W + n a_C) + a_L, b = i max(b_W, n b_C); \
                    the messages of a rank add up";
    let title = format!(
        "T_r per {} and rank that receives: from the post of a read until its message is complete. It is predicted for \
         reads that are posted when their senders start, those of a visit of the region (K) at once.",
        inventory.unit()
    );
    Ok(Answer {
        parameters,
        below: vec![shown(Table::of("receiving").title(title))],
        findings: Map::from_iter([
            ("per".to_owned(), json!(inventory.per)),
            ("units".to_owned(), json!(inventory.units)),
            ("ranks".to_owned(), json!(inventory.ranks)),
            ("receiving".to_owned(), json!(receiving)),
        ]),
        notes,
        ..Answer::new(equation, columns, rows, verdict(inventory, &all))
    })
}

/// Of T_s; what does not fit into a line is in JSON only.
fn columns() -> Vec<Column> {
    vec![
        column("class", "class", Form::Word),
        column("ranks", "ranks", Form::Count),
        column("messages", "mes-\nsages", Form::Plain),
        column("bytes", "bytes", Form::Bytes),
        column("busiest_bytes", "of the\nbusiest", Form::Bytes),
        column("senders", "n", Form::Plain),
        column("senders_observed", "n ob-\nserved", Form::Fixed(2)),
        column("alone_s", "T_s\nn = 1", Form::Seconds),
        column("full_s", "T_s\nn", Form::Seconds),
        column("observed_s", "T_s\nn obs.", Form::Seconds),
        column("measured_s", "T_s\nmeasured", Form::Seconds),
        column("error", "error", Form::SignedPercent(0)),
    ]
}

/// The columns of T_r.
fn shown(table: Table) -> Table {
    table
        .column("class", "class", Form::Word)
        .column("ranks", "ranks", Form::Count)
        .column("messages", "mes-\nsages", Form::Plain)
        .column("bytes", "bytes", Form::Bytes)
        .column("at_once", "K", Form::Plain)
        .column("alone_s", "T_r\nn = 1", Form::Seconds)
        .column("full_s", "T_r\nn", Form::Seconds)
        .column("observed_s", "T_r\nn obs.", Form::Seconds)
        .column("measured_s", "T_r\nmeasured", Form::Seconds)
        .column("error", "error", Form::SignedPercent(0))
}

/// Which classes are not in the sum, and what to do.
fn left_out(sending: &[Row]) -> Option<String> {
    let unmeasured: Vec<&str> = sending
        .iter()
        .filter(|row| row.measured_s.is_none() && row.class != ALL && counts(&row.class))
        .map(|row| row.class.as_str())
        .collect();
    (!unmeasured.is_empty()).then(|| {
        format!("the sending of {} was not timed: run the program with -x LATHIDE_OBSERVE=sends", unmeasured.join(", "))
    })
}

fn verdict(inventory: &Inventory, [sending, receiving]: &[Option<Row>; 2]) -> String {
    let Some(sending) = sending else {
        return format!("There are no messages but in regions that are no part of a unit of work ({}).", beside());
    };
    let mut text = format!(
        "A rank's messages of one {} take T_s = {} without contention, and {} if all ranks of a class send at once",
        inventory.unit(),
        seconds(sending.alone_s),
        seconds(sending.full_s)
    );
    if let (Some(measured_s), Some(error)) = (sending.measured_s, sending.error) {
        text += &match sending.observed_s.zip(sending.senders_observed) {
            Some((observed_s, senders)) => {
                format!("; with the {senders:.2} that did on average, {}", seconds(observed_s))
            }
            None => String::new(),
        };
        text += &format!(". Measured: {} (error of the prediction {:+.0} %)", seconds(measured_s), 100.0 * error);
    }
    if let Some((measured_s, error)) = receiving.as_ref().and_then(|row| row.measured_s.zip(row.error)) {
        text += &format!("; T_r measured {} ({:+.0} %)", seconds(measured_s), 100.0 * error);
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::predict::saved::tests::{contention, saved};
    use crate::report::WIDTH;
    use crate::report::text::text;

    fn recorded() -> Value {
        let rank = |rank: u32| {
            let sized = |time_s: f64| json!([{"bytes": 80_000, "messages": 20, "timed": 20, "time_s": time_s}]);
            let sums = |timed: u32| json!([{"bytes": 8, "messages": 30, "timed": timed, "time_s": 0.001}]);
            json!({
                "rank": rank, "size": 2, "links": [{"peer": 1 - rank, "clock_offset_s": 0.0}],
                "regions": [
                    {"name": "iteration", "entered": 10, "within_s": 2.0, "sent": [], "received": []},
                    {"name": "halo", "entered": 10, "within_s": 0.5, "sent": sized(0.004), "received": sized(0.005),
                     "sending": [[1.0, 2.0]]},
                    {"name": "sums", "entered": 10, "within_s": 0.5, "sent": sums(30), "received": sums(0)},
                ],
            })
        };
        json!([rank(0), rank(1)])
    }

    fn answered(senders: Option<f64>) -> Answer {
        let inventory = Inventory::of(&inventory::read(&recorded()).unwrap(), None).unwrap();
        let link = saved(json!({"contention": contention("shared", 2e-9)}));
        answer(&inventory, priced(&NetworkArgs::default(), Some(&link)).unwrap(), senders).unwrap()
    }

    #[test]
    fn classes_stand_beside_what_was_measured() {
        let json = serde_json::to_value(answered(None).results("program", None)).unwrap();
        let names: Vec<&str> =
            json["points"].as_array().unwrap().iter().filter_map(|it| it["class"].as_str()).collect();
        assert_eq!(names, ["halo", "sums", "all"]);
        let (halo, received) = (&json["points"][0], &json["receiving"][0]);
        let near = |value: &Value, expected: f64| {
            let value = value.as_f64().unwrap();
            assert!((value / expected - 1.0).abs() < 1e-12, "{value} is not {expected}");
        };
        let hyperbola = |a: f64, b: f64| 2.0 * (a * a / (a + b * 8e4) + b * 8e4);
        near(&halo["alone_s"], hyperbola(15e-6, 2e-9));
        near(&halo["full_s"], hyperbola(15e-6, 4e-9));
        near(&halo["observed_s"], hyperbola(15e-6, 4e-9));
        near(&halo["measured_s"], 0.0004);
        // Two reads in a visit of the region: the second waits for the first.
        near(&received["full_s"], (hyperbola(50e-6, 4e-9) + hyperbola(100e-6, 8e-9)) / 2.0);
        assert_eq!(received["at_once"], 2.0);
        assert_eq!((json["per"].as_str(), &json["units"], &json["ranks"]), (Some("iteration"), &json!(10), &json!(2)));
        assert!(json["receiving"][1]["measured_s"].is_null(), "sums are received by collectives");
        near(&json["receiving"][2]["measured_s"], 0.0005);
    }

    #[test]
    fn it_fits_into_the_width() {
        let text = text(&answered(Some(7.0)).results("program", None), false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        for part in ["T_r per iteration", "halo", "sums", "A rank's messages of one iteration", "Measured: "] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
    }
}
