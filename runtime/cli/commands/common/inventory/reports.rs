//! What is read of the reports of a job's ranks: their regions, and what aligns their clocks. Pure.

use serde::Deserialize;
use serde_json::Value;

/// What a rank has observed.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct RankReport {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// Of Strumpen's model, over the whole job.
    #[serde(default)]
    pub(crate) gamma: Option<f64>,
    #[serde(default)]
    pub(crate) f: Option<f64>,
    #[serde(default)]
    pub(crate) omega: Option<f64>,
    #[serde(default)]
    pub(super) links: Vec<LinkReport>,
    #[serde(default)]
    pub(super) regions: Vec<RegionReport>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct LinkReport {
    pub(super) peer: u32,
    /// This rank's clock minus the peer's.
    #[serde(default)]
    pub(super) clock_offset_s: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct RegionReport {
    pub(super) name: String,
    pub(super) entered: u64,
    pub(super) within_s: f64,
    #[serde(default)]
    pub(super) in_calls_s: Option<f64>,
    pub(super) sent: Vec<SizeReport>,
    pub(super) received: Vec<SizeReport>,
    /// From when until when its messages were leaving the host, by this rank's clock.
    #[serde(default)]
    pub(super) sending: Vec<[f64; 2]>,
}

#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub(super) struct SizeReport {
    pub(super) bytes: u64,
    pub(super) messages: u64,
    /// How many of them were timed; all, where that is not said.
    #[serde(default)]
    pub(super) timed: Option<u64>,
    /// The sum of the times of those.
    #[serde(default)]
    pub(super) time_s: Option<f64>,
}

impl SizeReport {
    /// The time of all of them, if some were timed: the others count as much on average.
    pub(super) fn all_s(&self) -> Option<f64> {
        let timed = self.timed.unwrap_or(self.messages);
        match (self.messages, timed) {
            (0, _) => Some(0.0),
            (_, 0) => None,
            (messages, timed) => self.time_s.map(|time_s| time_s * messages as f64 / timed as f64),
        }
    }
}

/// The reports of all ranks, by rank.
///
/// # Errors
/// In words: what it is instead, or which ranks are missing.
pub(crate) fn read(json: &Value) -> Result<Vec<RankReport>, String> {
    const MAKES: &str = "lathide run --report=FILE makes such a file";
    let list = match json {
        Value::Array(_) => json,
        Value::Object(members) => match (members.get("schema").and_then(Value::as_str), members.get("reports")) {
            (Some("lathide-run-1"), Some(reports @ Value::Array(_))) => reports,
            (Some("lathide-run-1"), _) => return Err(format!("it is of a run without reports; {MAKES}")),
            (Some(schema), _) => return Err(format!("it is a {schema}, not the reports of a run; {MAKES}")),
            (None, _) => return Err(format!("it has no reports of ranks; {MAKES}")),
        },
        _ => return Err(format!("it has no reports of ranks; {MAKES}")),
    };
    let reports: Result<Vec<RankReport>, _> = serde_json::from_value(list.clone());
    let mut reports = reports.map_err(|error| format!("its reports cannot be read: {error}; {MAKES}"))?;
    reports.sort_by_key(|report| report.rank);
    let size = reports.first().map(|report| report.size).ok_or_else(|| {
        "no rank has reported: is the program one of lathide's, and does it come to its end?".to_owned()
    })?;
    let missing: Vec<String> = (0..size)
        .filter(|rank| !reports.iter().any(|report| report.rank == *rank))
        .map(|rank| rank.to_string())
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "of {size} ranks these have not reported: {}; an inventory needs all of them",
            missing.join(", ")
        ));
    }
    if reports.len() != size as usize || reports.iter().any(|report| report.size != size) {
        return Err(format!("{} reports for {size} ranks: they are not of one job", reports.len()));
    }
    Ok(reports)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A rank that has been in "iteration" ten times and has sent in "halo", to be changed.
    pub(in crate::commands::common::inventory) fn rank(rank: u32, size: u32) -> Value {
        json!({
            "rank": rank, "size": size, "gamma": 2.0, "f": 0.9, "omega": 0.01,
            "links": [{"peer": (rank + 1) % size, "clock_offset_s": 0.5}],
            "regions": [
                {"name": "iteration", "entered": 10, "within_s": 2.0, "in_calls_s": 0.5, "sent": [], "received": []},
                {
                    "name": "halo", "entered": 20, "within_s": 0.5, "in_calls_s": 0.5,
                    "sent": [{"bytes": 1000, "messages": 20, "timed": 20, "time_s": 0.2}],
                    "received": [{"bytes": 1000, "messages": 20, "timed": 10, "time_s": 0.2}],
                    "sending": [[1.0, 2.0]],
                },
            ],
        })
    }

    #[test]
    fn reports_stand_alone_or_in_the_result_of_a_run() {
        let list = json!([rank(1, 2), rank(0, 2)]);
        let reports = read(&list).unwrap();
        assert_eq!(reports.iter().map(|report| report.rank).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(read(&json!({"schema": "lathide-run-1", "reports": list})).unwrap(), reports);
    }

    #[test]
    fn what_was_not_timed_counts_as_what_was() {
        let sized = |timed, time_s| SizeReport { bytes: 8, messages: 20, timed, time_s };
        assert_eq!(sized(Some(10), Some(0.2)).all_s(), Some(0.4));
        assert_eq!(sized(None, Some(0.2)).all_s(), Some(0.2));
        assert_eq!((sized(Some(0), None).all_s(), sized(None, None).all_s()), (None, None));
    }

    /// What an older version wrote.
    #[test]
    fn members_that_are_missing_are_unknown() {
        let region = json!({
            "name": "halo", "entered": 1, "within_s": 0.1, "sent": [{"bytes": 8, "messages": 2}], "received": [],
        });
        let reports = read(&json!([{"rank": 0, "size": 1, "regions": [region]}])).unwrap();
        let halo = &reports[0].regions[0];
        assert_eq!((halo.in_calls_s, halo.sent[0].all_s(), halo.sending.len()), (None, None, 0));
    }

    #[test]
    fn what_is_no_inventory_is_named() {
        let refused = |json: Value, parts: &[&str]| {
            let said = read(&json).unwrap_err();
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        };
        refused(json!({"schema": "lathide-link-2"}), &["a lathide-link-2", "--report=FILE"]);
        refused(json!({"schema": "lathide-run-1", "reports": null}), &["without reports"]);
        refused(json!(7), &["no reports"]);
        refused(json!([]), &["no rank has reported"]);
        refused(json!([{"rank": 0}]), &["cannot be read", "size"]);
        refused(json!([rank(0, 4), rank(2, 4)]), &["of 4 ranks", "1, 3"]);
        refused(json!([rank(0, 2), rank(1, 2), rank(1, 2)]), &["3 reports for 2 ranks"]);
    }
}
