//! Classes of messages, predicted beside measured. Pure.

use lathide_models::BadParameter;
use lathide_models::hyperbolic::Prices;
use serde::Serialize;

use super::classes::{Class, Traffic, counts};

/// A class in one direction. Times are per unit and rank that has such messages.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) class: String,
    /// The ranks that have such messages.
    pub(crate) ranks: u32,
    pub(crate) messages: f64,
    pub(crate) bytes: f64,
    /// Messages in a visit of the region.
    pub(crate) at_once: Option<f64>,
    pub(crate) busiest_rank: Option<u32>,
    pub(crate) busiest_messages: Option<f64>,
    pub(crate) busiest_bytes: Option<f64>,
    /// So many ranks may send at once.
    pub(crate) senders: Option<f64>,
    /// So many did, on average.
    pub(crate) senders_observed: Option<f64>,
    /// Predicted without contention, with all senders at once, and with as many as were observed.
    pub(crate) alone_s: f64,
    pub(crate) full_s: f64,
    pub(crate) observed_s: Option<f64>,
    pub(crate) measured_s: Option<f64>,
    /// The prediction with the observed senders, or else with all, over what was measured, minus 1.
    pub(crate) error: Option<f64>,
}

/// T_s of every class. `senders`: so many at once instead of all that send in it.
///
/// # Errors
/// If a result is too large for a number.
pub(crate) fn sending(classes: &[Class], prices: &Prices, senders: Option<f64>) -> Result<Vec<Row>, BadParameter> {
    let price = |sent: &Traffic, senders| Ok(prices.price(&sent.messages, senders, sent.at_once)?.sending_s);
    rows(classes, senders, |class| &class.sent, price)
}

/// T_r of every class, of reads that are posted when their messages are, those of a visit of the region at once.
///
/// # Errors
/// As [`sending`].
pub(crate) fn receiving(classes: &[Class], prices: &Prices, senders: Option<f64>) -> Result<Vec<Row>, BadParameter> {
    let price = |received: &Traffic, senders| prices.reading_s(&received.messages, senders, received.at_once);
    rows(classes, senders, |class| &class.received, price)
}

fn rows(
    classes: &[Class],
    senders: Option<f64>,
    traffic: fn(&Class) -> &Traffic,
    price: impl Fn(&Traffic, f64) -> Result<f64, BadParameter>,
) -> Result<Vec<Row>, BadParameter> {
    let mut rows = Vec::new();
    for class in classes {
        let it = traffic(class);
        if it.ranks == 0 {
            continue;
        }
        let most = senders.unwrap_or_else(|| f64::from(class.sent.ranks.max(1)));
        let price = |senders: f64| price(it, senders);
        let [messages, bytes] = it.count();
        rows.push(Row {
            class: class.name.clone(),
            ranks: it.ranks,
            messages,
            bytes,
            at_once: Some(it.at_once),
            busiest_rank: it.busiest.map(|(rank, _)| rank),
            busiest_messages: it.busiest.map(|(_, [messages, _])| messages),
            busiest_bytes: it.busiest.map(|(_, [_, bytes])| bytes),
            senders: Some(most),
            senders_observed: class.senders,
            alone_s: price(1.0)?,
            full_s: price(most)?,
            observed_s: class.senders.map(price).transpose()?,
            measured_s: it.measured_s,
            error: None,
        });
    }
    rows.iter_mut().for_each(Row::judge);
    Ok(rows)
}

/// All classes that count, together: what a rank takes that sends in each of them. Those that were not measured count only if none
/// was. `None` if nothing is left. `senders` are those of the class with the most.
pub(crate) fn sum(rows: &[Row]) -> Option<Row> {
    let counted: Vec<&Row> = rows.iter().filter(|row| counts(&row.class)).collect();
    let measured: Vec<&Row> = counted.iter().copied().filter(|row| row.measured_s.is_some()).collect();
    let counted = if measured.is_empty() { counted } else { measured };
    if counted.is_empty() {
        return None;
    }
    let all = |of: fn(&Row) -> f64| counted.iter().map(|row| of(row)).sum();
    let known = |of: fn(&Row) -> Option<f64>| counted.iter().map(|row| of(row)).sum::<Option<f64>>();
    let mut row = Row {
        class: "all".to_owned(),
        ranks: counted.iter().map(|row| row.ranks).max().unwrap_or_default(),
        messages: all(|row| row.messages),
        bytes: all(|row| row.bytes),
        at_once: None,
        busiest_rank: None,
        busiest_messages: None,
        busiest_bytes: None,
        senders: counted.iter().filter_map(|row| row.senders).reduce(f64::max),
        senders_observed: observed(&counted),
        alone_s: all(|row| row.alone_s),
        full_s: all(|row| row.full_s),
        observed_s: known(|row| row.observed_s),
        measured_s: known(|row| row.measured_s),
        error: None,
    };
    row.judge();
    Some(row)
}

