//! What tunes a node while it runs, by name; and what of that is switched off, so that a bench can show what it gains.

/// What tunes a node while it runs. Each has a default that is right without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Controller {
    /// Whether small writes in quick succession leave together. Off: each leaves by itself.
    Batching,
    /// How many fragments share a header. Off: one.
    FragmentBatch,
    /// How much a socket holds that is not sent yet. Off: as at the start.
    NotsentLowat,
    /// Whether a fast connection within a host is paced. Off: as the system has it.
    Pacing,
    /// How often the task looks while a long message comes in and the program computes. Off: whenever something comes.
    PollInterval,
    /// How long a waiting thread polls before it sleeps. Off: not at all.
    Spin,
}

/// The controllers that are switched off, a bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Disabled(u8);

impl Disabled {
    pub(crate) fn add(&mut self, controller: Controller) {
        self.0 |= 1 << controller as u8;
    }

    /// Whether `controller` does its work.
    pub(crate) fn leaves(self, controller: Controller) -> bool {
        self.0 & (1 << controller as u8) == 0
    }
}
