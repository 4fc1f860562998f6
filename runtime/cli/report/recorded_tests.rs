//! Page and terminal say the same of recorded results (`tests/recorded`): valid, disturbed, impossible, old, half.

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::html::{Page, pictures, values};
use super::results::Results;
use super::text::text;

/// What becomes of a file.
enum Fate {
    /// It is shown, with this verdict.
    Judged(&'static str),
    /// It is shown, and has none.
    Shown,
    /// It is named and skipped, since it has something else than this.
    Skipped(&'static str),
}
use Fate::{Judged, Shown, Skipped};

const RECORDED: [(&str, Fate); 26] = [
    ("another-program", Skipped("the schema bench-7")),
    ("cases", Judged("disturbed")),
    ("collectives", Judged("valid")),
    ("doctor", Shown),
    ("doctor-unreachable", Shown),
    ("gain-disturbed", Judged("disturbed")),
    ("gain-first-schema", Skipped("no layout")),
    ("gain-half-its-members", Judged("valid")),
    ("gain-impossible", Judged("impossible")),
    ("gain-partial", Judged("partial")),
    ("gain-valid", Judged("valid")),
    ("gain-without-verdict", Shown),
    ("half-a-file", Skipped("not JSON")),
    ("halo", Judged("valid")),
    ("lab", Shown),
    ("link-disturbed", Judged("disturbed")),
    ("link-valid", Judged("valid")),
    ("papers", Judged("valid")),
    ("predict-collectives", Shown),
    ("predict-gain", Shown),
    ("predict-hops", Shown),
    ("program", Judged("valid")),
    ("reports", Shown),
    ("run", Shown),
    ("study", Judged("valid")),
    ("trace", Shown),
];

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recorded")
}

/// A recorded result as the command reads it.
fn read(name: &str) -> Result<Value, String> {
    let text = std::fs::read(folder().join(format!("{name}.json"))).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_slice(&text).map_err(|error| format!("it is not JSON: {error}"))
}

/// What a reader reads of a page: without tags, all blanks alike.
fn words(html: &str) -> String {
    let (_, body) = html.split_once("<body>").expect("a body");
    let text: Vec<&str> = body.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    let text = text.join(" ").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_recorded_result_is_in_the_table() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    found.sort();
    assert_eq!(found, RECORDED.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
}

#[test]
fn page_and_terminal_say_the_same_of_every_recorded_result() {
    for (name, fate) in RECORDED {
        let json = read(name);
        let page = Page::of([(format!("{name}.json"), json.clone())]);
        let on_page = words(&page.html());
        if let Skipped(why) = fate {
            assert!(page.shown().next().is_none() && page.skipped[0].1.contains(why), "{name}: {:?}", page.skipped);
            assert!(on_page.contains(&format!("{name}.json: {}", blanks(&page.skipped[0].1))), "{name}: {on_page}");
            continue;
        }
        let json = json.unwrap();
        let expected = match fate {
            Judged(kind) => Some(kind),
            _ => None,
        };
        assert_eq!(json["verdict"]["kind"].as_str(), expected, "{name}");
        assert!(page.skipped.is_empty(), "{name}: {:?}", page.skipped);
        // What ranks report and timelines have no terminal's form with a verdict.
        let Ok(results) = Results::deserialize(&json) else { continue };
        let in_terminal = blanks(&text(&results, false));
        let mut said: Vec<String> = vec![results.conclusion.clone()];
        said.extend(expected.map(|kind| format!("Verdict: {kind}.")));
        said.extend(results.verdict.iter().flat_map(|verdict| verdict.reasons.clone()));
        said.extend(results.warnings.clone());
        for sentence in said.iter().map(|sentence| blanks(sentence)) {
            assert!(in_terminal.contains(&sentence), "{name}: the terminal lacks {sentence}\n{in_terminal}");
            assert!(on_page.contains(&sentence), "{name}: the page lacks {sentence}\n{on_page}");
        }
        let whole = blanks(&results.meaning());
        assert!(in_terminal.contains(&whole) && on_page.contains(&whole), "{name}: {whole}");
        for kind in ["valid", "disturbed", "partial", "impossible"].into_iter().filter(|kind| Some(*kind) != expected) {
            let other = format!("Verdict: {kind}");
            assert!(!in_terminal.contains(&other) && !on_page.contains(&other), "{name}: {other}");
        }
        for place in results.place() {
            assert!(on_page.contains(&blanks(&place)) && in_terminal.contains(&blanks(&place)), "{name}: {place}");
        }
    }
}

#[test]
fn what_the_issue_asks_for_is_drawn() {
    let page = Page::of(RECORDED.iter().map(|(name, _)| (format!("{name}.json"), read(name))));
    let html = page.html();
    for title in [
        "G against gamma",
        "Pairs of runs with overlap off and on",
        "Time by rank",
        "Time by rank and region",
        "rate against message bytes",
        "Exchange: a message each way against its size",
        "Overlap against the size of a message",
        "Message rate",
        "Latency under load",
        "Processor time per short message",
        "Predicted against measured",
        "Least round trip of 8 bytes between hosts",
        "Set-up of every host",
        "All of it",
    ] {
        assert!(html.contains(title), "{title}");
    }
    assert!(html.contains("not reached: 192.0.2.3:53857: connection refused"), "in the matrix");
    assert_eq!(page.skipped.len(), 3);
    assert!(!html.contains("NaN") && !html.contains("http:") && !html.contains("<script"), "self-contained");
}

/// Files come from anywhere: whatever a member is instead, there is a page or a reason, and every file of it is whole.
#[test]
fn a_member_that_is_something_else_breaks_nothing() {
    let others = [json!(null), json!(7), json!("<x>"), json!([]), json!([{"x": 1e308}, 3]), json!({"rank": -1})];
    let mut pages = 0;
    for (name, _) in RECORDED {
        let Ok(json) = read(name) else { continue };
        let members = json.as_object().map(|members| members.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        for (at, member) in members.iter().enumerate() {
            let mut changed = json.clone();
            changed[member] = others[(at + name.len()) % others.len()].clone();
            let page = Page::of([(format!("{name}.json"), Ok(changed))]);
            assert_eq!(page.shown().count() + page.skipped.len(), 1);
            let all =
                [page.html()].into_iter().chain(pictures(&page).into_iter().chain(values(&page)).map(|saved| saved.1));
            for text in all {
                let is_markup = text.starts_with('<');
                assert!(!text.contains("NaN"), "{name}, {member}: {text}");
                assert!(!is_markup || !text.contains("<x>"), "{name}, {member}: {text}");
            }
            pages += 1;
        }
    }
    assert!(pages > 300, "{pages}");
}
