//! What a page shows, as files of their own: figures as SVG, tables and the values of figures as CSV. Pure: what is to be
//! written, and under which names.

use super::page::Page;
use super::section::Piece;
use super::table;

/// A file: its name, and what is in it.
type Saved = (String, String);

/// Every figure.
pub(crate) fn pictures(page: &Page) -> Vec<Saved> {
    pieces(page)
        .filter_map(|(name, piece)| match piece {
            Piece::Figure(figure) => Some((format!("{name}.svg"), figure.picture())),
            _ => None,
        })
        .collect()
}

/// Every table, and the values of every figure. A first line has the members' names; values have the units of the JSON.
pub(crate) fn values(page: &Page) -> Vec<Saved> {
    pieces(page)
        .filter_map(|(name, piece)| match piece {
            Piece::Figure(figure) => Some((format!("{name}.csv"), lines(&figure.values()))),
            Piece::Table(grid) => Some((format!("{name}.csv"), lines(&grid.csv()))),
            Piece::Text(_) => None,
        })
        .collect()
}

/// Tables and figures in the order of the page, with names that tell what they are: file, number, title.
fn pieces(page: &Page) -> impl Iterator<Item = (String, &Piece)> {
    let all = page.sections.iter().flat_map(|section| section.pieces.iter().map(move |piece| (section, piece)));
    let titled = all.filter_map(|(section, piece)| match piece {
        Piece::Text(_) => None,
        Piece::Table(grid) if grid.title.is_empty() => Some((section, "table".to_owned(), piece)),
        Piece::Table(grid) => Some((section, table::short(&grid.title), piece)),
        Piece::Figure(figure) => Some((section, figure.title.clone(), piece)),
    });
    titled.zip(1..).map(|((section, title, piece), number)| {
        let file = section.file.rsplit_once('.').map_or(&*section.file, |(stem, _)| stem);
        (format!("{}-{number:03}-{}", slug(file), slug(&title)), piece)
    })
}

/// Letters, digits and hyphens: a name that every system takes, and no path.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars().map(|letter| letter.to_ascii_lowercase()) {
        match letter {
            'a'..='z' | '0'..='9' => slug.push(letter),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(48);
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "result".to_owned() } else { slug.to_owned() }
}

/// As RFC 4180 has it.
fn lines(rows: &[Vec<String>]) -> String {
    let cell = |cell: &String| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\r\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_paths_and_cells_are_quoted() {
        assert_eq!(slug("../G against gamma = t_calc / t_com"), "g-against-gamma-t-calc-t-com");
        assert_eq!((slug("/"), slug("é")), ("result".to_owned(), "result".to_owned()));
        assert!(slug(&"ab-".repeat(50)).len() <= 48);
        assert_eq!(
            lines(&[vec!["a, b".into(), "say \"no\"".into()], vec![String::new(), "2".into()]]),
            "\"a, b\",\"say \"\"no\"\"\"\r\n,2\r\n"
        );
    }
}
