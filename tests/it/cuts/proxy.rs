//! A rendezvous that hands out relays instead of the ranks' addresses: every link passes one, which cuts it as a script says.
//!
//! A relay listens as long as its rank does: when that refuses a connection, the relay is gone, too.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use lathide::Key;
use lathide::launcher::rendezvous::{self, Rewrite, Settings};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

use crate::support::KEY;

/// Where a HELLO says who dials; what follows that is of no use here.
const DIALER_AT: std::ops::Range<usize> = 47..51;
/// Bytes that pass in one piece, if the script does not want less.
const PIECE_BYTES: usize = 64 << 10;

/// One connection by way of a relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contact {
    pub(crate) dialer: u32,
    pub(crate) acceptor: u32,
    /// How many of this pair there were before.
    pub(crate) number: u32,
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// At once, if it is struck after 0 bytes.
    pub(crate) strike: Option<Strike>,
    /// Pieces are not longer.
    pub(crate) piece: usize,
    /// Before each piece.
    pub(crate) delay: Duration,
}

/// A fault after so many bytes of one way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strike {
    pub(crate) fault: Fault,
    pub(crate) of_dialer: bool,
    pub(crate) after: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// Both ends hear of it at once, and lose what they have not read.
    Reset,
    /// The same, but they read what has come.
    Close,
    /// The one that hears hears no more; what it says still passes, for so long at most.
    HalfClose(Duration),
    /// What comes is taken and lost, for so long; the other way is open. Then as [`Fault::Reset`].
    Hole(Duration),
    /// Nothing is taken, for so long; then it goes on, and is reset as many bytes later.
    Stall(Duration),
    /// One end hears of it so much later than the other.
    Late { is_dialer: bool, by: Duration },
    /// The next byte has one of its bits flipped, which one says its place; nothing is cut.
    Flip,
}

impl Plan {
    /// All passes.
    pub(crate) fn open() -> Plan {
        Plan { strike: None, piece: PIECE_BYTES, delay: Duration::ZERO }
    }

    pub(crate) fn strike(fault: Fault, of_dialer: bool, after: u64) -> Plan {
        Plan { strike: Some(Strike { fault, of_dialer, after }), ..Plan::open() }
    }
}

/// What came of it all.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    pub(crate) connections: AtomicU64,
    /// Connections that were cut by the script, or by [`Net::cut_all`].
    pub(crate) cuts: AtomicU64,
    pub(crate) stalls: AtomicU64,
    pub(crate) flips: AtomicU64,
    /// Bytes that passed.
    pub(crate) bytes: AtomicU64,
}

impl Tally {
    /// Cuts and flips.
    pub(crate) fn faults(&self) -> u64 {
        self.cuts() + self.flips.load(Ordering::SeqCst)
    }

    pub(crate) fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::SeqCst)
    }
}

type Script = dyn Fn(Contact) -> Plan + Send + Sync;

struct Shared {
    script: Box<Script>,
    tally: Arc<Tally>,
    /// Resets every connection.
    cut: Notify,
    /// How many connections each pair has had.
    numbers: Mutex<HashMap<(u32, u32), u32>>,
}

