//! What runs within a lab: this test binary, in a role.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that gives this binary its role.
const ROLE: &str = "LATHIDE_LAB_TEST_ROLE";
const PORT: u16 = 7000;
/// Nothing within a lab takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The arguments with which this binary plays a role, once `as_role` has named it.
pub(super) fn own_command() -> Vec<String> {
    let own = std::env::current_exe().expect("this program").display().to_string();
    vec![own, "--exact".into(), "lab::program::role".into(), "--nocapture".into()]
}

pub(super) fn as_role<'a>(command: &'a mut Command, role: &str) -> &'a mut Command {
    command.env(ROLE, role)
}

/// The value that a role has printed under this name.
#[track_caller]
pub(super) fn printed(stdout: &str, name: &str) -> f64 {
    let line = stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {stdout:?}"))
}

/// Not a test of its own: plays the role that another test gave.
#[test]
fn role() {
    match std::env::var(ROLE).as_deref() {
        Ok("echo") => echo(),
        Ok("measure") => measure(),
        Ok("cut") => cut(),
        Ok("incast") => incast(),
        Ok("send") => send(),
        Ok("quiet") => quiet(),
        Ok("full") => full(),
        Ok("collectives") => collectives(),
        Ok("lanes") => super::lanes::exchange(),
        Ok("leaves") => super::lanes::leave(),
        Ok(role) => panic!("there is no role {role}"),
        Err(_) => {}
    }
}

/// Sends back what comes, until killed.
fn echo() {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).expect("the port is free on this host");
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        stream.set_nodelay(true).expect("TCP");
        std::thread::spawn(move || std::io::copy(&mut stream.try_clone().expect("a descriptor"), &mut stream));
    }
}

/// How long the ranks of `quiet` and `full` do not call the node.
const COMPUTES: Duration = Duration::from_secs(14);

/// Says that the job runs, in a file that LATHIDE_LAB_TEST_READY names.
fn ready() {
    if let Some(file) = std::env::var_os("LATHIDE_LAB_TEST_READY") {
        std::fs::write(file, "").expect("a file");
    }
}

/// Two ranks that have nothing under way for a while.
fn quiet() {
    let node = ok(lathide::init());
    let other = 1 - node.rank().0;
    for round in 0..2 {
        let write = ok(node.initwrite(other, 1, vec![7u8]));
        let read = ok(node.initread(other, 1, vec![0u8]));
        assert_eq!(ok(read.wait()), [7]);
        ok(write.wait());
        println!("exchanged");
        // Only then has the other one what it waits for.
        ok(node.barrier());
        if round == 0 && other == 1 {
            ready();
        }
        std::thread::sleep(COMPUTES);
    }
    ok(node.finalize());
}

/// Two ranks of which one computes, and the other has more bytes for it than the system takes.
fn full() {
    const MANY: usize = 32 << 20;
    let node = ok(lathide::init());
    if node.rank() == 0 {
        let write = ok(node.initwrite(1, 1, vec![7u8; MANY]));
        ready();
        ok(write.wait());
    } else {
        std::thread::sleep(COMPUTES);
        let read = ok(node.initread(0, 1, vec![0u8; MANY]));
        assert!(ok(read.wait()).iter().all(|&byte| byte == 7));
        println!("exchanged");
    }
    ok(node.finalize());
}

/// Collectives of which every element is checked, for as long as LATHIDE_LAB_TEST_SECONDS says.
fn collectives() {
    let node = ok(lathide::init());
    let seconds: f64 = std::env::var("LATHIDE_LAB_TEST_SECONDS").expect("set").parse().expect("a number");
    let (began, size, rank) = (Instant::now(), u64::from(node.size()), u64::from(node.rank().0));
    for round in 0.. {
        let goes_on = ok(node.broadcast(0, vec![u8::from(began.elapsed().as_secs_f64() < seconds)]))[0];
        if goes_on == 0 {
            println!("collectives={round}");
            break;
        }
        let sum = ok(node.allreduce(&lathide::Operator::sum(), vec![rank + round; 20_000]));
        assert!(sum.iter().all(|&value| value == size * (size - 1) / 2 + size * round), "round {round}");
        let blocks = (0..size).flat_map(|to| vec![rank << 32 | to << 16 | round & 0xffff; 1000]).collect();
        let got = ok(node.alltoall(blocks));
        let expected = (0..size).flat_map(|from| vec![from << 32 | rank << 16 | round & 0xffff; 1000]);
        assert!(got.into_iter().eq(expected), "round {round}");
    }
    ok(node.finalize());
}

