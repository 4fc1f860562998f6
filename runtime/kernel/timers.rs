//! What the kernel's task does at a set time.

use std::time::Duration;

use tokio::time::Instant;

/// What the task does when a time has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// Ask the ranks that collectives wait for, and again while some are under way.
    AskRanks,
    /// Tell peers what has come from them.
    Acknowledge,
    /// Take what was seen of a lost rank for the cause: the rendezvous has not said otherwise.
    ConfirmLoss,
    /// Look whether the node stands still.
    DetectDeadlock,
    /// Look whether the peers' hosts are there.
    LookForSilence,
    /// Look at the links after a pause.
    LookAgain,
    /// Compare whether waits still follow each other.
    Tick,
}

impl Timer {
    const ALL: [Timer; 7] = [
        Timer::AskRanks,
        Timer::Acknowledge,
        Timer::ConfirmLoss,
        Timer::DetectDeadlock,
        Timer::LookForSilence,
        Timer::LookAgain,
        Timer::Tick,
    ];
}

/// The task's timers, by [`Timer`]: when each ends, if it runs.
#[derive(Default)]
pub(super) struct Timers([Option<Instant>; Timer::ALL.len()]);

impl Timers {
    /// `timer` ends when `length` from now is over; `None`: it does not run.
    pub(super) fn set(&mut self, timer: Timer, length: Option<Duration>) {
        self.0[timer as usize] = length.map(|length| Instant::now() + length);
    }

    /// Waits for the first that ends; then it runs no longer. Nothing is lost if the caller gives up.
    pub(super) async fn ended(&mut self) -> Timer {
        let Some((timer, end)) = self.next() else { return std::future::pending().await };
        tokio::time::sleep_until(end).await;
        self.0[timer as usize] = None;
        timer
    }

    fn next(&self) -> Option<(Timer, Instant)> {
        let running = Timer::ALL.into_iter().filter_map(|timer| Some((timer, self.0[timer as usize]?)));
        running.min_by_key(|(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_end_is_next_and_ends_once() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let (mut timers, now) = (Timers::default(), Instant::now());
            assert_eq!(timers.next(), None);
            // Backwards, so that the order of the list is not the order of the ends.
            for (timer, length) in Timer::ALL.into_iter().rev().zip((1..).map(Duration::from_millis)) {
                timers.0[timer as usize] = Some(now + length);
            }
            timers.set(Timer::LookAgain, None);
            let runs = |timer: Timer| timers.0[timer as usize].is_some();
            assert!(runs(Timer::Tick) && !runs(Timer::LookAgain));
            let mut ended = Vec::new();
            while timers.next().is_some() {
                ended.push(timers.ended().await);
            }
            let mut all: Vec<Timer> = Timer::ALL.into_iter().rev().collect();
            all.retain(|timer| *timer != Timer::LookAgain);
            assert_eq!(ended, all);
        });
    }
}
