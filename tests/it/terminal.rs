//! What the command shows in terminals of several widths, its colours, and what it says to slips of the pen.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::examples::example;
use crate::process::{Finished, run};

const WATCHDOG: Duration = Duration::from_secs(120);
const COMMANDS: [&str; 9] = ["collectives", "doctor", "gain", "lab", "link", "predict", "report", "run", "study"];

fn lathide(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    command.args(words.split(' ').filter(|word| !word.is_empty())).env_remove("NO_COLOR");
    command
}

/// What the command writes to a terminal of so many columns: standard output and error.
fn on_terminal(columns: u16, mut command: Command) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let name = ptsname(&ours, Vec::new()).expect("its name").into_string().expect("plain letters");
    let theirs = OpenOptions::new().read(true).write(true).open(&name).expect("its other end");
    tcsetwinsize(&theirs, Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).expect("a terminal");
    let end = || Stdio::from(theirs.try_clone().expect("a descriptor"));
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("lathide");
    drop((theirs, command));
    let (send, receive) = mpsc::sync_channel(1);
    let reader = std::thread::spawn(move || {
        let (mut ours, mut bytes) = (File::from(ours), Vec::new());
        // When nobody has the other end open any more, reading fails.
        _ = ours.read_to_end(&mut bytes);
        _ = send.send(bytes);
    });
    let Ok(bytes) = receive.recv_timeout(WATCHDOG) else {
        _ = child.kill();
        panic!("it does not end");
    };
    reader.join().expect("reading does not panic");
    child.wait().expect("our child");
    String::from_utf8(bytes).expect("text").replace("\r\n", "\n")
}

/// Without the sequences for colours.
fn plain(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + piece.split_once('m').map_or(piece, |(_, rest)| rest))
}

#[track_caller]
fn widest(text: &str) -> usize {
    plain(text).lines().map(|line| line.chars().count()).max().expect("some lines")
}

/// Tables, curves and prose.
const ANSWERS: [&str; 4] = [
    "predict decomposition --n 1024,2048 --t-s 35e-6 --t-w 0.23e-6 --procs 16,64",
    "predict gain --gamma-h 10 --gamma-s 2..40*2 --omega 0.2",
    "predict gather",
    "predict hyperbolic --pairs 1,2,4 --bytes 1KiB..1MiB*4",
];

#[test]
fn answers_follow_the_width() {
    for words in ANSWERS {
        let whole = on_terminal(160, lathide(words));
        let numbers = |text: &str| {
            let mut all: Vec<String> = plain(text).split_whitespace().map(String::from).collect();
            all.sort();
            all.dedup();
            all
        };
        for columns in [60, 80, 100, 160] {
            let text = on_terminal(columns, lathide(words));
            assert!(widest(&text) <= usize::from(columns), "{words} in {columns}:\n{text}");
            // Curves have other ticks and dots.
            let missing: Vec<_> = numbers(&whole)
                .into_iter()
                .filter(|word| {
                    word.contains('.') && word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
                })
                .filter(|word| !numbers(&text).contains(word))
                .collect();
            assert!(missing.is_empty(), "{words} in {columns}: {missing:?} are lost:\n{text}");
        }
        assert!(widest(&whole) > 100, "{words} uses the room:\n{whole}");
        // Where there is no terminal.
        assert!(widest(&run(&mut lathide(words)).succeeded().stdout) <= 100, "{words}");
    }
}

#[test]
fn help_follows_the_width() {
    for columns in [80, 100, 160] {
        for command in COMMANDS.iter().map(ToString::to_string).chain(["".into(), "predict gain".into()]) {
            for help in ["-h", "--help"] {
                let text = on_terminal(columns, lathide(&format!("{command} {help}")));
                assert!(widest(&text) <= usize::from(columns), "{command} {help} in {columns}:\n{text}");
                assert!(widest(&text) + 12 > usize::from(columns).min(100), "{command} {help} in {columns}:\n{text}");
            }
        }
    }
}

#[test]
fn notes_of_a_job_follow_the_width() {
    let mut command = lathide("run -n 2 --report --link lan");
    command.arg(example("stencil")).args(["--rows", "1000", "--columns", "8"]);
    let text = on_terminal(80, command);
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80 && !line.starts_with('[')).collect();
    assert!(long.is_empty() && text.contains("\n  "), "{text}");
}

