//! What all models have in common: options, and that they can be asked.

use std::path::PathBuf;

use super::answer::Answer;
use super::problem::Problem;
use super::saved::Saved;
use crate::commands::common::output::Output;

/// The options of every model.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Common {
    /// Take parameters from a saved result of lathide link --json or lathide gain --json (- for standard input);
    /// an option given as well counts instead
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: Output,
}

/// A model that can be asked.
pub(super) trait Predict {
    /// The subcommand.
    const NAME: &'static str;

    fn common(&self) -> &Common;

    /// The answer; `saved` is what `--from` read.
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem>;
}
