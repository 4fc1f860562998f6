//! Plain tables: a header, a rule, rows of numbers set flush right. No colour, no frame.

use std::fmt;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};

/// A table of texts. What it shows is what was put in: nothing is wrapped or cut.
#[derive(Debug)]
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// A table with these column titles. A title may have several lines, for instance to put the unit below.
    pub(crate) fn new<T: Into<String>>(titles: impl IntoIterator<Item = T>) -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')))
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(titles.into_iter().map(Into::into).collect::<Vec<String>>());
        for column in table.column_iter_mut() {
            column.set_padding((0, 1)).set_cell_alignment(CellAlignment::Right);
        }
        Table(table)
    }

    /// Adds a row, one text per column.
    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        self.0.add_row(cells.into_iter().map(Into::into).collect::<Vec<String>>());
        self
    }

    /// The columns that its longest line takes.
    pub(crate) fn width(&self) -> usize {
        self.to_string().lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.lines().map(|line| line.trim_end().to_owned()).collect();
        f.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::WIDTH;

    #[test]
    fn plain_and_flush_right() {
        let mut table = Table::new(["gamma", "t_calc\nms"]);
        table.row(["1", "65.25"]).row(["0.125", "1"]);
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "two lines of titles, a rule, two rows:\n{text}");
        assert!(lines[3].ends_with("65.25") && lines[4].ends_with("    1"), "{text}");
        assert!(lines.iter().all(|line| line.trim_end() == *line && !line.contains('\x1b')), "{text}");
    }

    #[test]
    fn nothing_is_wrapped_up_to_the_full_width() {
        let mut table = Table::new(["x".repeat(48), "y".repeat(48)]);
        table.row(["1", "2"]);
        let text = table.to_string();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(table.width() <= WIDTH, "{text}");
    }
}
