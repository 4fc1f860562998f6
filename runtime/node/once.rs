//! A process joins the job of its environment once.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::error::{Misuse, Result};
use crate::ids::Rank;
use crate::kernel::Kernel;

/// The call of `init` that has joined a job of several ranks, or is about to.
static CALL: Mutex<Option<Call>> = Mutex::new(None);

struct Call {
    /// The process that called.
    process: u32,
    /// The node, when it has joined.
    node: Option<Weak<Kernel>>,
}

/// The right to join. Dropped before it is used, it may be taken again: a call that has failed may be repeated.
pub(super) struct Turn {
    is_used: bool,
}

impl Turn {
    /// # Errors
    /// [`Misuse::Joined`] if another call has taken it, [`Misuse::Forked`] if that was another process's.
    pub(super) fn take(rank: Rank) -> Result<Self> {
        let mut call = CALL.lock();
        let process = std::process::id();
        match &*call {
            None => {
                *call = Some(Call { process, node: None });
                Ok(Turn { is_used: false })
            }
            Some(before) if before.process != process => Err(Misuse::Forked { rank, process: before.process }.into()),
            Some(Call { node, .. }) => {
                let has_left = |node: &Weak<Kernel>| node.upgrade().is_none_or(|kernel| kernel.is_over());
                Err(Misuse::Joined { rank, is_here: !node.as_ref().is_some_and(has_left) }.into())
            }
        }
    }

    /// The call has made this node.
    pub(super) fn used(mut self, kernel: &Arc<Kernel>) {
        self.is_used = true;
        if let Some(call) = &mut *CALL.lock() {
            call.node = Some(Arc::downgrade(kernel));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.is_used {
            *CALL.lock() = None;
        }
    }
}
