//! Jobs that cannot come to be: settings that make no sense, addresses and keys that are wrong, numbers that clash.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use lathide::{Config, Error, Key, Node, Result};

use super::{refused, says};
use crate::process::run;
use crate::spmd::{ARGUMENTS, key_file, this};
use crate::support::{KEY, free_root};

#[test]
fn variables_that_make_no_sense_are_named_with_what_would_be_right() {
    let (key, short, long, open) = (key_file(&KEY), key_file(&KEY[1..]), key_file(&[1; 33]), key_file(&KEY));
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (key, short, long, open) = (path(&key), path(&short), path(&long), path(&open));
    let usual = [
        ("LATHIDE_RANK", "1"),
        ("LATHIDE_SIZE", "2"),
        ("LATHIDE_ROOT", "127.0.0.1:1"),
        ("LATHIDE_KEY_FILE", &key),
        ("LATHIDE_JOIN", "0.2"),
    ];
    let rows: &[(&str, &str, &[&str])] = &[
        ("LATHIDE_RANK", "2", &["LATHIDE_RANK=\"2\"", "from 0 to 1"]),
        ("LATHIDE_RANK", "-1", &["LATHIDE_RANK=\"-1\"", "from 0 to 1"]),
        ("LATHIDE_RANK", "one", &["LATHIDE_RANK=\"one\"", "whole number"]),
        ("LATHIDE_RANK", "", &["LATHIDE_SIZE", "LATHIDE_RANK is not set"]),
        ("LATHIDE_SIZE", "0", &["LATHIDE_SIZE=\"0\"", "from 1"]),
        ("LATHIDE_SIZE", "99999999", &["LATHIDE_SIZE", "to 65536"]),
        ("LATHIDE_SIZE", "", &["LATHIDE_RANK", "LATHIDE_SIZE is not set"]),
        ("LATHIDE_ROOT", "", &["LATHIDE_ROOT is not set", "host:port"]),
        ("LATHIDE_ROOT", "somewhere", &["LATHIDE_ROOT=\"somewhere\"", "host:port"]),
        ("LATHIDE_ROOT", "h:70000", &["LATHIDE_ROOT", "1 to 65535"]),
        ("LATHIDE_ROOT", "127.0.0.1:1", &["rank 1 could not join", "127.0.0.1:1", "nothing listens there"]),
        ("LATHIDE_ROOT", "no-such-host.invalid:80", &["rank 1 could not join", "no-such-host.invalid", "resolved"]),
        ("LATHIDE_KEY_FILE", "", &["no key", "LATHIDE_KEY_FILE", "lathide run"]),
        ("LATHIDE_KEY_FILE", "/no/such/key", &["LATHIDE_KEY_FILE", "/no/such/key", "No such file"]),
        ("LATHIDE_KEY_FILE", "/tmp", &["LATHIDE_KEY_FILE", "cannot be read"]),
        ("LATHIDE_KEY_FILE", &open, &["others can read", "644", "chmod 600"]),
        ("LATHIDE_KEY_FILE", &short, &["exactly 32 bytes", "has 31"]),
        ("LATHIDE_KEY_FILE", &long, &["exactly 32 bytes", "has 33"]),
        ("LATHIDE_KEY_FD", "998", &["LATHIDE_KEY_FD=\"998\"", "cannot be read"]),
        ("LATHIDE_KEY_FD", "stdin", &["LATHIDE_KEY_FD=\"stdin\"", "whole number"]),
        ("LATHIDE_OVERLAP", "maybe", &["LATHIDE_OVERLAP=\"maybe\"", "on or off"]),
        ("LATHIDE_WINDOW", "0", &["LATHIDE_WINDOW=\"0\"", "from 1B to", "1MiB"]),
        ("LATHIDE_WINDOW", "lots", &["LATHIDE_WINDOW=\"lots\"", "from 1B to", "1MiB"]),
        ("LATHIDE_FRAGMENT", "1", &["LATHIDE_FRAGMENT=\"1\"", "from 64B to 64KiB"]),
        ("LATHIDE_ENVELOPES", "0", &["LATHIDE_ENVELOPES=\"0\"", "whole number"]),
        ("LATHIDE_DEADLOCK", "never", &["LATHIDE_DEADLOCK=\"never\"", "seconds"]),
        ("LATHIDE_JOIN", "-1", &["LATHIDE_JOIN=\"-1\"", "seconds"]),
        ("LATHIDE_LINGER", "nan", &["LATHIDE_LINGER=\"nan\"", "seconds"]),
    ];
    for (name, value, words) in rows {
        let mut command = Command::new(this());
        command.args(ARGUMENTS).env("LATHIDE_TEST_PROGRAM", "init").envs(usual).env(name, value);
        let ended = run(&mut command).failed(1);
        says(&ended.stderr, words);
        assert!(!ended.stderr.contains("panicked"), "{name}={value}: {}", ended.stderr);
    }
    for file in [key, short, long, open] {
        std::fs::remove_file(file).unwrap();
    }
}

