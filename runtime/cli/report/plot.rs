//! Curves for a terminal: braille dots for curves, one sign per series of points, axes with labels.
//!
//! Series are told apart by their dots and signs, so a chart reads the same without colour.

use std::fmt::Write as _;

use super::axis::Range;
use super::results::{Axis, Chart, Look};
use super::screen::Screen;

/// The chart as lines that fit the screen, without a newline at the end. Points are drawn over curves. Where there are
/// colours, series have them.
pub(super) fn render(chart: &Chart, screen: Screen) -> String {
    let Some((series, x, y)) = chart.drawn() else { return "(nothing to plot)".to_owned() };
    let (y, y_ticks) = y.ticked();
    let columns = screen.width - MARGIN;
    let frame = Frame { x, y, columns };
    let mut canvas = Canvas { columns, places: vec![(BLANK, 0); columns * HEIGHT] };
    let (mut legend, mut used) = (" ".repeat(LABEL), LABEL);
    let mut signs = SIGNS.into_iter();
    let mut points = Vec::new();
    for (number, series) in series.iter().enumerate() {
        let sign = match series.look {
            Look::Solid => "⠒⠒⠒".to_owned(),
            Look::Dotted => "⠂⠐⠂".to_owned(),
            Look::Points => {
                let sign = signs.next().unwrap_or('.');
                points.push((number, sign));
                sign.to_string()
            }
        };
        if series.look != Look::Points {
            canvas.curve(&frame, series.look, &series.points, number);
        }
        let length = 3 + sign.chars().count() + series.name.chars().count();
        if used + length > screen.width {
            _ = write!(legend, "\n{:LABEL$}", "");
            used = LABEL;
        }
        used += length;
        _ = write!(legend, "  {} {}", paint(&sign, number, screen), series.name);
    }
    for (number, sign) in points {
        canvas.points(&frame, sign, &series[number].points, number);
    }
    let mut text = format!("{:>LABEL$}\n", chart.y.title());
    for row in 0..HEIGHT {
        match y_ticks.iter().find(|tick| frame.row(**tick) == row) {
            Some(tick) => _ = write!(text, "{:>LABEL$} ┤", chart.y.text(*tick)),
            None => _ = write!(text, "{:LABEL$} │", ""),
        }
        text.push_str(&canvas.row(row, screen));
        text.push('\n');
    }
    format!("{text}{}\n{legend}", frame.x_axis(&chart.x))
}

/// Signs of series of points; what is beyond them cannot be told apart.
pub(crate) const SIGNS: [char; 6] = ['*', 'o', '+', 'x', '#', '@'];
/// Columns for the labels of the y axis.
const LABEL: usize = 8;
/// Columns beside the area that is drawn on: labels and axis before it, half a label behind it.
const MARGIN: usize = LABEL + 2 + 4;
/// Lines of that area.
const HEIGHT: usize = 18;
/// Dots in a braille sign, across and down.
const ACROSS: usize = 2;
const DOWN: usize = 4;
/// The terminal's colours for the series in turn: green, yellow, cyan, magenta, blue. Readable on dark and light.
const COLOURS: [u8; 5] = [32, 33, 36, 35, 34];

/// The ranges of the axes, and the columns of the x axis.
struct Frame {
    x: Range,
    y: Range,
    columns: usize,
}

impl Frame {
    /// The dot column of `x`.
    fn dot_x(&self, x: f64) -> usize {
        place(self.x.share(x), self.columns * ACROSS)
    }

    /// The dot row of `y`, from the top.
    fn dot_y(&self, y: f64) -> usize {
        place(1.0 - self.y.share(y), HEIGHT * DOWN)
    }

    fn row(&self, y: f64) -> usize {
        self.dot_y(y) / DOWN
    }

    /// The axis and its labels, two lines, and its name.
    fn x_axis(&self, of: &Axis) -> String {
        let columns = self.columns;
        let mut axis = vec!['─'; columns];
        let mut labels = String::new();
        for tick in self.x_ticks() {
            let column = self.dot_x(tick) / ACROSS;
            let text = of.text(tick);
            let start = column.saturating_sub(text.len() / 2);
            let taken = if labels.is_empty() { 0 } else { labels.len() + 2 };
            if start < taken || start + text.len() > columns + 4 {
                continue;
            }
            axis[column] = '┬';
            labels = format!("{labels:start$}{text}");
        }
        let axis: String = axis.into_iter().collect();
        let title = of.title();
        format!("{:LABEL$} └{axis}\n{:LABEL$}  {labels}\n{:LABEL$}  {title:>columns$}", "", "", "")
    }

