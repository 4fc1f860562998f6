//! What one rank's file says of a run.

use std::io::{self, BufRead};

use crate::observe::event::{Event, Head, Line, SCHEMA, Tail};

/// What one rank's file says.
pub(crate) struct Track {
    pub(crate) head: Head,
    pub(crate) events: Vec<Event>,
    /// `None`: the process ended early.
    pub(crate) tail: Option<Tail>,
}

impl Track {
    /// Reads a file's text; one that was cut off is read as far as it makes sense. `name` is the file's, for errors.
    pub(super) fn read(text: impl BufRead, name: &str) -> io::Result<Track> {
        let mut lines = text.lines();
        let parse = |line: io::Result<String>| serde_json::from_str::<Line>(&line.ok()?).ok();
        let Some(Line::Head(head)) = lines.next().and_then(parse) else {
            return Err(io::Error::other(format!("{} holds no events", name)));
        };
        if head.schema != SCHEMA {
            return Err(io::Error::other(format!("{} is of another version of lathide: {}", name, head.schema)));
        }
        let (mut events, mut tail) = (Vec::new(), None);
        for line in lines {
            match parse(line) {
                Some(Line::Event(event)) => events.push(event),
                Some(Line::Tail(last)) => tail = Some(last),
                Some(Line::Head(_)) | None => break,
            }
        }
        // Threads tell of a call when it is over.
        events.sort_by_key(|event| event.at_ns);
        Ok(Track { head, events, tail })
    }

    /// When the node was last seen.
    pub(super) fn end_ns(&self) -> u64 {
        let last = self.events.last().map_or(0, |event| event.at_ns);
        self.tail.as_ref().map_or(last, |tail| tail.ended_ns.max(last))
    }
}
