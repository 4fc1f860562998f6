//! B_L: what the queue in front of a receiver holds.

use std::path::Path;

use serde_json::Value;

use crate::launch::failed::{Failed, Result};

/// The queue, and where that is from.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Queue {
    /// `None`: it does not limit.
    pub(super) bytes: Option<f64>,
    pub(super) from: String,
}

impl Queue {
    /// That of the option, else that of a saved result of `lathide link`, else one without a limit.
    pub(super) fn of(option: Option<u64>, saved: Option<&Path>) -> Result<Self> {
        if let Some(bytes) = option {
            return Ok(Queue { bytes: Some(bytes as f64), from: "as given (--queue)".to_owned() });
        }
        let Some(path) = saved else {
            return Ok(Queue {
                bytes: None,
                from: "taken for unlimited, since neither --queue nor --from says it".to_owned(),
            });
        };
        let name = path.display();
        let bad = |why: String| Failed::usage(format!("--from {name}: {why}"));
        let text = std::fs::read_to_string(path).map_err(|error| bad(format!("it cannot be read: {error}")))?;
        let bytes = queue_bytes(&text).map_err(bad)?;
        let from = match bytes {
            Some(_) => format!("measured by flooding, in {name}"),
            None => format!("taken for unlimited, since {name} has no contention.queue_bytes"),
        };
        Ok(Queue { bytes, from })
    }
}

/// The queue in a saved result, if it has one.
fn queue_bytes(text: &str) -> std::result::Result<Option<f64>, String> {
    let hint = "lathide link --json > link.json makes such a file";
    let json: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON object: {error}; {hint}"))?;
    if !json.is_object() {
        return Err(format!("it is no JSON object; {hint}"));
    }
    match &json["contention"]["queue_bytes"] {
        Value::Null => Ok(None),
        value => {
            let bytes = value.as_f64().filter(|bytes| *bytes > 0.0);
            bytes.map(Some).ok_or_else(|| format!("contention.queue_bytes is {value}, no size"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_result_may_have_it() {
        assert_eq!(queue_bytes(r#"{"contention": {"queue_bytes": 65536}}"#), Ok(Some(65_536.0)));
        for none in ["{}", r#"{"contention": null}"#, r#"{"contention": {"queue_bytes": null}}"#] {
            assert_eq!(queue_bytes(none), Ok(None), "{none}");
        }
        for (bad, why) in [
            ("", "no JSON object"),
            ("[]", "no JSON object"),
            (r#"{"contention": {"queue_bytes": "much"}}"#, "\"much\", no size"),
            (r#"{"contention": {"queue_bytes": 0}}"#, "0, no size"),
        ] {
            assert!(queue_bytes(bad).unwrap_err().contains(why), "{bad}");
        }
    }

    #[test]
    fn the_option_comes_first() {
        let missing = Path::new("/nonexistent/link.json");
        assert_eq!(Queue::of(Some(8), Some(missing)).unwrap().bytes, Some(8.0));
        let refused = Queue::of(None, Some(missing)).unwrap_err();
        assert!(refused.status == 2 && refused.message.contains("cannot be read"), "{refused}");
        assert_eq!(Queue::of(None, None).unwrap().bytes, None);
    }
}