#[test]
fn colours_are_for_terminals_and_for_who_wants_them() {
    let words = "predict gain --gamma-h 10 --gamma-s 2..40*2 --omega 0.2";
    let with = |words: &str| lathide(words);
    assert!(on_terminal(80, with(words)).contains("\x1b[1m"), "what was found out stands out");
    let mut without = with(words);
    without.env("NO_COLOR", "1");
    assert!(!on_terminal(80, without).contains('\x1b'), "NO_COLOR");
    assert!(!on_terminal(80, with(&format!("{words} --color never"))).contains('\x1b'));
    assert!(!run(&mut with(words)).succeeded().stdout.contains('\x1b'), "a pipe");
    assert!(run(&mut with(&format!("{words} --color=always"))).succeeded().stdout.contains("\x1b[1m"));
    let wrong = |words: &str| run(&mut lathide(words)).failed(2).stderr;
    assert!(wrong("gian --color always").contains("\x1b[") && !wrong("gian").contains('\x1b'));
    assert!(wrong("run --color always true").contains("\x1b[1;31mlathide:\x1b[0m how many ranks?"));
}

#[test]
fn slips_are_answered_with_what_is_meant() {
    for (words, meant) in [
        ("gian", "'gain'"),
        ("gain --gama 1", "'--gamma'"),
        ("run --lnk lan true", "\"--link\""),
        ("run --tag alwys true", "'always'"),
        ("run -n 2 --link wann true", "\"wan\""),
        ("run -n 2 --link dealy=1ms true", "\"delay\""),
        ("predict broadcst", "'broadcast'"),
        ("predict hops --topology tours", "\"torus\""),
        ("collectives --operations allredce", "\"allreduce\""),
        ("collectives --operations broadcast --algorithms chan", "\"chain\""),
        ("study --versions natve -- true", "'native'"),
    ] {
        let said = run(&mut lathide(words)).failed(2).stderr;
        assert!(said.contains(meant) && (said.contains("did you mean") || said.contains("similar")), "{words}: {said}");
    }
    let said = run(lathide("run -n 1 true").env("LATHIDE_WINDWO", "1MiB")).succeeded().stderr;
    assert!(said.contains("did you mean LATHIDE_WINDOW?"), "{said}");
}

/// With `-q` nothing is said on standard error by commands that have nothing to complain of.
#[test]
fn quiet_is_quiet_everywhere() {
    let page = std::env::temp_dir().join(format!("lathide-terminal-{}.html", std::process::id()));
    let saved = page.with_extension("json");
    let Finished { stdout, stderr, .. } =
        run(&mut lathide("link -q --json --seconds 0.5 --repeats 1 --bytes 8,1KiB")).succeeded();
    assert_eq!(stderr, "", "link");
    std::fs::write(&saved, stdout).expect("a file");
    let ring = example("ring");
    let ring = ring.display();
    for words in [
        format!("report -q {} -o {}", saved.display(), page.display()),
        format!("run -q -n 2 --report --link lan {ring}"),
        format!("gain -q -n 2 --repeats 1 -- {ring}"),
        "predict hyperbolic -q --a 1ms --b 1us".into(),
    ] {
        assert_eq!(run(&mut lathide(&words)).succeeded().stderr, "", "{words}");
    }
    for command in COMMANDS {
        let said = run(&mut lathide(&format!("{command} --help"))).succeeded().stdout;
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("-q, --quiet Nothing on standard error but errors,"), "{command}: {said}");
    }
    _ = (std::fs::remove_file(page), std::fs::remove_file(saved));
}

/// Of a `main` that returns lathide's error: its text, once for all ranks that have the same.
#[test]
fn an_error_of_all_ranks_is_shown_once_and_as_text() {
    let mut command = lathide("run -n 4");
    let said = run(command.arg(example("ring")).env("LATHIDE_WINDOW", "many")).failed(1).stderr;
    assert_eq!(said.matches("LATHIDE_WINDOW=\"many\": this is a size").count(), 1, "{said}");
    assert_eq!(said.matches("Error: LATHIDE_WINDOW").count(), 1, "no fields: {said}");
    assert!(said.contains("is also that of ranks ") && said.contains("failed first"), "{said}");
}