    /// Powers of two, with steps between where there is room for them.
    fn x_ticks(&self) -> Vec<f64> {
        let (from, to) = (self.x.low.log2(), self.x.high.log2());
        let (step, between): (f64, &[f64]) = match to - from {
            octaves if octaves < 3.0 => (1.0, &[1.0, 1.25, 1.5, 1.75]),
            octaves if octaves < 7.0 => (1.0, &[1.0, 1.5]),
            octaves => ((octaves / 12.0).ceil(), &[1.0]),
        };
        (from.floor() as i32..=to.ceil() as i32)
            .step_by(step as usize)
            .flat_map(|power| between.iter().map(move |factor| factor * f64::from(power).exp2()))
            .filter(|tick| (-1e-9..=1.0 + 1e-9).contains(&self.x.share(*tick)))
            .collect()
    }
}

/// What is drawn, line by line: a sign per place, which may be one of braille dots, and the series it belongs to.
struct Canvas {
    columns: usize,
    places: Vec<(char, usize)>,
}

/// The braille sign without dots.
const BLANK: char = '\u{2800}';

impl Canvas {
    fn curve(&mut self, frame: &Frame, look: Look, points: &[[f64; 4]], series: usize) {
        let mut last: Option<(usize, usize)> = None;
        for pair in points.windows(2) {
            let ([first, end], [from, to]) =
                ([0, 1].map(|at| frame.dot_x(pair[at][0])), [0, 1].map(|at| frame.y.share(pair[at][1])));
            // Where two pieces meet, and many points are in one column, the first counts.
            for column in last.map_or(first, |(column, _)| first.max(column + 1))..=end {
                let share = (column - first) as f64 / (end - first).max(1) as f64;
                let row = place(1.0 - (from + share * (to - from)), HEIGHT * DOWN);
                // Where the curve is steep, the dots between are set too.
                let next = match last {
                    Some((_, last)) if last < row => last + 1,
                    Some((_, last)) if last > row => last - 1,
                    _ => row,
                };
                match look {
                    Look::Solid => (row.min(next)..=row.max(next)).for_each(|row| self.dot(column, row, series)),
                    _ if column % 4 == 0 => self.dot(column, row, series),
                    _ => {}
                }
                last = Some((column, row));
            }
        }
    }

    fn points(&mut self, frame: &Frame, sign: char, points: &[[f64; 4]], series: usize) {
        for [x, y, ..] in points {
            self.places[frame.row(*y) * self.columns + frame.dot_x(*x) / ACROSS] = (sign, series);
        }
    }

    fn dot(&mut self, column: usize, row: usize, series: usize) {
        // The bits of a braille sign: three dots down, left and right, then the lowest row.
        const BITS: [[u8; DOWN]; ACROSS] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let place = &mut self.places[(row / DOWN) * self.columns + column / ACROSS];
        let dots = u32::from(place.0) | u32::from(BITS[column % ACROSS][row % DOWN]);
        *place = (char::from_u32(dots).unwrap_or('.'), series);
    }

    fn row(&self, row: usize, screen: Screen) -> String {
        let text = |&(sign, series): &(char, usize)| match sign {
            BLANK => " ".to_owned(),
            sign => paint(&sign.to_string(), series, screen),
        };
        let text: String = self.places[row * self.columns..][..self.columns].iter().map(text).collect();
        text.trim_end().to_owned()
    }
}

/// The place of `share` (0 to 1) among `count`.
fn place(share: f64, count: usize) -> usize {
    (share.clamp(0.0, 1.0) * (count - 1) as f64).round() as usize
}

fn paint(text: &str, series: usize, screen: Screen) -> String {
    screen.escape(text, &COLOURS[series % COLOURS.len()].to_string())
}

#[cfg(test)]
#[path = "plot_tests.rs"]
mod tests;