/// A rendezvous and its relays, on a thread of their own; gone when dropped.
pub(crate) struct Net {
    pub(crate) root: String,
    pub(crate) tally: Arc<Tally>,
    shared: Arc<Shared>,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Net {
    /// For `size` ranks that join with [`KEY`].
    pub(crate) fn start(size: u32, script: impl Fn(Contact) -> Plan + Send + Sync + 'static) -> Net {
        let tally = Arc::new(Tally::default());
        let shared = Arc::new(Shared {
            script: Box::new(script),
            tally: tally.clone(),
            cut: Notify::new(),
            numbers: Mutex::default(),
        });
        let stop = Arc::new(Notify::new());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let root = listener.local_addr().expect("an address").to_string();
        let (given, stopped) = (shared.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                tokio::select! { () = serve(listener, size, given) => {}, () = stopped.notified() => {} }
            });
        });
        Net { root, tally, shared, stop, thread: Some(thread) }
    }

    /// Resets every connection that is open now.
    pub(crate) fn cut_all(&self) {
        self.shared.cut.notify_waiters();
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: std::net::TcpListener, size: u32, shared: Arc<Shared>) {
    listener.set_nonblocking(true).expect("an option of sockets");
    let listener = TcpListener::from_std(listener).expect("a runtime");
    let rewrite: Rewrite = Box::new(move |addresses| {
        let mut relays = Vec::new();
        for (rank, target) in (0..).zip(addresses) {
            let relay = std::net::TcpListener::bind("127.0.0.1:0")?;
            relay.set_nonblocking(true)?;
            relays.push(relay.local_addr()?);
            tokio::spawn(accept(TcpListener::from_std(relay)?, rank, target, shared.clone()));
        }
        Ok((relays, Box::new(())))
    });
    let settings = Settings {
        size,
        key: Key::from_bytes(KEY),
        join_timeout: Duration::from_secs(60),
        launcher: false,
        hosts: Vec::new(),
        rewrite: Some(rewrite),
    };
    let ((_orders, received), (events, mut happened)) = (mpsc::channel(16), mpsc::channel(16));
    let hear = async { while happened.recv().await.is_some() {} };
    let _ = tokio::join!(rendezvous::serve(listener, settings, received, events), hear);
}

async fn accept(relay: TcpListener, rank: u32, target: SocketAddr, shared: Arc<Shared>) {
    while let Ok((near, _)) = relay.accept().await {
        let far = match TcpStream::connect(target).await {
            Ok(far) => far,
            // The rank is gone, and what stands for it.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return reset(near),
            Err(_) => {
                reset(near);
                continue;
            }
        };
        let _ = (near.set_nodelay(true), far.set_nodelay(true));
        let shared = shared.clone();
        tokio::spawn(async move {
            let cut = pin!(shared.cut.notified());
            let mut near_far = (near, far);
            let done = {
                let relayed = pin!(relayed(&mut near_far, rank, &shared));
                tokio::select! { end = relayed => Some(end), () = cut => None }
            };
            if done.is_none() {
                shared.tally.cuts.fetch_add(1, Ordering::SeqCst);
            }
            end(near_far, done.unwrap_or(End::Cut(Fault::Reset))).await;
        });
    }
}

/// How a connection, or one way of it, ends.
enum End {
    /// Its sender has said all.
    Over,
    /// One of its ends is gone.
    Broken,
    Cut(Fault),
}

/// Has both ends hear how it ended.
async fn end((near, far): (TcpStream, TcpStream), end: End) {
    match end {
        End::Over | End::Cut(Fault::Close) => drop((near, far)),
        End::Cut(Fault::Late { is_dialer, by }) => {
            let (first, last) = if is_dialer { (far, near) } else { (near, far) };
            reset(first);
            let _ = timeout(by, swallow(&last)).await;
            reset(last);
        }
        End::Broken | End::Cut(_) => {
            reset(near);
            reset(far);
        }
    }
}

/// Ends it with a reset.
fn reset(stream: TcpStream) {
    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
}

/// Passes both ways on until they end.
async fn relayed((near, far): &mut (TcpStream, TcpStream), acceptor: u32, shared: &Shared) -> End {
    let (near, far) = (&*near, &*far);
    let mut first = Vec::new();
    while first.len() < DIALER_AT.end {
        let mut bytes = [0; DIALER_AT.end];
        let room = DIALER_AT.end - first.len();
        match read(near, &mut bytes[..room]).await {
            Ok(count @ 1..) => first.extend(&bytes[..count]),
            // Somebody looked whether the rank is there.
            _ => return End::Over,
        }
    }
    let dialer = u32::from_le_bytes(first[DIALER_AT].try_into().expect("four bytes"));
    let number = {
        let mut numbers = shared.numbers.lock().expect("no panic");
        let count = numbers.entry((dialer, acceptor)).or_default();
        *count += 1;
        *count - 1
    };
    let plan = (shared.script)(Contact { dialer, acceptor, number });
    shared.tally.connections.fetch_add(1, Ordering::SeqCst);
    let strike = |of_dialer| plan.strike.filter(|strike| strike.of_dialer == of_dialer);
    let way = |from, to, strike| Way { from, to, strike, plan, tally: &shared.tally };
    let mut there = pin!(way(near, far, strike(true)).pass(first));
    let mut back = pin!(way(far, near, strike(false)).pass(Vec::new()));
    let (mut is_there, mut is_back) = (true, true);
    while is_there || is_back {
        let end = tokio::select! {
            end = &mut there, if is_there => { is_there = false; end },
            end = &mut back, if is_back => { is_back = false; end },
        };
        if !matches!(end, End::Over) {
            return end;
        }
    }
    End::Over
}

