//! Jobs within one process: every rank a thread with a node of its own, over real sockets.

use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use lathide::{Config, Node};

/// A `host:port` nobody listens at. The system hands out others next, so it stays free for a while.
pub(crate) fn free_root() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("bound").to_string()
}

/// Runs `program` on `size` ranks and returns what each returned, by rank.
///
/// # Panics
/// If it takes longer than `limit`, or if a rank panics.
pub(crate) fn job_within<T: Send + 'static>(
    limit: Duration,
    size: u32,
    configure: impl Fn(&mut Config),
    program: impl Fn(Node) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let root = free_root();
    let (sender, receiver) = mpsc::channel();
    for rank in 0..size {
        let mut config = Config::new(rank, size, Some(root.clone()));
        configure(&mut config);
        let (sender, program) = (sender.clone(), program.clone());
        std::thread::spawn(move || {
            let result = program(lathide::init_with(config).expect("every rank joins"));
            let _ = sender.send((rank, result));
        });
    }
    drop(sender);
    let mut results: Vec<Option<T>> = (0..size).map(|_| None).collect();
    let deadline = std::time::Instant::now() + limit;
    for _ in 0..size {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        match receiver.recv_timeout(left) {
            Ok((rank, result)) => results[rank as usize] = Some(result),
            Err(error) => {
                let missing: Vec<_> = (0..size).filter(|&rank| results[rank as usize].is_none()).collect();
                panic!("ranks {missing:?} did not end within {limit:?}: {error}");
            }
        }
    }
    results.into_iter().flatten().collect()
}

/// [`job_within`] a minute, as configured by default.
pub(crate) fn job<T: Send + 'static>(size: u32, program: impl Fn(Node) -> T + Clone + Send + 'static) -> Vec<T> {
    job_within(Duration::from_secs(60), size, |_| {}, program)
}