/// The mean over classes, by the time that their messages take.
fn observed(rows: &[&Row]) -> Option<f64> {
    let weight = |row: &Row| row.measured_s.unwrap_or(row.alone_s);
    let all_s: f64 = rows.iter().map(|row| weight(row)).sum();
    let weighted: Option<f64> = rows.iter().map(|row| row.senders_observed.map(|n| n * weight(row))).sum();
    weighted.filter(|_| all_s > 0.0).map(|weighted| weighted / all_s)
}

impl Row {
    fn judge(&mut self) {
        self.error = error(self.observed_s.unwrap_or(self.full_s), self.measured_s);
    }

    /// The same with the error that follows from it.
    pub(crate) fn judged(mut self) -> Self {
        self.judge();
        self
    }
}

/// `predicted / measured - 1`.
fn error(predicted_s: f64, measured_s: Option<f64>) -> Option<f64> {
    measured_s.filter(|measured_s| *measured_s > 0.0).map(|measured_s| predicted_s / measured_s - 1.0)
}

#[cfg(test)]
mod tests {
    use lathide_models::hyperbolic::Network;
    use serde_json::{Value, json};

    use super::*;
    use crate::commands::common::inventory::classes::Inventory;
    use crate::commands::common::inventory::reports::{read, tests::rank};

    fn classes(reports: Value) -> Vec<Class> {
        Inventory::of(&read(&reports).unwrap(), None).unwrap().classes
    }

    fn prices() -> Prices {
        Prices::new(Network::SPARCSTATION).unwrap()
    }

    fn hyperbola(a: f64, b: f64, x: f64) -> f64 {
        a * a / (a + b * x) + b * x
    }

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-12, "{value} is not {expected}");
    }

    #[test]
    fn a_class_is_priced_without_with_and_with_observed_contention() {
        let classes = classes(json!([rank(0, 4), rank(1, 4), rank(2, 4), rank(3, 4)]));
        let halo = &sending(&classes, &prices(), None).unwrap()[0];
        // Two messages of 1000 bytes in each of ten iterations.
        near(halo.alone_s, 2.0 * hyperbola(859.52e-6, 1.42e-6, 1000.0));
        near(halo.full_s, 2.0 * hyperbola(859.52e-6, 4.0 * 0.92e-6, 1000.0));
        let observed = halo.senders_observed.unwrap();
        assert!(observed > 1.0 && observed < 4.0, "{observed}");
        near(halo.observed_s.unwrap(), 2.0 * hyperbola(859.52e-6, (observed * 0.92e-6).max(1.42e-6), 1000.0));
        near(halo.error.unwrap(), halo.observed_s.unwrap() / 0.02 - 1.0);
        let unobserved = Row { observed_s: None, ..halo.clone() }.judged();
        near(unobserved.error.unwrap(), halo.full_s / 0.02 - 1.0);
        assert_eq!((halo.senders, halo.ranks, halo.messages, halo.bytes), (Some(4.0), 4, 2.0, 2000.0));
        let three = &sending(&classes, &prices(), Some(3.0)).unwrap()[0];
        near(three.full_s, 2.0 * hyperbola(859.52e-6, 3.0 * 0.92e-6, 1000.0));
        let received = &receiving(&classes, &prices(), None).unwrap()[0];
        near(received.full_s, 2.0 * hyperbola(2.0 * 859.52e-6 + 4.0 * 345.6e-6, 4.0 * 0.92e-6, 1000.0));
        near(received.measured_s.unwrap(), 0.04);
    }

    #[test]
    fn all_classes_add_up_but_what_is_beside_and_what_was_not_measured() {
        let mut reports = [rank(0, 2), rank(1, 2)];
        for report in &mut reports {
            let regions = report["regions"].as_array_mut().unwrap();
            for (name, time_s) in [("barrier", json!(0.1)), ("sums", json!(0.3)), ("grid", Value::Null)] {
                let mut region = regions[1].clone();
                region["name"] = json!(name);
                region["sent"][0]["time_s"] = time_s;
                regions.push(region);
            }
        }
        let rows = sending(&classes(json!(reports)), &prices(), None).unwrap();
        let names: Vec<&str> = rows.iter().map(|row| &*row.class).collect();
        assert_eq!(names, ["halo", "barrier", "sums", "grid"]);
        let all = sum(&rows).unwrap();
        near(all.measured_s.unwrap(), 0.05);
        near(all.full_s, rows[0].full_s + rows[2].full_s);
        near(all.error.unwrap(), all.observed_s.unwrap() / 0.05 - 1.0);
        assert_eq!((all.senders, all.messages), (Some(2.0), 4.0));
        near(all.senders_observed.unwrap(), rows[0].senders_observed.unwrap());
        let unmeasured = sum(&rows[3..]).unwrap();
        assert_eq!((unmeasured.measured_s, unmeasured.error), (None, None));
        assert_eq!(sum(&rows[1..2]), None);
    }
}
