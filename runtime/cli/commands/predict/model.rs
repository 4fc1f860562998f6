//! A model that can be asked.

use super::answer::Answer;
use super::problem::Problem;
use super::saved::Saved;

/// A model that can be asked.
pub(super) trait Predict {
    /// The answer; `saved` is what `--from` read.
    fn predict(&self, saved: Option<&Saved>) -> Result<Answer, Problem>;
}