/// What the error says is looked for in the job's output.
pub(super) fn ok<T>(result: lathide::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// A program on another host.
struct Other(Child);

impl Other {
    fn echo_on(host: &str) -> Self {
        Other::start(host, "echo")
    }

    fn start(host: &str, role: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
        command.arg("__in-host").arg(host).args(own_command()).stdout(Stdio::null());
        Other(as_role(&mut command, role).spawn().expect("a program on another host"))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn connect(address: &str) -> TcpStream {
    let end = Instant::now() + PATIENCE;
    loop {
        let address = (address, PORT).to_socket_addrs().expect("the name resolves").next().expect("an address");
        match TcpStream::connect(address) {
            Ok(stream) => {
                stream.set_nodelay(true).expect("TCP");
                stream.set_read_timeout(Some(PATIENCE)).expect("a duration");
                return stream;
            }
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The shortest of some round trips, and how long a stream to and fro takes.
fn measure() {
    let _other = Other::echo_on("host1");
    let mut stream = connect("10.76.0.2");
    println!("\nname={}", u8::from(("host1", PORT).to_socket_addrs().is_ok()));
    let trip = |stream: &mut TcpStream| {
        let start = Instant::now();
        stream.write_all(&[7; 8]).expect("host1 listens");
        stream.read_exact(&mut [0; 8]).expect("host1 answers");
        start.elapsed().as_secs_f64()
    };
    let round_trip = (0..5).map(|_| trip(&mut stream)).fold(f64::INFINITY, f64::min);
    println!("round_trip={round_trip}");
    let start = Instant::now();
    let mut writer = stream.try_clone().expect("a descriptor");
    let sent = std::thread::spawn(move || writer.write_all(&vec![1; STREAM_BYTES]).expect("host1 listens"));
    stream.read_exact(&mut vec![0; STREAM_BYTES]).expect("host1 answers");
    sent.join().expect("all was sent");
    println!("stream={}", start.elapsed().as_secs_f64());
}

pub(super) const STREAM_BYTES: usize = 400_000;

/// A cut cable passes nothing; mended, it passes what TCP has kept.
fn cut() {
    let _other = Other::echo_on("host1");
    let mut stream = connect("10.76.0.2");
    let lab = |action: &str| {
        let done = Command::new(env!("CARGO_BIN_EXE_lathide")).args(["lab", action, "host1"]).status();
        assert!(done.expect("lathide").success());
    };
    lab("cut");
    stream.set_read_timeout(Some(Duration::from_millis(700))).expect("a duration");
    stream.write_all(b"x").expect("the socket has room");
    let nothing = stream.read_exact(&mut [0]).expect_err("the cable is cut");
    assert!(matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{nothing}");
    lab("mend");
    stream.set_read_timeout(Some(PATIENCE)).expect("a duration");
    let mut byte = [0];
    stream.read_exact(&mut byte).expect("the cable is mended");
    assert_eq!(&byte, b"x");
    println!("\nmended=1");
}

/// All other hosts send to this one, whose cable is slow and has a short queue.
fn incast() {
    let slow = ["lab", "change", "host0", "--rate", "4mbit", "--queue", "6k"];
    assert!(Command::new(env!("CARGO_BIN_EXE_lathide")).args(slow).status().expect("lathide").success());
    let listener = TcpListener::bind(("0.0.0.0", PORT)).expect("the port is free on this host");
    let _others: Vec<Other> = (1..4).map(|host| Other::start(&format!("host{host}"), "send")).collect();
    for _ in 1..4 {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a duration");
        assert_eq!(std::io::copy(&mut stream, &mut std::io::sink()).expect("all of it"), SENT_BYTES as u64);
    }
    println!("\nreceived=3");
}

const SENT_BYTES: usize = 100_000;

fn send() {
    connect("10.76.0.1").write_all(&vec![1; SENT_BYTES]).expect("host0 listens");
}
