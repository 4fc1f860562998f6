//! One sweep: a name and its values. Pure.

use lathide::launcher::quantity::{NUMBER, WHOLE};

/// The sweep that is no argument of the program.
pub(super) const RANKS: &str = "ranks";

/// A name, and its values in turn.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sweep {
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

impl Sweep {
    /// From `NAME=LIST`. Values are taken as they are written; ranges are of numbers.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let Some((name, list)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err("a sweep is a name and a list: n=16..512*2, or px=1,2,4".to_owned());
        };
        if !name.chars().all(|sign| sign.is_alphanumeric() || sign == '_' || sign == '-') {
            return Err(format!("{name} is no name: it stands in braces in the program's arguments"));
        }
        if name == "version" {
            return Err("the versions are those of --versions".to_owned());
        }
        let mut values = Vec::new();
        for item in list.split(',').map(str::trim) {
            match item {
                "" => return Err(format!("{name} has an empty value")),
                range if range.contains("..") => {
                    values.extend(NUMBER.list(range)?.into_iter().map(|value: f64| value.to_string()));
                }
                value => values.push(value.to_owned()),
            }
        }
        if name == RANKS {
            WHOLE.within("1", "4096").list::<u32>(list)?;
        }
        Ok(Sweep { name: name.to_owned(), values })
    }
}
