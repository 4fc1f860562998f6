//! Processes that are forked from the one that joined the job.
//!
//! Such a process has no kernel's thread, and its parent's connections: bytes that it sent or took would be missing or too
//! many on the link. A flag that every call looks at anyway is set in it ([`lathide_sys::fork`]), so no call moves a byte, and
//! each says what is wrong.

use std::sync::atomic::Ordering;

use super::Kernel;
use super::helper::Condition;
use crate::error::{Error, Misuse};

impl Kernel {
    /// Whether the node accepts no calls any more.
    pub(crate) fn is_over(&self) -> bool {
        self.program.is_over.load(Ordering::Relaxed)
    }

    /// Why the node accepts no calls any more.
    pub(super) fn over(&self) -> Error {
        self.forked().unwrap_or(Error::Shutdown { rank: self.rank })
    }

    /// What is wrong, if this process was forked from the one that joined.
    pub(crate) fn forked(&self) -> Option<Error> {
        let process = self.names.process;
        let is_forked = self.is_over() && std::process::id() != process;
        is_forked.then(|| Misuse::Forked { rank: self.rank, process }.into())
    }

    /// Ends a wait that nobody would end, in a process that was forked. Returns whether it is one.
    pub(super) fn ends_forked(&self, condition: &dyn Condition) -> bool {
        let Some(error) = self.forked() else { return false };
        for completion in condition.completions() {
            // Nobody else of this process waits for it.
            drop(completion.fail(&error));
        }
        true
    }
}
