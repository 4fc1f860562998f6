//! Completions, manual pages, and what `lathide --version` says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::run;

fn lathide(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    command.args(words);
    command
}

/// A directory that goes with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lathide-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn shells_complete_commands_and_options() {
    let scratch = Scratch::new("completions");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&mut lathide(&["completions", shell])).succeeded().stdout;
        for word in ["predict", "isoefficiency", "hosts", "color"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        assert!(!script.contains("__agent") && !script.contains("__node"), "{shell} offers what is not for people");
    }
    let file = scratch.0.join("lathide");
    fs::write(&file, run(&mut lathide(&["completions", "bash"])).succeeded().stdout).expect("a file");
    // What bash would offer behind `lathide pre`, and behind `lathide predict ga`.
    let script = format!(
        "source {}; ask() {{ COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _lathide lathide \"${{@: -1}}\" \"${{@: -2:1}}\"; \
         echo \"${{COMPREPLY[@]}}\"; }}; ask lathide pre; ask lathide predict ga",
        file.display()
    );
    let said = run(Command::new("bash").args(["--norc", "-ec", &script])).succeeded().stdout;
    assert_eq!(said, "predict\ngain gather\n");
    let wrong = run(&mut lathide(&["completions", "bahs"])).failed(2).stderr;
    assert!(wrong.contains("'bash'"), "{wrong}");
}

#[test]
fn manual_pages_are_there_for_every_command() {
    let page = run(&mut lathide(&["man"])).succeeded().stdout;
    assert!(
        page.contains(".TH lathide 1") && page.contains("LATHIDE_WINDOW") && !page.contains("agent\\-resume"),
        "{page}"
    );
    let page = run(&mut lathide(&["man", "predict", "gain"])).succeeded().stdout;
    assert!(page.contains(".TH lathide-predict-gain 1") && page.contains("gamma\\-h"), "{page}");
    let wrong = run(&mut lathide(&["man", "gian"])).failed(2).stderr;
    assert!(wrong.contains("did you mean \"gain\"?"), "{wrong}");
    let scratch = Scratch::new("man");
    run(&mut lathide(&["man", "--dir", &scratch.0.display().to_string()])).succeeded();
    for name in ["lathide.1", "lathide-run.1", "lathide-predict-gain.1", "lathide-lab-cut.1"] {
        let page = fs::read_to_string(scratch.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".TH "), "{name}: {page}");
    }
    assert!(!scratch.0.join("lathide-__agent.1").exists());
}

#[test]
fn the_version_has_commit_and_features() {
    let said = run(&mut lathide(&["--version"])).succeeded().stdout;
    let version = env!("CARGO_PKG_VERSION");
    assert!(said.starts_with(&format!("lathide {version} (commit ")), "{said}");
    assert!(said.contains(", features: none)") || said.contains(", features: encrypt)"), "{said}");
}

/// What the build script says of sources in this directory.
fn commit(script: &Path, sources: &Path) -> String {
    let said =
        run(Command::new(script).env("CARGO_MANIFEST_DIR", sources).env("PROFILE", "release").current_dir(sources));
    let said = said.succeeded().stdout;
    let line = said.lines().find_map(|line| line.strip_prefix("cargo::rustc-env=SOURCES_COMMIT="));
    line.unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// In a checkout, without git, in a package, and within a checkout of something else.
#[test]
fn the_build_knows_its_commit_or_says_that_it_does_not() {
    let scratch = Scratch::new("version");
    let script = scratch.0.join("build");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/build.rs");
    run(Command::new("rustc").args(["--edition", "2024", source, "-o"]).arg(&script)).succeeded();
    let sources = scratch.0.join("clone/runtime/cli");
    fs::create_dir_all(&sources).expect("a directory");
    fs::write(sources.join("file"), "1").expect("a file");
    assert_eq!(commit(&script, &sources), "unknown");
    let git = |words: &[&str]| {
        let who = ["-c", "user.name=A", "-c", "user.email=a@b"];
        run(Command::new("git").arg("-C").arg(scratch.0.join("clone")).args(who).args(words)).succeeded().stdout
    };
    if Command::new("git").arg("--version").output().is_ok() {
        git(&["init", "--quiet"]);
        assert_eq!(commit(&script, &sources), "unknown", "no commit yet");
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "one"]);
        let head = git(&["rev-parse", "HEAD"])[..12].to_owned();
        assert_eq!(commit(&script, &sources), head);
        fs::write(sources.join("file"), "2").expect("a file");
        assert_eq!(commit(&script, &sources), format!("{head}+"), "changed since");
        let inside = scratch.0.join("clone/vendor/lathide-cli");
        fs::create_dir_all(&inside).expect("a directory");
        assert_eq!(commit(&script, &inside), "unknown", "that checkout is of something else");
    }
    let packaged = r#"{"git": {"sha1": "0123456789abcdef0123456789abcdef01234567"}, "path_in_vcs": "runtime/cli"}"#;
    fs::write(sources.join(".cargo_vcs_info.json"), packaged).expect("a file");
    assert_eq!(commit(&script, &sources), "0123456789ab");
    fs::write(sources.join(".cargo_vcs_info.json"), "{}").expect("a file");
    assert_eq!(commit(&script, &sources), "unknown");
}
