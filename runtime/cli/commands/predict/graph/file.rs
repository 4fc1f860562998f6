//! The file of `lathide predict graph`: blocks and messages, one on a line. Pure.

use std::collections::BTreeMap;

use lathide::launcher::quantity::{SIZE, TIME, TIME_PER};
use lathide_models::hyperbolic::{Block, BlockId, Graph, MessageId, Processor};

/// What the lines are.
pub(super) const FORM: &str =
    "block NAME A B [on PROCESSOR], message FROM -> TO SIZE via BLOCK... [| BLOCK...], small or large";

/// What is wrong, and on which line if it is on one.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Wrong {
    pub(super) line: Option<usize>,
    pub(super) message: String,
}

/// The graph of small messages and that of large ones, where they differ (rule 4).
#[derive(Debug)]
pub(super) struct Patterns {
    pub(super) small: Pattern,
    /// `None`: the same.
    pub(super) large: Option<Pattern>,
}

/// A graph, and what its messages are called.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) graph: Graph,
    pub(super) messages: Vec<Sent>,
}

/// A message of a graph.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sent {
    /// `1 -> 4`
    pub(super) name: String,
    pub(super) bytes: f64,
    pub(super) id: MessageId,
    pub(super) line: usize,
}

/// Which graphs a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    Both,
    Large,
    Small,
}

impl Limit {
    fn meets(self, other: Self) -> bool {
        self == other || self == Self::Both || other == Self::Both
    }

    fn graph(self) -> &'static str {
        match self {
            Self::Both => "the graph",
            Self::Large => "the graph of large messages",
            Self::Small => "the graph of small messages",
        }
    }
}

struct BlockLine {
    line: usize,
    limit: Limit,
    name: String,
    block: Block,
    processor: Option<String>,
}

struct MessageLine {
    line: usize,
    limit: Limit,
    from: String,
    to: String,
    bytes: f64,
    ways: Vec<Vec<String>>,
}

#[derive(Default)]
struct Lines {
    blocks: Vec<BlockLine>,
    messages: Vec<MessageLine>,
    /// Where `small` and `large` are.
    small: Option<usize>,
    large: Option<usize>,
}

/// Reads the file's text.
pub(super) fn parse(text: &str) -> Result<Patterns, Wrong> {
    let lines = Lines::read(text)?;
    if lines.blocks.is_empty() || lines.messages.is_empty() {
        let missing = if lines.messages.is_empty() { "message" } else { "block" };
        return Err(Wrong { line: None, message: format!("there is no {missing} in it; its lines are {FORM}") });
    }
    let patterns = match (lines.small, lines.large) {
        (None, None) => Patterns { small: lines.pattern(Limit::Both)?, large: None },
        (Some(_), Some(_)) => {
            let (small, large) = (lines.pattern(Limit::Small)?, lines.pattern(Limit::Large)?);
            agree(&small, &large)?;
            Patterns { small, large: Some(large) }
        }
        (Some(line), None) | (None, Some(line)) => {
            return Err(at(line, "rule 4 joins two graphs: give one behind small and the other behind large"));
        }
    };
    match lines.unused() {
        Some(BlockLine { line, name, .. }) => Err(at(*line, format!("no message passes block {name}"))),
        None => Ok(patterns),
    }
}

fn at(line: usize, message: impl Into<String>) -> Wrong {
    Wrong { line: Some(line), message: message.into() }
}

/// What is in both graphs has the same size there; and something is.
fn agree(small: &Pattern, large: &Pattern) -> Result<(), Wrong> {
    let mut common = 0;
    for message in &large.messages {
        let Some(other) = small.messages.iter().find(|other| other.name == message.name) else { continue };
        if other.bytes != message.bytes {
            let (name, bytes, before) = (&message.name, message.bytes, other.bytes);
            let text = format!("message {name} has {bytes} bytes here and {before} on line {}", other.line);
            return Err(at(message.line, text));
        }
        common += 1;
    }
    if common == 0 {
        let message = "no message is in both graphs, that of small and that of large ones".to_owned();
        return Err(Wrong { line: None, message });
    }
    Ok(())
}

impl Lines {
    fn read(text: &str) -> Result<Self, Wrong> {
        let (mut lines, mut limit) = (Self::default(), Limit::Both);
        for (number, text) in text.lines().enumerate() {
            let line = number + 1;
            let code = text.split('#').next().unwrap_or_default().replace("->", " -> ").replace('|', " | ");
            let words: Vec<&str> = code.split_whitespace().collect();
            match words[..] {
                [] => {}
                ["block", ref words @ ..] => lines.block(line, limit, words)?,
                ["message", ref words @ ..] => lines.message(line, limit, words)?,
                [section @ ("small" | "large")] => {
                    let (place, which) = match section {
                        "small" => (&mut lines.small, Limit::Small),
                        _ => (&mut lines.large, Limit::Large),
                    };
                    if let Some(before) = place.replace(line) {
                        return Err(at(line, format!("{section} is on line {before} already")));
                    }
                    limit = which;
                }
                [other, ..] => return Err(at(line, format!("{other:?} begins no line; lines are {FORM}"))),
            }
        }
        Ok(lines)
    }

