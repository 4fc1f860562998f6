//! What `lathide predict` reads, for the fuzzer (`tests/fuzz`).

use clap::Parser;

pub(crate) use super::gain::fuzz as tasks;
pub(crate) use super::graph::fuzz as graph;
use super::saved::Saved;
use super::{Args, located};

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// What is asked, of what may come from a file.
const CALLS: [&str; 8] = [
    "gain",
    "gain --lambda 144 --q p --procs 1..32",
    "gain --halo 1..64 --t-calc 2.5ms",
    "hyperbolic --pairs 1,2,4,8 --bytes 1KiB..1MiB*4",
    "broadcast --model cluster --procs 2..16*2 --bytes 64KiB",
    "gather",
    "collectives --procs 4,16",
    "hops",
];

/// A saved result, and which question it is to answer.
pub(crate) fn saved(call: usize, text: &str) {
    let Ok(saved) = Saved::parse("it".into(), text) else { return };
    let words = ["predict"].into_iter().chain(CALLS[call % CALLS.len()].split(' ')).chain(["--from", "it"]);
    let line = Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    let (name, model) = line.args.model.asked();
    match model.predict(Some(&saved)) {
        Ok(answer) => {
            let results = answer.results(name, Some(saved.origin()));
            assert!(!crate::report::text::text(&results, false).is_empty());
        }
        Err(problem) => assert!(located(problem, Some(&saved)).to_string().len() > 4),
    }
}
