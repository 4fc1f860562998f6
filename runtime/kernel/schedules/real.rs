//! The model of epoll against the system's: after any steps both find the same links ready, and where the model's gate
//! tells the task, so does the real one. (It may tell more often; that costs time and loses nothing.)

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::super::poller::{Poller, Ready, TaskSetDescriptor};
use super::epoll::{Epoll, Piece};
use crate::ids::Rank;

const LINKS: usize = 3;
/// The system has told before tokio looks the first time, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
enum Step {
    Arrives(usize),
    Read(usize),
    /// Written to until nothing more goes.
    Filled(usize),
    MakesRoom(usize),
    WatchRoom(usize, bool),
    Nudge,
    HeedNudge,
    Look,
    SetGate(bool),
    OpenGate,
    StopWatching,
    TaskLooks,
}

fn any_step() -> impl Strategy<Value = Step> {
    let link = any::<Index>().prop_map(|index| index.index(LINKS));
    prop_oneof![
        3 => link.clone().prop_map(Step::Arrives),
        3 => link.clone().prop_map(Step::Read),
        1 => link.clone().prop_map(Step::Filled),
        1 => link.clone().prop_map(Step::MakesRoom),
        2 => (link, any::<bool>()).prop_map(|(link, watch)| Step::WatchRoom(link, watch)),
        1 => Just(Step::Nudge),
        1 => Just(Step::HeedNudge),
        2 => Just(Step::Look),
        2 => any::<bool>().prop_map(Step::SetGate),
        1 => Just(Step::OpenGate),
        2 => Just(Step::StopWatching),
        3 => Just(Step::TaskLooks),
    ]
}

struct Both {
    model: Epoll,
    real: Poller,
    /// This node's ends, and the peers'.
    streams: Vec<(Arc<UnixStream>, UnixStream)>,
    task_set: AsyncFd<TaskSetDescriptor>,
}

impl Both {
    #[expect(deprecated, reason = "as in the task")]
    fn new() -> Self {
        let real = Poller::new().expect("epoll");
        let pair = |link: usize| {
            let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
            ours.set_nonblocking(true).expect("sockets can be non-blocking");
            theirs.set_nonblocking(true).expect("sockets can be non-blocking");
            let ours = Arc::new(ours);
            real.add(Rank(link as u32).into(), ours.clone()).expect("it is watched");
            (ours, theirs)
        };
        let streams = (0..LINKS).map(pair).collect();
        let task_set =
            AsyncFd::with_interest(real.task_set_descriptor(), Interest::READABLE).expect("tokio watches it");
        Both { model: Epoll::new(LINKS, 1), real, streams, task_set }
    }

    async fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Arrives(link) => {
                self.model.arrives(link, Piece { tag: 0, is_last: true });
                self.streams[link].1.write_all(&[0]).expect("there is room for a byte");
            }
            Step::Read(link) => {
                let has_some = self.model.sockets[link].inbox.pop_front().is_some();
                prop_assert_eq!((&*self.streams[link].0).read(&mut [0]).is_ok(), has_some);
            }
            Step::Filled(link) => {
                self.model.sockets[link].room = 0;
                while (&*self.streams[link].0).write(&[0; 4096]).is_ok() {}
            }
            Step::MakesRoom(link) if self.model.sockets[link].room == 0 => {
                self.model.makes_room(link, 1);
                let error = self.streams[link].1.read_to_end(&mut Vec::new()).expect_err("it is open");
                prop_assert_eq!(error.kind(), ErrorKind::WouldBlock);
            }
            Step::MakesRoom(_) => {}
            Step::WatchRoom(link, watch) => {
                self.model.watch_writable(link, watch);
                self.real.watch_writable(Rank(link as u32).into(), watch).expect("it is watched");
            }
            Step::Nudge => {
                self.model.nudge();
                self.real.nudge();
            }
            Step::HeedNudge => {
                self.model.heed_nudge();
                self.real.heed_nudge();
            }
            Step::Look => self.look()?,
            Step::SetGate(open) => prop_assert_eq!(self.real.arm_task_set(open), self.model.arm_task_set(open)),
            Step::OpenGate => {
                let was_open = self.model.arm_task_set(true);
                if !was_open && self.model.is_ready() {
                    self.model.nudge();
                }
                prop_assert_eq!(self.real.open_gate(), was_open);
            }
            Step::StopWatching => prop_assert_eq!(self.real.stop_watching(), self.model.stop_watching()),
            Step::TaskLooks => self.task_looks().await?,
        }
        Ok(())
    }

    fn look(&mut self) -> Result<(), TestCaseError> {
        self.model.begins_wait(true);
        let (mut modelled, is_nudged) = self.model.look();
        self.model.ends_wait(true);
        let mut ready = Vec::new();
        prop_assert_eq!(self.real.wait(&mut ready, Duration::ZERO).expect("epoll"), is_nudged);
        let found = |ready: &Ready| (ready.path.peer.index(), ready.readable, ready.writable);
        let mut real: Vec<_> = ready.iter().map(found).collect();
        modelled.sort_unstable();
        real.sort_unstable();
        prop_assert_eq!(real, modelled);
        Ok(())
    }

    async fn task_looks(&mut self) -> Result<(), TestCaseError> {
        // Lets tokio look at what has changed.
        tokio::task::yield_now().await;
        let is_told = self.model.look_at_gate();
        let patience = if is_told { PATIENCE } else { Duration::ZERO };
        match tokio::time::timeout(patience, self.task_set.readable()).await {
            Ok(ready) => ready.expect("the runtime is there").clear_ready(),
            Err(_) => prop_assert!(!is_told, "the model wakes the task, the system does not"),
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20, failure_persistence: None, ..crate::scale::cases(400) })]

    #[test]
    fn the_model_finds_what_the_system_finds(steps in prop::collection::vec(any_step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut both = Both::new();
            for step in steps.into_iter().chain([Step::TaskLooks, Step::Look]) {
                both.step(step).await?;
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}

/// Whoever waits is told, however often others would have the links watched no longer.
#[test]
fn whoever_waits_is_told() {
    let poller = Poller::new().expect("epoll");
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    poller.add(Rank(0).into(), Arc::new(ours)).expect("it is watched");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let mut ready = Vec::new();
            poller.wait(&mut ready, 30 * PATIENCE).expect("epoll");
            ready.len()
        });
        let began = std::time::Instant::now();
        while began.elapsed() < PATIENCE / 20 {
            poller.stop_watching();
            std::thread::yield_now();
        }
        theirs.write_all(&[0]).expect("there is room for a byte");
        assert_eq!(waits.join().expect("it waits"), 1);
    });
}
