//! One grammar: what is a size, a time or a rate in one place is one in every other.

use std::process::Command;

use crate::examples::example;
use crate::process::run;

/// Options that take a size, a time, a rate: the command up to them, and what follows that is refused in any case.
const SIZES: [(&str, &str); 5] = [
    ("link --bytes", "--link nonsense"),
    ("collectives --bytes", "--link nonsense"),
    ("collectives --papers --queue", "--link nonsense"),
    ("predict hyperbolic --bytes", "--pairs nonsense"),
    ("lab --hosts 2 --queue", "--rate nonsense -- true"),
];
const TIMES: [(&str, &str); 8] = [
    ("link --seconds", "--link nonsense"),
    ("collectives --seconds", "--link nonsense"),
    ("study --seconds", "--link nonsense"),
    ("predict hyperbolic --a", "--pairs nonsense"),
    ("predict hyperbolic --b", "--pairs nonsense"),
    ("lab --hosts 2 --delay", "--rate nonsense -- true"),
    ("run --grace", "--link nonsense true"),
    ("run --link loopback,delay=", "--grace nonsense true"),
];
const RATES: [(&str, &str); 2] =
    [("lab --hosts 2 --rate", "--delay nonsense -- true"), ("run --link loopback,rate=", "--grace nonsense true")];

/// Whether the option takes the text: if so, it is what follows that is refused.
fn takes(option: &str, text: &str, follows: &str) -> bool {
    let mut words: Vec<String> = option.split(' ').map(String::from).collect();
    // Behind an equals sign the text is a part of a link, or of a sweep.
    match words.pop() {
        Some(part) if part.ends_with('=') => words.push(part + text),
        last => words.extend(last.into_iter().chain([text.to_owned()])),
    }
    let own = words.iter().rfind(|word| word.starts_with("--")).expect("an option").clone();
    let next = follows.split(' ').next().unwrap_or_default();
    let mut lathide = Command::new(env!("CARGO_BIN_EXE_lathide"));
    let said = run(lathide.args(&words).args(follows.split(' '))).failed(2).stderr;
    let blames = |option: &str| said.lines().next().is_some_and(|line| line.contains(&format!("'{option} <")));
    assert!(blames(&own) != blames(next), "{words:?}: {said}");
    blames(next)
}

/// Whether a program takes the variable.
fn variable_takes(name: &str, text: &str) -> bool {
    let ended = run(Command::new(example("ring")).env(name, text));
    let is_taken = ended.status == Some(0);
    assert!(is_taken || ended.stderr.contains(&format!("{name}={text:?}: this is")), "{ended:?}");
    is_taken
}

#[test]
fn a_size_is_the_same_everywhere() {
    for (text, is_size) in [
        ("8", true),
        ("64B", true),
        ("8kB", true),
        ("8KB", true),
        ("8k", true),
        ("0.5K", true),
        ("64KiB", true),
        ("64 kib", true),
        ("1m", true),
        ("1MiB", true),
        ("2MB", true),
        ("2e3", true),
        ("0.1GiB", false),
        ("8T", false),
        ("8kbit", false),
        ("8s", false),
        ("8 8", false),
        ("0x8", false),
        ("k", false),
        ("many", false),
        ("1_000", false),
    ] {
        // A model takes parts of bytes.
        for (option, follows) in
            SIZES.into_iter().filter(|(option, _)| text != "0.1GiB" || !option.starts_with("predict"))
        {
            assert_eq!(takes(option, text, follows), is_size, "{option} {text}");
        }
        for name in ["LATHIDE_WINDOW", "LATHIDE_BUDGET"] {
            assert_eq!(variable_takes(name, text), is_size, "{name}={text}");
        }
    }
    assert!(variable_takes("LATHIDE_FRAGMENT", "8kB") && !variable_takes("LATHIDE_FRAGMENT", "1MB"), "has bounds");
}

#[test]
fn a_time_and_a_rate_are_the_same_everywhere() {
    for (text, is_time) in [
        ("3", true),
        ("3s", true),
        ("0.5", true),
        ("250ms", true),
        ("250 MS", true),
        ("500000us", true),
        ("5e8ns", true),
        ("1min", true),
        ("0.01h", true),
        ("3m", false),
        ("3 seconds", false),
        ("3sec", false),
        ("1:30", false),
        ("soon", false),
        ("3kB", false),
        ("3mbit", false),
    ] {
        for (option, follows) in TIMES {
            assert_eq!(takes(option, text, follows), is_time, "{option} {text}");
        }
        for name in ["LATHIDE_DEADLOCK", "LATHIDE_KEEPALIVE", "LATHIDE_RESUME", "LATHIDE_JOIN", "LATHIDE_LINGER"] {
            assert_eq!(variable_takes(name, text), is_time, "{name}={text}");
        }
    }
    for (text, is_rate) in [
        ("9600", true),
        ("50mbit", true),
        ("50Mbit/s", true),
        ("2.5gbit", true),
        ("5e4 kbit", true),
        ("100bit", true),
        ("50mb", false),
        ("50MB/s", false),
        ("50ms", false),
        ("fast", false),
    ] {
        for (option, follows) in RATES {
            assert_eq!(takes(option, text, follows), is_rate, "{option} {text}");
        }
    }
}

#[test]
fn a_list_of_whole_numbers_is_the_same_everywhere() {
    for (text, is_list) in [
        ("2", true),
        ("2,4", true),
        ("2..8", true),
        ("2..8*2", true),
        ("2, 4..8+2", true),
        ("2..8*1", false),
        ("8..2", false),
        ("2,,4", false),
        ("2-8", false),
        ("2.5", false),
        ("2k", false),
    ] {
        for (option, follows) in [
            ("collectives --ranks", "--link nonsense"),
            ("link --pairs", "--link nonsense"),
            ("study --sweep ranks=", "--link nonsense"),
            ("predict hyperbolic --pairs", "--a nonsense"),
            ("predict broadcast --procs", "--a nonsense"),
            ("link --bytes", "--link nonsense"),
            ("gain --gamma", "--link nonsense"),
        ] {
            // A size may have a unit, and a granularity may be no whole number.
            let is_list =
                is_list || (option == "link --bytes" && text == "2k") || (option == "gain --gamma" && text == "2.5");
            assert_eq!(takes(option, text, follows), is_list, "{option} {text}");
        }
    }
}
