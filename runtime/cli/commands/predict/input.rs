//! Files that options name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::problem::Problem;

/// The text of a file, or of standard input where the path is `-`, if it has at most `most` bytes. `what` names it in
/// messages.
pub(super) fn read(what: &str, path: &Path, most: u64) -> Result<String, Problem> {
    let unread = |error| Problem::new(format!("{what}: it cannot be read: {error}"));
    let mut text = String::new();
    let source: Box<dyn Read> =
        if path.as_os_str() == "-" { Box::new(std::io::stdin()) } else { Box::new(File::open(path).map_err(unread)?) };
    source.take(most + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() as u64 > most {
        return Err(Problem::new(format!("{what}: it has more than {most} bytes")));
    }
    Ok(text)
}
