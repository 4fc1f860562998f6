//! The page of `lathide report` in a real browser: a page with everything, on a desk and on a phone, light and dark, checked by
//! rules that a script computes from what is drawn.
//!
//! Without Chromium the tests say that they are skipped, and fail if `LATHIDE_CHROMIUM_REQUIRED=1`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::foreign::installed;
use crate::process::run;

/// The rules, as the browser computes them.
const RULES: &str = include_str!("page/rules.js");

/// A page of all recorded results, with the rules in it, in a folder of its own.
struct Page(PathBuf);

impl Page {
    /// `more`: style that breaks something, if any.
    fn new(name: &str, more: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lathide-page-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let page = Page(folder);
        let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
        command.arg("report").args(recorded()).arg("-q").arg("-o").arg(page.html());
        run(&mut command).succeeded();
        let html = std::fs::read_to_string(page.html()).expect("a page");
        let html = html.replace("</style>", &format!("{more}</style>"));
        let html = html.replace("</body>", &format!("<script>{RULES}</script></body>"));
        std::fs::write(page.html(), html).expect("a page");
        page
    }

    /// A page that shows the page in a frame of this width, since a window has a least one, and keeps what the rules say.
    fn framed(&self, width: u32) -> PathBuf {
        let path = self.0.join(format!("frame-{width}.html"));
        let frame = format!(
            "<!DOCTYPE html><style>:root {{ color-scheme: light dark }} iframe {{ border: 0 }}</style>\n\
             <script>addEventListener(\"message\", (told) => {{ const found = document.createElement(\"pre\"); found.id = \"checked\"; \
             found.textContent = told.data; document.body.append(found); }})</script>\n\
             <body><iframe src=\"page.html\" width=\"{width}\" height=\"900\"></iframe></body>"
        );
        std::fs::write(&path, frame).expect("a frame");
        path
    }

    fn html(&self) -> PathBuf {
        self.0.join("page.html")
    }

    /// What the rules found, in a window of this width.
    fn checked(&self, width: u32, is_dark: bool) -> Value {
        let profile = self.0.join(format!("profile-{width}-{is_dark}"));
        let mut command = Command::new("chromium");
        command
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"])
            .args(["--disable-dev-shm-usage", "--virtual-time-budget=5000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("--window-size=1400,1000")
            // 0: dark, 1: light.
            .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!is_dark)))
            .arg(format!("file://{}", self.framed(width).display()));
        let dom = run(&mut command).succeeded().stdout;
        let found = dom.split_once("<pre id=\"checked\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let found =
            found.unwrap_or_else(|| panic!("the rules did not end: {}", &dom[dom.len().saturating_sub(2000)..]));
        let text = found.0.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The recorded results, in the order of their names.
pub(crate) fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recorded");
    let files = std::fs::read_dir(folder).expect("recorded results").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files
}

#[track_caller]
fn holds(width: u32, is_dark: bool) {
    if !installed("chromium", "chromium", "LATHIDE_CHROMIUM_REQUIRED") {
        return;
    }
    let page = Page::new(&format!("{width}-{is_dark}"), "");
    let found = page.checked(width, is_dark);
    assert_eq!((&found["width"], &found["is_dark"]), (&width.into(), &is_dark.into()), "the window is as asked for");
    let broken = found["broken"].as_array().expect("a list");
    assert!(
        broken.is_empty(),
        "{} rules broken, of them:\n{:#}",
        broken.len(),
        Value::from_iter(broken.iter().take(25).cloned())
    );
    for (what, least) in [("figures", 40), ("texts", 900), ("tables", 40), ("axes", 60), ("tooltips", 500)] {
        assert!(found[what].as_u64().is_some_and(|count| count >= least), "so few {what} were looked at: {found}");
    }
}

#[test]
fn on_a_desk_in_light() {
    holds(1280, false);
}

#[test]
fn on_a_desk_in_dark() {
    holds(1280, true);
}

#[test]
fn on_a_phone_in_light() {
    holds(390, false);
}

#[test]
fn on_a_phone_in_dark() {
    holds(390, true);
}

/// A rule that finds nothing in a page that is wrong would find nothing ever.
#[test]
fn the_rules_find_what_is_wrong() {
    if !installed("chromium", "chromium", "LATHIDE_CHROMIUM_REQUIRED") {
        return;
    }
    for (name, more, words) in [
        ("small", "svg text { font-size: 9px } footer { width: 3000px }", ["text of 9", "the page is wider"]),
        ("large", "svg text { font-size: 40px }", ["texts overlap", "a text is cut off"]),
        ("pale", "svg text, body { fill: #ccc; color: #ccc }", ["contrast of 1", "contrast of 1"]),
    ] {
        let found = Page::new(name, more).checked(390, false);
        let broken: Vec<&str> = found["broken"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        for word in words {
            assert!(broken.iter().any(|said| said.starts_with(word)), "{name}: no {word} among {}", broken.len());
        }
    }
}
