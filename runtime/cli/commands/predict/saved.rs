//! `--from`: parameters out of a saved result of `lathide link --json` or `lathide gain --json`.

use std::path::Path;

use crate::launch::link::LinkSpec;
use crate::report::format::seconds;
use serde_json::{Value, json};

use super::input;
use super::problem::Problem;

/// No result is that long.
const FILE_MAX: u64 = 64 << 20;

/// A saved result.
#[derive(Debug)]
pub(super) struct Saved {
    name: String,
    json: Value,
}

impl Saved {
    /// Reads the file, or standard input where the path is `-`.
    pub(super) fn read(path: &Path) -> Result<Self, Problem> {
        let name = path.display().to_string();
        let text = input::read(&format!("--from {name}"), path, FILE_MAX)?;
        Self::parse(name, &text)
    }

    pub(super) fn parse(name: String, text: &str) -> Result<Self, Problem> {
        let json: Value = serde_json::from_str(text).map_err(|error| {
            let hint = "lathide link --json > link.json makes such a file";
            Problem::new(format!("--from {name}: it is no JSON object: {error}; {hint}"))
        })?;
        if !json.is_object() {
            return Err(Problem::new(format!("--from {name}: it is no JSON object")));
        }
        Ok(Saved { name, json })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What an answer says about it.
    pub(super) fn origin(&self) -> Value {
        json!({ "path": self.name, "schema": self.json["schema"], "link": self.json["link"] })
    }

    /// The member at `path`, with dots between names; `None` if it is not there or null.
    pub(super) fn find(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&self.json, |value, name| value.get(name)).filter(|value| !value.is_null())
    }

    /// The number at `path`. `instead` says which options make it unnecessary.
    pub(super) fn number(&self, path: &str, instead: &str) -> Result<f64, Problem> {
        let value = self.find(path).ok_or_else(|| self.missing(path, instead))?;
        value.as_f64().ok_or_else(|| Problem::new(format!("--from {}: {path} is {value}, no number", self.name)))
    }

    pub(super) fn missing(&self, path: &str, instead: &str) -> Problem {
        let command = match path.split('.').next() {
            Some("f" | "omega" | "points") => "gain",
            _ => "link",
        };
        Problem::new(format!(
            "--from {}: there is no {path} in it; lathide {command} --json finds it out, or {instead}",
            self.name
        ))
    }

    /// Whether the link it tells of is one medium for all.
    pub(super) fn is_shared(&self) -> bool {
        self.link().is_some_and(|link| link.shared)
    }

    /// The delay that the link was given, if it was emulated with one.
    pub(super) fn delay_s(&self) -> Option<f64> {
        self.link().map(|link| link.delay.as_secs_f64()).filter(|delay_s| *delay_s > 0.0)
    }

    /// How many short messages went over the link, one behind the other.
    pub(super) fn short_messages_per_s(&self) -> Option<f64> {
        self.find("message_rate.lathide_per_s").and_then(Value::as_f64).filter(|rate| *rate > 0.0 && rate.is_finite())
    }

    /// What several pairs at once were measured to share; `None` if only one was, or none, or
    /// it remained unclear.
    pub(super) fn contention(&self) -> Result<Option<Contention>, Problem> {
        let pairs = self.find("contention.pairs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let pairs = pairs.iter().filter_map(|row| row["pairs"].as_u64()).max().unwrap_or_default();
        let medium = self.find("contention.medium").and_then(Value::as_str).unwrap_or_default();
        if pairs < 2 || medium == "unclear" {
            return Ok(None);
        }
        let number = |name: &str| self.number(&format!("contention.{name}"), "measure again");
        let given = |name: &str| self.find(&format!("contention.{name}")).map(|_| number(name)).transpose();
        let flag = |name: &str| self.find(&format!("contention.{name}")).and_then(Value::as_bool).unwrap_or_default();
        let network_a_s = number("network_a_s")?;
        Ok(Some(Contention {
            medium: medium.to_owned(),
            pairs,
            a_s: 2.0 * number("workstation_a_s")? + network_a_s,
            b_s_per_byte: number("slower_s_per_byte")?,
            network_a_s,
            network_b_s_per_byte: number("network_b_s_per_byte")?,
            network_b_error_s_per_byte: number("network_b_error_s_per_byte")?,
            port_b_s_per_byte: given("port_b_s_per_byte")?,
            aggregate_bytes_per_s: given("aggregate_bytes_per_s")?.filter(|_| flag("aggregate_is_limit")),
            queue_bytes: given("queue_bytes")?,
            queue_is_least: flag("queue_is_least"),
        }))
    }

    fn link(&self) -> Option<LinkSpec> {
        self.find("link.spec").and_then(Value::as_str).and_then(|spec| spec.parse().ok())
    }
}

/// What simultaneous pairs share, as `lathide link --pairs` found it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Contention {
    medium: String,
    /// So many at most were measured.
    pairs: u64,
    /// a and b of one pair alone, by the same fit.
    pub(super) a_s: f64,
    pub(super) b_s_per_byte: f64,
    /// a_C.
    pub(super) network_a_s: f64,
    /// b_C, and its error.
    pub(super) network_b_s_per_byte: f64,
    network_b_error_s_per_byte: f64,
    /// Of a host's port, if pairs share that.
    port_b_s_per_byte: Option<f64>,
    /// What the network can do for all pairs together, if that is known.
    pub(super) aggregate_bytes_per_s: Option<f64>,
    /// B_L, and whether it is a lower bound.
    pub(super) queue_bytes: Option<f64>,
    pub(super) queue_is_least: bool,
}

