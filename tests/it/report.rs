//! `lathide report` from outside: the page, its exit status, its complaints.

use std::path::PathBuf;
use std::process::Command;

use crate::process::{Finished, run};

/// A folder of one test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lathide-report-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn lathide(arguments: &[&str], folder: &Folder) -> Finished {
    run(Command::new(env!("CARGO_BIN_EXE_lathide")).args(arguments).current_dir(&folder.0))
}

#[test]
fn a_run_is_reported_from_its_trace_and_its_reports() {
    let folder = Folder::new("run");
    let stencil = crate::examples::example("stencil");
    let stencil = stencil.to_str().expect("a path in UTF-8");
    let program = [stencil, "--version", "i3", "--rows", "2000", "--columns", "8", "--steps", "5"];
    let options = ["run", "-n", "4", "--link", "delay=1ms,rate=100mbit", "--trace", "t.json", "--report=r.json"];
    lathide(&[&options[..], &program[..]].concat(), &folder).succeeded();
    let finished = lathide(&["report", "t.json", "r.json", "-o", "page.html"], &folder).succeeded();
    assert!(finished.stderr.contains("the page is page.html") && finished.stdout.is_empty(), "{finished:?}");
    let html = std::fs::read_to_string(folder.0.join("page.html")).unwrap();
    for part in [
        "<h2 id=\"h0\">Timeline <span class=\"file\">t.json",
        "rank 3",
        "t-compute",
        "t-wait",
        "t-in",
        "Run <span class=\"file\">r.json",
        "Time by rank",
        "G eq. (4)",
        "Advice",
    ] {
        assert!(html.contains(part), "{part} is not in the page");
    }
    for word in ["<script", "http:", "https:", "NaN"] {
        assert!(!html.contains(word), "the page has {word}");
    }
    let finished = lathide(&["report", "t.json", "--json", "-o", "two.html"], &folder).succeeded();
    let json: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let length = std::fs::metadata(folder.0.join("two.html")).unwrap().len();
    assert_eq!((&json["schema"], &json["bytes"]), (&"lathide-report-1".into(), &length.into()), "{json}");
}

#[test]
fn wrong_files_are_named() {
    let folder = Folder::new("wrong");
    folder.write("text.json", "no JSON");
    folder.write("other.json", "{\"schema\": \"else\"}");
    for (file, message) in
        [("text.json", "is not JSON"), ("other.json", "the schema else"), ("none.json", "cannot be read")]
    {
        let failed = lathide(&["report", file], &folder).failed(1);
        assert!(failed.stderr.contains(file) && failed.stderr.contains(message), "{failed:?}");
        assert!(!folder.0.join("report.html").exists(), "nothing is written");
    }
    assert!(lathide(&["report"], &folder).failed(2).stderr.contains("FILE"));
    folder.write("gain.json", &lathide(&["predict", "gain", "--json"], &folder).succeeded().stdout);
    let shown = lathide(&["report", "gain.json", "-o", "-"], &folder).succeeded();
    assert!(
        shown.stdout.starts_with("<!DOCTYPE html>") && shown.stdout.contains("<svg") && shown.stderr.is_empty(),
        "{shown:?}"
    );
    let failed = lathide(&["report", "gain.json", "-o", "no/such/folder.html"], &folder).failed(1);
    assert!(failed.stderr.contains("no/such/folder.html"), "{failed:?}");
}

#[test]
fn what_does_not_fit_is_named_and_skipped_and_the_rest_is_shown() {
    let folder = Folder::new("recorded");
    let files: Vec<String> = crate::page::recorded().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let finished =
        lathide(&[&["report", "--json", "--csv", "csv", "--svg", "svg"], &files[..]].concat(), &folder).succeeded();
    let said: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let (shown, skipped) = (said["shown"].as_array().unwrap(), said["skipped"].as_array().unwrap());
    assert_eq!((shown.len() + skipped.len(), skipped.len()), (files.len(), 3), "{said}");
    let html = std::fs::read_to_string(folder.0.join("report.html")).unwrap();
    for file in skipped {
        let (file, why) = (file["file"].as_str().unwrap(), file["why"].as_str().unwrap());
        assert!(finished.stderr.contains(&format!("{file} is skipped: {why}")), "{}", finished.stderr);
        assert!(html.contains(&format!("<li>{file}: ")), "{file} is named on the page");
    }
    let impossible = shown.iter().find(|shown| shown["file"] == "gain-impossible.json").unwrap();
    assert_eq!(impossible["verdict"], "impossible");
    assert!(impossible["meaning"].as_str().unwrap().starts_with("Verdict: impossible. "), "{impossible}");
    for (what, head) in [("csv", ""), ("svg", "<svg xmlns=")] {
        let names = said[what].as_array().unwrap();
        assert!(names.len() > 40, "{what}: {names:?}");
        for name in names {
            let text = std::fs::read_to_string(folder.0.join(what).join(name.as_str().unwrap())).unwrap();
            assert!(text.starts_with(head) && text.lines().count() > 1 && !text.contains("var(--"), "{name}: {text}");
        }
    }
    let told = lathide(&["report", files[5], "-o", "one.html"], &folder).succeeded();
    assert!(told.stderr.contains("gain-disturbed.json: Verdict: disturbed. "), "{told:?}");
}
