//! Many schedules of one program.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::scheduler::{PctScheduler, RandomScheduler, UrwRandomScheduler};
use shuttle::{Config, MaxSteps, Runner};

use crate::scale::scaled;

/// Schedules of each program, for each way to choose.
const SCHEDULES: u64 = 10_000;
/// Changes of who runs, where they are few, and where they are more: for what takes many to go wrong.
const FEW: usize = 3;
const MORE: usize = 12;
/// `SHUTTLE_RANDOM_SEED` tries another. A failure prints its schedule.
const SEED: u64 = 1994;

/// How the next to run is chosen.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// At each step any.
    Random,
    /// So that all schedules are about as likely.
    Uniform,
    /// With so many changes at most: probabilistic concurrency testing.
    Changes(usize),
}

const CHOICES: [Choice; 4] = [Choice::Random, Choice::Uniform, Choice::Changes(FEW), Choice::Changes(MORE)];

/// Runs `body` under `schedules` schedules, or until one fails: that one's number.
fn first_failure(body: impl Fn() + Copy + Send + Sync + 'static, choice: Choice, schedules: usize) -> Option<usize> {
    let tried = Arc::new(AtomicUsize::new(0));
    let body = {
        let tried = tried.clone();
        move || {
            tried.fetch_add(1, Ordering::Relaxed);
            body();
        }
    };
    let mut config = Config::new();
    config.stack_size = 256 << 10;
    config.silence_warnings = true;
    // Some ten thousand are enough unless somebody turns in circles.
    config.max_steps = MaxSteps::FailAfter(50_000);
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    let outcome = catch_unwind(AssertUnwindSafe(|| match choice {
        Choice::Random => Runner::new(RandomScheduler::new_from_seed(SEED, schedules), config).run(body),
        Choice::Uniform => Runner::new(UrwRandomScheduler::new_from_seed(SEED, schedules), config).run(body),
        Choice::Changes(changes) => {
            Runner::new(PctScheduler::new_from_seed(SEED, changes, schedules), config).run(body)
        }
    }));
    let tried = tried.load(Ordering::Relaxed);
    match outcome {
        Ok(run) => {
            assert_eq!((run, tried), (schedules, schedules));
            None
        }
        Err(_) => Some(tried),
    }
}

/// `body` ends well under every schedule tried.
pub(super) fn explore(body: impl Fn() + Copy + Send + Sync + 'static) {
    for choice in CHOICES {
        let failure = first_failure(body, choice, scaled(SCHEDULES) as usize);
        assert_eq!(failure, None, "{choice:?}: the schedule of this number fails; it is printed above, with the cause");
    }
}

/// Whether `body` fails under a schedule tried, and soon.
pub(super) fn is_found(body: impl Fn() + Copy + Send + Sync + 'static) -> bool {
    let found = CHOICES.map(|choice| first_failure(body, choice, scaled(SCHEDULES).max(2500) as usize));
    found.iter().any(Option::is_some)
}
