//! `--from`: parameters out of a saved result of `lathide link --json` or `lathide gain --json`.

use std::path::Path;

use crate::launch::link::LinkSpec;
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

    fn parse(name: String, text: &str) -> Result<Self, Problem> {
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

    fn link(&self) -> Option<LinkSpec> {
        self.find("link.spec").and_then(Value::as_str).and_then(|spec| spec.parse().ok())
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

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "[]", "1", "{\"a\": NaN}", "lathide"] {
            let problem = Saved::parse("x.json".into(), text).unwrap_err().to_string();
            assert!(problem.contains("x.json") && problem.contains("no JSON object"), "{text}: {problem}");
        }
    }
}
