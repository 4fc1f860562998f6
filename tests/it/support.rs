//! Jobs within one process: every rank a thread with a node of its own, over real sockets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use lathide::{Config, Key, Node};
use socket2::{Domain, Socket, Type};

/// The key of the tests' jobs.
pub(crate) const KEY: [u8; 32] = *b"a key that only these tests know";

/// A `host:port` nobody listens at.
pub(crate) fn free_root() -> String {
    free_address(Ipv4Addr::LOCALHOST).to_string()
}

/// A port of `host` that nobody listens at.
pub(crate) fn free_address(host: Ipv4Addr) -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Below the ports that the system gives to connections: between this look and the job's, one of those would take it.
    loop {
        let number = (std::process::id() as u16).wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let address = SocketAddr::from((host, 10_000 + number % 20_000));
        // Not a listener: a process that another thread starts now has a copy until it executes its program.
        let probe = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        probe.set_reuse_address(true).expect("an option of sockets");
        if probe.bind(&address.into()).is_ok() {
            return address;
        }
    }
}

/// Runs `program` on `size` ranks, once all have joined, and returns what each returned, by rank.
///
/// # Panics
/// If it takes longer than `limit`, or if a rank panics.
pub(crate) fn job_within<T: Send + 'static>(
    limit: Duration,
    size: u32,
    configure: impl Fn(&mut Config),
    program: impl Fn(Node) -> T + Clone + Send + 'static,
) -> Vec<T> {
    job_at(free_root(), limit, size, configure, program)
}

/// [`job_within`] whose ranks meet at `root`.
pub(crate) fn job_at<T: Send + 'static>(
    root: String,
    limit: Duration,
    size: u32,
    configure: impl Fn(&mut Config),
    program: impl Fn(Node) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let (sender, receiver) = mpsc::channel();
    // A rank whose program fails before others have joined fails their joining.
    let joined = Arc::new(Barrier::new(size as usize));
    for rank in 0..size {
        let mut config = Config::new(rank, size, Some(root.clone()));
        config.key = Key::from_bytes(KEY);
        configure(&mut config);
        let (sender, program, joined) = (sender.clone(), program.clone(), joined.clone());
        std::thread::spawn(move || {
            let node = lathide::init_with(config).expect("every rank joins");
            joined.wait();
            let result = program(node);
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

/// The `lathide` program, which answers signals as it does by default: a shell's background job and one of nohup ignore
/// some, and so does all that they start, such as these tests.
pub(crate) fn lathide() -> std::process::Command {
    let mut command = std::process::Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT", env!("CARGO_BIN_EXE_lathide")]);
    command
}