/// Starts nodes by their configurations, each on a thread of its own, and returns what became of each.
fn join_all(configs: Vec<Config>) -> Vec<Result<Node>> {
    let (sender, receiver) = mpsc::channel();
    let count = configs.len();
    for (index, config) in configs.into_iter().enumerate() {
        let sender = sender.clone();
        thread::spawn(move || sender.send((index, lathide::init_with(config))));
    }
    let mut results: Vec<Option<Result<Node>>> = (0..count).map(|_| None).collect();
    let deadline = Instant::now() + Duration::from_secs(60);
    for _ in 0..count {
        let left = deadline.saturating_duration_since(Instant::now());
        let (index, result) = receiver.recv_timeout(left).expect("every node joins or fails");
        results[index] = Some(result);
    }
    results.into_iter().flatten().collect()
}

/// A node's configuration with little patience.
fn config(rank: u32, size: u32, root: &str) -> Config {
    let mut config = Config::new(rank, size, Some(root.to_owned()));
    config.key = Key::from_bytes(KEY);
    config.join_timeout = Duration::from_secs(2);
    config
}

#[track_caller]
fn not_joined(result: Result<Node>, words: &[&str]) {
    let error = refused(result, words);
    assert!(matches!(error, Error::Join { .. }), "{error:?}");
}

#[test]
fn configurations_that_cannot_be_are_refused_at_once() {
    refused(lathide::init_with(Config::new(0, 0, None)), &["LATHIDE_RANK", "a job of 0"]);
    refused(lathide::init_with(Config::new(2, 2, Some(free_root()))), &["LATHIDE_RANK=\"2\"", "ranks 0 to 1"]);
    refused(lathide::init_with(Config::new(u32::MAX, 2, None)), &["LATHIDE_RANK", "ranks 0 to 1"]);
    let mut nowhere = config(0, 2, "");
    nowhere.root = None;
    not_joined(lathide::init_with(nowhere), &["rank 0 could not join", "LATHIDE_ROOT"]);
    not_joined(lathide::init_with(config(0, 2, "127.0.0.1")), &["rank 0 could not join", "LATHIDE_ROOT"]);
    not_joined(lathide::init_with(config(1, 2, "127.0.0.1")), &["rank 1 could not join", "127.0.0.1"]);
}

#[test]
fn ranks_that_do_not_belong_together_are_told_why() {
    let root = free_root();
    let mut stranger = config(1, 2, &root);
    stranger.key = Key::from_bytes(*b"another key, of some other tests");
    let mut results = join_all(vec![config(0, 2, &root), stranger]).into_iter();
    not_joined(results.next().unwrap(), &["rank 0 could not join", "rank 1 of 2 did not join"]);
    not_joined(results.next().unwrap(), &["rank 1 could not join", "does not know this job's key"]);

    let root = free_root();
    let mut results = join_all(vec![config(0, 2, &root), config(1, 3, &root)]).into_iter();
    not_joined(results.next().unwrap(), &["rank 0 could not join", "rank 1 of 2 did not join"]);
    not_joined(results.next().unwrap(), &["rank 1 could not join", "job of 2 ranks", "the same size"]);

    let root = free_root();
    let results = join_all(vec![config(0, 3, &root), config(1, 3, &root), config(1, 3, &root)]);
    let errors: Vec<String> = results.into_iter().map(|result| result.unwrap_err().to_string()).collect();
    assert_eq!(errors.iter().filter(|error| error.contains("rank 1 is taken")).count(), 1, "{errors:?}");
    assert_eq!(errors.iter().filter(|error| error.contains("rank 2 of 3 did not join")).count(), 2, "{errors:?}");
}

