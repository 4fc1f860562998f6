//! The manual's tutorial: its programs calculate the same, and its commands can be typed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::examples::example;
use crate::process::run;

const PAGE: &str = include_str!("../../runtime/manual/tutorial.rs");
const STEPS: [&str; 3] = ["heat-blocking", "heat-write-early", "heat-hidden"];

/// The sum of all temperatures that a program shows.
#[track_caller]
fn sum(said: &str) -> &str {
    said.lines().find_map(|line| line.split_once("temperatures is ")).unwrap_or_else(|| panic!("{said}")).1
}

#[test]
fn all_steps_calculate_the_same_and_as_the_page_says() {
    let alone = run(&mut Command::new(example("heat-alone"))).succeeded().stdout;
    for name in STEPS {
        for ranks in ["1", "2", "3"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
            let said = run(command.args(["run", "-n", ranks]).arg(example(name))).succeeded().stdout;
            assert_eq!(sum(&said), sum(&alone), "{name} on {ranks}");
        }
    }
    assert_eq!(PAGE.matches(&format!("temperatures is {}", sum(&alone))).count(), 4);
}

/// Each in its turn, in a directory of its own; only repetitions are fewer.
#[test]
fn the_commands_can_be_typed() {
    let directory: PathBuf = std::env::temp_dir().join(format!("lathide-tutorial-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    let examples = example("heat-alone").parent().expect("their directory").display().to_string();
    let lathide = Path::new(env!("CARGO_BIN_EXE_lathide"));
    let commands: Vec<&str> = PAGE.lines().filter_map(|line| line.strip_prefix("//! $ ")).collect();
    assert_eq!(commands.len(), 10, "{commands:?}");
    for command in commands.into_iter().filter(|command| *command != "cargo build --release --examples") {
        let command = command.replace("target/release/examples", &examples);
        let command = command.replace("lathide gain", "lathide gain --repeats 1");
        let command = command.replace("lathide ", &format!("{} ", lathide.display()));
        let said = run(Command::new("sh").args(["-ec", &command]).current_dir(&directory)).succeeded();
        let is_one_of_ours = said.stdout.contains("temperatures is") || said.stdout.contains("G = ");
        assert!(is_one_of_ours || command.contains(" report "), "{command}: {said:?}");
    }
    for name in ["blocking", "write_early", "hidden"] {
        let made = fs::read_to_string(directory.join(format!("{name}.svg"))).expect("a picture");
        picture(name, &made);
    }
    _ = fs::remove_dir_all(directory);
}

/// A picture that a page can hold: small, in one piece, and with what it shows.
#[track_caller]
fn picture(name: &str, svg: &str) {
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>") && svg.contains("xmlns="), "{name}: {svg}");
    assert!(svg.len() < 12_000, "{name} has {} bytes", svg.len());
    assert!(!svg.contains("\n\n"), "{name}: an empty line would end it within a page");
    for part in ["rank 0", "rank 1", "t-compute", "t-wait", "t-in", "t-out"] {
        assert!(svg.contains(part), "{name}: {part}");
    }
}

#[test]
fn the_pages_pictures_are_of_the_command_s_making() {
    picture("blocking", include_str!("../../runtime/manual/figures/blocking.svg"));
    picture("write_early", include_str!("../../runtime/manual/figures/write_early.svg"));
    picture("hidden", include_str!("../../runtime/manual/figures/hidden.svg"));
}

#[test]
fn what_is_no_timeline_has_no_picture() {
    let file = std::env::temp_dir().join(format!("lathide-tutorial-{}.json", std::process::id()));
    fs::write(&file, "{\"schema\": \"lathide-link-2\", \"layout\": []}").expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    let said = run(command.arg("report").arg(&file).args(["-o", "never.svg"])).failed(1).stderr;
    assert!(said.contains("of one timeline"), "{said}");
    _ = fs::remove_file(file);
}