/// One way of a connection.
struct Way<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    strike: Option<Strike>,
    plan: Plan,
    tally: &'a Tally,
}

impl Way<'_> {
    /// Passes on what `first` has and what comes.
    async fn pass(mut self, first: Vec<u8>) -> End {
        let mut buffer = vec![0; PIECE_BYTES];
        let mut bytes = first;
        let mut passed = 0;
        loop {
            while !bytes.is_empty() {
                let left = self.strike.map_or(u64::MAX, |strike| strike.after - passed);
                if left == 0 {
                    if let Some(end) = self.struck(&mut bytes).await {
                        return end;
                    }
                    continue;
                }
                let count = bytes.len().min(self.plan.piece).min(left.min(PIECE_BYTES as u64) as usize);
                if !self.plan.delay.is_zero() {
                    sleep(self.plan.delay).await;
                }
                if write_all(self.to, &bytes[..count]).await.is_err() {
                    return End::Broken;
                }
                bytes.drain(..count);
                passed += count as u64;
                self.tally.bytes.fetch_add(count as u64, Ordering::Relaxed);
            }
            // One that is to be struck after what has passed needs no more bytes.
            if self.strike.is_some_and(|strike| strike.after == passed && strike.fault != Fault::Flip)
                && let Some(end) = self.struck(&mut bytes).await
            {
                return end;
            }
            match read(self.from, &mut buffer).await {
                Ok(0) => {
                    let _ = SockRef::from(self.to).shutdown(std::net::Shutdown::Write);
                    return End::Over;
                }
                Ok(count) => bytes.extend(&buffer[..count]),
                Err(_) => return End::Broken,
            }
        }
    }

    /// The time has come. `None`: it goes on.
    async fn struck(&mut self, bytes: &mut [u8]) -> Option<End> {
        let Strike { fault, of_dialer, after } = self.strike.take()?;
        let count = match fault {
            Fault::Stall(_) => &self.tally.stalls,
            Fault::Flip => &self.tally.flips,
            _ => &self.tally.cuts,
        };
        count.fetch_add(1, Ordering::SeqCst);
        match fault {
            Fault::Hole(most) => _ = timeout(most, swallow(self.from)).await,
            Fault::HalfClose(most) => {
                let _ = SockRef::from(self.to).shutdown(std::net::Shutdown::Write);
                let _ = timeout(most, swallow(self.from)).await;
            }
            Fault::Stall(pause) => {
                sleep(pause).await;
                self.strike = Some(Strike { fault: Fault::Reset, of_dialer, after: 2 * after + 1 });
                return None;
            }
            Fault::Flip => {
                bytes[0] ^= 1 << (after % 8);
                return None;
            }
            Fault::Reset | Fault::Close | Fault::Late { .. } => {}
        }
        Some(End::Cut(fault))
    }
}

/// Takes what comes, and loses it, until there is no more.
async fn swallow(from: &TcpStream) {
    let mut buffer = vec![0; PIECE_BYTES];
    while let Ok(1..) = read(from, &mut buffer).await {}
}

async fn read(from: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        from.readable().await?;
        match from.try_read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
}

async fn write_all(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        to.writable().await?;
        match to.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