    fn block(&mut self, line: usize, limit: Limit, words: &[&str]) -> Result<(), Wrong> {
        let (name, a, b, processor) = match *words {
            [name, a, b] => (name, a, b, None),
            [name, a, b, "on", processor] => (name, a, b, Some(processor.to_owned())),
            _ => return Err(at(line, "this is no block: write block NAME A B, or block NAME A B on PROCESSOR")),
        };
        let wrong = |what: &str, text: &str, why: String| at(line, format!("{what} of block {name} is {text}: {why}"));
        let a_s = TIME.one(a).map_err(|why| wrong("a", a, why))?;
        let b_s_per_byte = TIME_PER.one(b).map_err(|why| wrong("b", b, why))?;
        let block = Block::new(a_s, b_s_per_byte).map_err(|bad| at(line, format!("block {name}: {bad}")))?;
        let same = |other: &&BlockLine| other.name == name && other.limit.meets(limit);
        if let Some(other) = self.blocks.iter().find(same) {
            return Err(at(line, format!("block {name} is on line {} already", other.line)));
        }
        self.blocks.push(BlockLine { line, limit, name: name.to_owned(), block, processor });
        Ok(())
    }

    fn message(&mut self, line: usize, limit: Limit, words: &[&str]) -> Result<(), Wrong> {
        let [from, "->", to, size, "via", ref way @ ..] = *words else {
            return Err(at(line, "this is no message: write message FROM -> TO SIZE via BLOCK BLOCK..."));
        };
        let bytes = SIZE.one(size).map_err(|why| at(line, format!("the size is {size}: {why}")))?;
        let same = |other: &&MessageLine| other.from == from && other.to == to && other.limit.meets(limit);
        if let Some(other) = self.messages.iter().find(same) {
            let text = format!(
                "message {from} -> {to} is on line {} already; a second one of the same pair needs another name, such as {from}.2",
                other.line
            );
            return Err(at(line, text));
        }
        let ways = way.split(|word| *word == "|").map(|way| way.iter().map(|&name| name.to_owned()).collect());
        let (from, to) = (from.to_owned(), to.to_owned());
        self.messages.push(MessageLine { line, limit, from, to, bytes, ways: ways.collect() });
        Ok(())
    }

    /// The graph of one limit, with what belongs to both.
    fn pattern(&self, limit: Limit) -> Result<Pattern, Wrong> {
        let mut graph = Graph::new();
        let mut processors: BTreeMap<&str, Processor> = BTreeMap::new();
        let mut blocks: BTreeMap<&str, BlockId> = BTreeMap::new();
        for BlockLine { line, name, block, processor, .. } in self.blocks.iter().filter(|it| it.limit.meets(limit)) {
            let id = match processor {
                None => graph.block(name, *block),
                Some(shared) => {
                    let on = *processors.entry(shared).or_insert_with(|| graph.processor());
                    graph.block_on(on, name, *block).map_err(|error| at(*line, error.to_string()))?
                }
            };
            blocks.insert(name, id);
        }
        let mut messages = Vec::new();
        for MessageLine { line, from, to, bytes, ways, .. } in self.messages.iter().filter(|it| it.limit.meets(limit)) {
            let (line, name) = (*line, format!("{from} -> {to}"));
            let id = graph.message(from, to, *bytes).map_err(|error| at(line, format!("message {name}: {error}")))?;
            for way in ways {
                let mut ids = Vec::new();
                for block in way {
                    let unknown = || format!("message {name} passes {block}, which is no block of {}", limit.graph());
                    ids.push(*blocks.get(block.as_str()).ok_or_else(|| at(line, unknown()))?);
                }
                graph.way(id, &ids).map_err(|error| at(line, error.to_string()))?;
            }
            messages.push(Sent { name, bytes: *bytes, id, line });
        }
        Ok(Pattern { graph, messages })
    }

    /// The first block that no message passes.
    fn unused(&self) -> Option<&BlockLine> {
        self.blocks.iter().find(|block| {
            let passes = |message: &MessageLine| {
                message.limit.meets(block.limit) && message.ways.iter().flatten().any(|name| *name == block.name)
            };
            !self.messages.iter().any(passes)
        })
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