impl Contention {
    /// Where a_C and b_C are from.
    pub(super) fn in_words(&self) -> String {
        let Contention { pairs, .. } = self;
        let (b, error) = (seconds(self.network_b_s_per_byte), seconds(self.network_b_error_s_per_byte));
        let medium = match (self.medium.as_str(), self.port_b_s_per_byte) {
            ("shared", _) => format!("one medium for all, b_C = {b} (+- {error}) per byte"),
            ("processor", _) => format!(
                "the processors were the limit, b_C = {b} per byte is theirs, and the network's is no more than that"
            ),
            ("port", Some(port)) => format!(
                "the processes of one host share its port ({} per byte), which this model does not have: it is right for one \
                 process on each host, with b_C = 0",
                seconds(port)
            ),
            _ => format!(
                "pairs did not slow each other down, b_C = 0 (with more of them it may be up to {error} per byte)"
            ),
        };
        format!("the contention of this link was measured with up to {pairs} pairs at once: {medium}")
    }
}

/// The value of an option, else the number at `path` of a saved result, else another. `flag` is the option.
pub(super) fn pick(
    option: Option<f64>,
    (saved, path, flag): (Option<&Saved>, &str, &str),
    otherwise: f64,
) -> Result<f64, Problem> {
    match (option, saved) {
        (Some(value), _) => Ok(value),
        (None, Some(saved)) => saved.number(path, &format!("give {flag}")),
        (None, None) => Ok(otherwise),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::commands::predict) fn saved(json: Value) -> Saved {
        Saved::parse("link.json".into(), &json.to_string()).expect("JSON")
    }

    #[test]
    fn members_are_found() {
        let saved = saved(json!({
            "schema": "lathide-link-2",
            "link": {"spec": "delay=50us,rate=10mbit,shared"},
            "hyperbolic": {"a_s": 35e-6, "b_s_per_byte": null, "name": "x"},
        }));
        assert_eq!(saved.number("hyperbolic.a_s", "").unwrap(), 35e-6);
        assert!(saved.is_shared());
        assert_eq!((saved.delay_s(), saved.short_messages_per_s()), (Some(50e-6), None));
        let missing = saved.number("hyperbolic.b_s_per_byte", "give --b").unwrap_err().to_string();
        for part in ["link.json", "no hyperbolic.b_s_per_byte", "lathide link --json", "give --b"] {
            assert!(missing.contains(part), "{missing}");
        }
        assert!(saved.number("f", "").unwrap_err().to_string().contains("lathide gain --json"));
        assert!(saved.number("hyperbolic.name", "").unwrap_err().to_string().contains("\"x\", no number"));
        assert_eq!(saved.origin()["schema"], "lathide-link-2");
    }

    /// What `lathide link --pairs` saves.
    pub(in crate::commands::predict) fn contention(medium: &str, b_c: f64) -> Value {
        json!({
            "pairs": [{"pairs": 1}, {"pairs": 4}], "medium": medium,
            "workstation_a_s": 15e-6, "slower_s_per_byte": 1e-9,
            "network_a_s": 10e-6, "network_b_s_per_byte": b_c, "network_b_error_s_per_byte": 1e-11,
            "aggregate_bytes_per_s": 1e9, "aggregate_is_limit": medium == "shared",
            "queue_bytes": null, "queue_is_least": null, "port_b_s_per_byte": null,
        })
    }

    #[test]
    fn contention_is_found_where_several_pairs_were_measured() {
        let shared = saved(json!({"contention": contention("shared", 1e-9)})).contention().unwrap().unwrap();
        assert!((shared.a_s - 40e-6).abs() < 1e-18 && shared.aggregate_bytes_per_s == Some(1e9), "{shared:?}");
        assert!(shared.in_words().contains("up to 4 pairs at once: one medium"), "{}", shared.in_words());
        let switched = saved(json!({"contention": contention("switched", 0.0)})).contention().unwrap().unwrap();
        assert!(switched.aggregate_bytes_per_s.is_none() && switched.in_words().contains("b_C = 0"), "{switched:?}");
        assert_eq!(saved(json!({"contention": null})).contention().unwrap(), None);
        assert_eq!(saved(json!({"contention": {"pairs": [{"pairs": 1}]}})).contention().unwrap(), None);
        let unclear = saved(json!({"contention": contention("unclear", 0.0)}));
        assert_eq!(unclear.contention().unwrap(), None);
        let broken = saved(json!({"contention": {"pairs": [{"pairs": 2}], "network_a_s": "much"}}));
        assert!(broken.contention().unwrap_err().to_string().contains("contention.network_a_s"));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "[]", "1", "{\"a\": NaN}", "lathide"] {
            let problem = Saved::parse("x.json".into(), text).unwrap_err().to_string();
            assert!(problem.contains("x.json") && problem.contains("no JSON object"), "{text}: {problem}");
        }
    }
}
