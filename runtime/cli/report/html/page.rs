//! The page: what all files have, one below the other, with the verdicts on top.

use std::fmt::Write as _;

use serde_json::Value;

use super::command;
use super::markup::{classed, escaped, list, paragraph};
use super::section::{Piece, Section};
use super::style;
use crate::report::verdict::{Kind, Verdict};

/// What files have, and which of them have nothing that can be shown.
pub(crate) struct Page {
    pub(super) sections: Vec<Section>,
    /// Files that do not fit, and why.
    pub(crate) skipped: Vec<(String, String)>,
}

/// A file that is shown.
pub(crate) struct Shown<'a> {
    pub(crate) file: &'a str,
    pub(crate) title: &'a str,
    pub(crate) verdict: Option<Kind>,
    /// Verdict and conclusion, as the command said them.
    pub(crate) meaning: &'a str,
}

impl Page {
    /// Of these files: their names, and what is in them or why that cannot be read.
    pub(crate) fn of(files: impl IntoIterator<Item = (String, Result<Value, String>)>) -> Self {
        let mut page = Page { sections: Vec::new(), skipped: Vec::new() };
        for (file, json) in files {
            match json.and_then(|json| command::section(&file, &json)) {
                Ok(section) => page.sections.push(section),
                Err(why) => page.skipped.push((file, why)),
            }
        }
        page
    }

    /// The files that are shown.
    pub(crate) fn shown(&self) -> impl Iterator<Item = Shown<'_>> {
        self.sections.iter().map(|Section { file, title, verdict, meaning, .. }| Shown {
            file,
            title,
            verdict: verdict.as_ref().map(|verdict| verdict.kind),
            meaning,
        })
    }

    /// One file, which loads nothing from anywhere.
    pub(crate) fn html(&self) -> String {
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>lathide report</title>\n<style>\n{}</style>\n</head>\n<body>\n\
             <header>\n<h1>lathide report</h1>\n",
            style::of_page()
        );
        html += &self.overview();
        html += "</header>\n<main>\n";
        for (number, section) in self.sections.iter().enumerate() {
            html += &shown(number, section);
        }
        html += "</main>\n";
        let _ = write!(html, "<footer>lathide {}</footer>\n</body>\n</html>\n", env!("CARGO_PKG_VERSION"));
        html
    }

    /// What each file says in short, and which were skipped.
    fn overview(&self) -> String {
        let skipped: Vec<String> = self.skipped.iter().map(|(file, why)| format!("{file}: {why}.")).collect();
        let mut html = String::new();
        if !skipped.is_empty() {
            html += &classed("warning", "These files do not fit and were skipped:");
            html += &list("skipped", &skipped);
        }
        if self.sections.len() < 2 {
            return html;
        }
        html += "<nav aria-label=\"results\">\n<ul class=\"overview\">\n";
        for (number, section) in self.sections.iter().enumerate() {
            let Section { title, file, conclusion, verdict, .. } = section;
            let badge = verdict.as_ref().map(|verdict| badge(verdict.kind)).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = write!(
                html,
                "<li><a href=\"#s{number}\">{}</a> <span class=\"file\">{}</span> {badge}\n{}</li>\n",
                escaped(title),
                escaped(file),
                paragraph(conclusion)
            );
        }
        html + "</ul>\n</nav>\n"
    }
}

/// A verdict in a word, with a sign, since not everyone sees its colour.
fn badge(kind: Kind) -> String {
    let (class, sign) = match kind {
        Kind::Valid => ("valid", "\u{2713}"),
        Kind::Disturbed => ("disturbed", "!"),
        Kind::Partial => ("partial", "\u{25d0}"),
        Kind::Impossible => ("impossible", "\u{2715}"),
    };
    format!("<span class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> {kind}</span>")
}

fn shown(number: usize, section: &Section) -> String {
    let Section { file, title, verdict, meaning, warnings, place, pieces, .. } = section;
    let mut html = format!(
        "<section id=\"s{number}\" aria-labelledby=\"h{number}\">\n<h2 id=\"h{number}\">{} <span class=\"file\">{}</span></h2>\n",
        escaped(title),
        escaped(file)
    );
    let is_warned = verdict.as_ref().is_some_and(|verdict| !Verdict::is_valid(verdict));
    html += &classed(if is_warned { "meaning warning" } else { "meaning" }, meaning);
    html += &classed("warning", warnings);
    html += &list("place", place);
    for (piece, number_inside) in pieces.iter().zip(0..) {
        match piece {
            Piece::Text(text) => html += &paragraph(text),
            Piece::Table(grid) => html += &grid.html(),
            Piece::Figure(figure) => html += &figure.html(&format!("f{number}-{number_inside}")),
        }
    }
    html + "</section>\n"
}
