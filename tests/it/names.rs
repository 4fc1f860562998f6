//! A job on one machine looks up no name: a resolver that does not answer would hold every start up.

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::examples::example;
use crate::process::run;
use crate::reach::{Folder, LATHIDE, alone, is_possible, rings};
use crate::support::KEY;

/// Makes [`within`] a test, inside of a namespace whose name server it is; a file with a key.
const WITHIN: &str = "LATHIDE_TEST_WITHIN";

/// Names are looked up at a server on loopback, and nowhere else.
const OWN_NAMES: &str = "ip link set lo up
    mount --bind $3 $(readlink -f /etc/resolv.conf); [ ! -e /etc/nsswitch.conf ] || mount --bind $4 /etc/nsswitch.conf";

#[test]
fn a_local_job_looks_up_no_name() {
    if !is_possible() {
        return;
    }
    if !Path::new("/etc/resolv.conf").exists() {
        eprintln!("skipped: this machine has no /etc/resolv.conf");
        return;
    }
    let folder = Folder::new("names");
    let resolv = folder.write("resolv.conf", b"nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", 0o644);
    let switch = folder.write("nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n", 0o644);
    let key = folder.write("key", &KEY, 0o600);
    let own = std::env::current_exe().expect("a path of this test");
    let own = own.to_str().expect("text");
    let script = "exec $5 --exact names::within --nocapture";
    let finished = run(alone(OWN_NAMES, script, &[&resolv, &switch, own]).env(WITHIN, &key));
    assert_eq!(finished.status, Some(0), "{}", finished.stdout);
    assert!(finished.stdout.contains("no name was looked up"), "{}", finished.stdout);
}

/// The name server: counts what is asked. Without the variable a test with nothing to do.
#[test]
fn within() {
    let Some(key) = std::env::var_os(WITHIN) else { return };
    let server = UdpSocket::bind("127.0.0.1:53").expect("root of its namespace may");
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, from)) = server.recv_from(&mut query) {
            counter.fetch_add(1, Ordering::SeqCst);
            // An answer: there is no such name.
            if length >= 12 {
                (query[2], query[3]) = (0x81, 0x83);
                _ = server.send_to(&query[..length], from);
            }
        }
    });
    let job = run(Command::new(LATHIDE).args(["run", "-n", "3"]).arg(example("ring")).env_remove(WITHIN));
    rings(&job, 1);
    let alone = run(Command::new(example("ring")).env_remove(WITHIN));
    rings(&alone, 1);
    // A query is in the server's queue before its asker goes on; the server may take a moment to count it.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(asked.load(Ordering::SeqCst), 0, "names were looked up");
    // The trap works: a job whose rendezvous has a name asks for it.
    let mut named = Command::new(example("ring"));
    named.env("LATHIDE_SIZE", "2").env("LATHIDE_RANK", "1").env("LATHIDE_ROOT", "nowhere.example:7000");
    named.env("LATHIDE_JOIN", "1").env("LATHIDE_KEY_FILE", key).env_remove(WITHIN);
    let named = run(&mut named);
    assert_ne!(named.status, Some(0), "{named:?}");
    assert!(asked.load(Ordering::SeqCst) > 0, "the server is not asked even for a name: {named:?}");
    println!("no name was looked up");
}