#[test]
fn several_ranks_need_a_key_that_nobody_guesses() {
    let root = free_root();
    let with = |rank: u32, key: Option<[u8; 32]>| {
        let mut config = Config::new(rank, 2, Some(root.clone()));
        config.join_timeout = Duration::from_secs(5);
        if let Some(key) = key {
            config.key = Key::from_bytes(key);
        }
        config
    };
    for (key, words) in [
        (None, &["Config::key", "none", "a job of 2 ranks needs a key", "lathide run"][..]),
        (Some([0; 32]), &["Config::key", "needs a key"]),
        (Some([7; 32]), &["Config::key", "all bytes of the key are equal", "/dev/urandom"]),
    ] {
        for result in join_all(vec![with(0, key), with(1, key)]) {
            let error = refused(result, words);
            assert!(matches!(error, Error::Misuse(_)), "{error:?}");
        }
    }
    // Bytes of a file, and of a descriptor.
    let equal = key_file(&[1; 32]);
    for (variable, shell) in
        [("LATHIDE_KEY_FILE", ""), ("LATHIDE_KEY_FD", "export LATHIDE_KEY_FD=9; exec 9<\"$LATHIDE_KEY_FILE\"; ")]
    {
        let script = format!("{shell}exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(this()).args(ARGUMENTS).env("LATHIDE_TEST_PROGRAM", "init");
        command.env("LATHIDE_RANK", "1").env("LATHIDE_SIZE", "2").env("LATHIDE_ROOT", &root).env("LATHIDE_JOIN", "0.2");
        let ended = run(command.env("LATHIDE_KEY_FILE", &equal)).failed(1);
        says(&ended.stderr, &[variable, "all bytes of the key are equal"]);
    }
    std::fs::remove_file(equal).unwrap();
    // A job of one is alone without a key: nobody can come to it.
    lathide::init_with(Config::new(0, 1, Some(root.clone()))).unwrap();
    assert!(TcpListener::bind(&root).is_ok(), "nothing listens");
}

/// A server at a free port that answers every connection with `words` after it was sent something, or never.
fn foreign_server(words: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let root = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for mut stream in listener.incoming().flatten() {
            if words.is_empty() {
                silent.push(stream);
                continue;
            }
            let _ = stream.read(&mut [0; 1000]).and_then(|_| stream.write_all(words));
        }
    });
    root
}

#[test]
fn a_port_of_somebody_else_is_named() {
    let http = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nServer: a web server that has this port already\r\n\r\n\
        and goes on for long enough to fill whatever is expected of a peer that speaks the right protocol..............";
    let cases = [(&http[..], "another service"), (b"no", "another service"), (b"", "said nothing")];
    let roots: Vec<String> = cases.iter().map(|&(words, _)| foreign_server(words)).collect();
    let results = join_all(roots.iter().flat_map(|root| [config(0, 2, root), config(1, 2, root)]).collect());
    for (index, result) in results.into_iter().enumerate() {
        let (rank, root, expected) = (index % 2, &roots[index / 2], cases[index / 2].1);
        not_joined(result, &[&format!("rank {rank} could not join"), root, expected]);
    }
}

#[test]
fn the_command_line_is_refused_with_the_part_that_is_wrong() {
    for (args, status, words) in [
        (&["run", "-n", "0", "true"][..], 2, &["a whole number from 1 to 65536"][..]),
        (&["run", "-n", "-1", "true"], 2, &["-1"]),
        (&["run", "-n", "2", "--fast", "true"], 2, &["--fast"]),
        (&["walk"], 2, &["walk"]),
        (&[], 2, &["Usage"]),
        (&["run", "-n", "2", "--link", "delay=1x", "true"], 2, &["--link", "delay"]),
        (&["run", "-n", "2", "--link", "fast", "true"], 2, &["--link", "fast"]),
        (&["run", "-n", "2", "--link", "delay=1ms,rate=0", "true"], 2, &["--link", "rate"]),
        (&["run", "-n", "2", "--link", "rate=1mbit,colour=red", "true"], 2, &["--link", "colour"]),
        (&["run", "-n", "2", "no-such-program-anywhere"], 127, &["no-such-program-anywhere", "not found"]),
        (&["run", "-n", "2", "/etc/passwd"], 126, &["/etc/passwd", "chmod +x"]),
        (&["run", "-n", "2", "/"], 126, &["directory"]),
    ] {
        let ended = run(Command::new(env!("CARGO_BIN_EXE_lathide")).args(args)).failed(status);
        says(&ended.stderr, words);
        assert!(!ended.stderr.contains("panicked"), "{args:?}: {}", ended.stderr);
    }
}
