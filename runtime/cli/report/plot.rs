//! Curves for a terminal: braille dots for curves, one sign per series of points, axes with labels.
//!
//! Series are told apart by their dots and signs, so a chart reads the same without colour.

use std::fmt::Write as _;

use super::WIDTH;
use super::axis::{Axis, Range, nice_step, short, size};

/// A chart of curves and points over a logarithmic x axis.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    x_label: String,
    y_label: String,
    /// How a value on the x axis is written.
    x_text: fn(f64) -> String,
    series: Vec<Series>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stroke {
    /// A line with gaps.
    Dotted,
    /// A line.
    Solid,
}

#[derive(Clone, Debug)]
struct Series {
    name: String,
    look: Look,
    points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Look {
    Curve(Stroke),
    Points(char),
}

impl Chart {
    /// An empty chart with the names of its axes.
    pub(crate) fn new(x_label: impl Into<String>, y_label: impl Into<String>) -> Self {
        Chart { x_label: x_label.into(), y_label: y_label.into(), x_text: short, series: Vec::new() }
    }

    /// Writes the x axis's values as sizes in bytes: 512, 4K, 1M.
    pub(crate) fn x_in_bytes(self) -> Self {
        Chart { x_text: |bytes| size(bytes, ""), ..self }
    }

    /// Adds a curve through these points, which must be in the order of x. A point that is no number, or whose x
    /// is not above 0, is left out.
    pub(crate) fn curve(
        self,
        name: impl Into<String>,
        stroke: Stroke,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        self.with(name.into(), Look::Curve(stroke), points)
    }

    /// Adds points drawn as `sign`, over every curve and over the points added before. A point that is no number,
    /// or whose x is not above 0, is left out.
    pub(crate) fn points(
        self,
        name: impl Into<String>,
        sign: char,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        self.with(name.into(), Look::Points(sign), points)
    }

    /// The chart as lines of at most [`WIDTH`] columns, without a newline at the end. With `colour`, series
    /// are coloured by the terminal's escape sequences.
    pub(crate) fn render(&self, colour: bool) -> String {
        let Some(frame) = Frame::around(&self.series) else { return "(nothing to plot)".to_owned() };
        let mut canvas = Canvas(vec![(BLANK, 0); COLUMNS * HEIGHT]);
        for curves in [true, false] {
            for (number, series) in self.series.iter().enumerate() {
                match series.look {
                    Look::Curve(stroke) if curves => canvas.curve(&frame, stroke, &series.points, number),
                    Look::Points(sign) if !curves => canvas.points(&frame, sign, &series.points, number),
                    _ => {}
                }
            }
        }
        let mut text = format!("{:>LABEL$}\n", self.y_label);
        for row in 0..HEIGHT {
            match frame.y_ticks.iter().find(|tick| frame.row(**tick) == row) {
                Some(tick) => _ = write!(text, "{:>LABEL$} ┤", short(*tick)),
                None => _ = write!(text, "{:LABEL$} │", ""),
            }
            text.push_str(&canvas.row(row, colour));
            text.push('\n');
        }
        text.push_str(&frame.x_axis(&self.x_label, self.x_text));
        text.push('\n');
        text.push_str(&self.legend(colour));
        text
    }

    fn with(mut self, name: String, look: Look, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().filter(|(x, y)| Axis::Log(2).shows(*x) && Axis::Linear.shows(*y)).collect();
        self.series.push(Series { name, look, points });
        self
    }

    fn legend(&self, colour: bool) -> String {
        let mut text = " ".repeat(LABEL);
        for (number, series) in self.series.iter().enumerate() {
            let sign = match series.look {
                Look::Curve(Stroke::Solid) => "⠒⠒⠒".to_owned(),
                Look::Curve(Stroke::Dotted) => "⠂⠐⠂".to_owned(),
                Look::Points(sign) => sign.to_string(),
            };
            _ = write!(text, "  {} {}", paint(&sign, number, colour), series.name);
        }
        text
    }
}

/// Columns for the labels of the y axis.
const LABEL: usize = 6;
/// Columns and lines of the area that is drawn on.
const COLUMNS: usize = WIDTH - LABEL - 2 - 4;
const HEIGHT: usize = 18;
/// Dots in a braille sign, across and down.
const ACROSS: usize = 2;
const DOWN: usize = 4;
/// The terminal's colours for the series in turn: green, yellow, cyan, magenta, blue. Readable on dark and light.
const COLOURS: [u8; 5] = [32, 33, 36, 35, 34];

/// The axes and where the upright one is labelled.
struct Frame {
    x: Range,
    y: Range,
    y_ticks: Vec<f64>,
}

impl Frame {
    fn around(series: &[Series]) -> Option<Self> {
        let all = || series.iter().flat_map(|series| &series.points);
        let x = Axis::Log(2).range(all().map(|point| point.0))?;
        let y = Axis::Linear.range(all().map(|point| point.1))?;
        // It begins and ends at a tick.
        let step = nice_step(y.low, y.high);
        let (first, last) = ((y.low / step).floor() as i64, (y.high / step).ceil() as i64);
        let y_ticks: Vec<f64> = (first..=last).map(|at| at as f64 * step).collect();
        let y = Axis::Linear.range(y_ticks.iter().copied())?;
        Some(Frame { x, y, y_ticks })
    }

    /// The dot column of `x`.
    fn dot_x(&self, x: f64) -> usize {
        place(self.x.share(x), COLUMNS * ACROSS)
    }

    /// The dot row of `y`, from the top.
    fn dot_y(&self, y: f64) -> usize {
        place(1.0 - self.y.share(y), HEIGHT * DOWN)
    }

    fn row(&self, y: f64) -> usize {
        self.dot_y(y) / DOWN
    }

    /// The axis and its labels, two lines, and its name.
    fn x_axis(&self, label: &str, text: fn(f64) -> String) -> String {
        let mut axis = vec!['─'; COLUMNS];
        let mut labels = String::new();
        for tick in self.x_ticks() {
            let column = self.dot_x(tick) / ACROSS;
            let text = text(tick);
            let start = column.saturating_sub(text.len() / 2);
            let taken = if labels.is_empty() { 0 } else { labels.len() + 2 };
            if start < taken || start + text.len() > COLUMNS + 4 {
                continue;
            }
            axis[column] = '┬';
            labels = format!("{labels:start$}{text}");
        }
        let axis: String = axis.into_iter().collect();
        format!("{:LABEL$} └{axis}\n{:LABEL$}  {labels}\n{:LABEL$}  {label:>COLUMNS$}", "", "", "")
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
struct Canvas(Vec<(char, usize)>);

/// The braille sign without dots.
const BLANK: char = '\u{2800}';

impl Canvas {
    fn curve(&mut self, frame: &Frame, stroke: Stroke, points: &[(f64, f64)], series: usize) {
        let mut last: Option<(usize, usize)> = None;
        for pair in points.windows(2) {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            let (first, end) = (frame.dot_x(x0), frame.dot_x(x1));
            // Where two pieces meet, and many points are in one column, the first counts.
            for column in last.map_or(first, |(column, _)| first.max(column + 1))..=end {
                let share = (column - first) as f64 / (end - first).max(1) as f64;
                let row = frame.dot_y(y0 + share * (y1 - y0));
                // Where the curve is steep, the dots between are set too.
                let from = match last {
                    Some((_, last)) if last < row => last + 1,
                    Some((_, last)) if last > row => last - 1,
                    _ => row,
                };
                match stroke {
                    Stroke::Dotted if column % 4 == 0 => self.dot(column, row, series),
                    Stroke::Dotted => {}
                    Stroke::Solid => (row.min(from)..=row.max(from)).for_each(|row| self.dot(column, row, series)),
                }
                last = Some((column, row));
            }
        }
    }

    fn points(&mut self, frame: &Frame, sign: char, points: &[(f64, f64)], series: usize) {
        for (x, y) in points {
            self.0[frame.row(*y) * COLUMNS + frame.dot_x(*x) / ACROSS] = (sign, series);
        }
    }

    fn dot(&mut self, column: usize, row: usize, series: usize) {
        // The bits of a braille sign: three dots down, left and right, then the lowest row.
        const BITS: [[u8; DOWN]; ACROSS] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let place = &mut self.0[(row / DOWN) * COLUMNS + column / ACROSS];
        let dots = u32::from(place.0) | u32::from(BITS[column % ACROSS][row % DOWN]);
        *place = (char::from_u32(dots).unwrap_or('.'), series);
    }

    fn row(&self, row: usize, colour: bool) -> String {
        let text = |&(sign, series): &(char, usize)| match sign {
            BLANK => " ".to_owned(),
            sign => paint(&sign.to_string(), series, colour),
        };
        let text: String = self.0[row * COLUMNS..][..COLUMNS].iter().map(text).collect();
        text.trim_end().to_owned()
    }
}

/// The place of `share` (0 to 1) among `count`.
fn place(share: f64, count: usize) -> usize {
    (share.clamp(0.0, 1.0) * (count - 1) as f64).round() as usize
}

fn paint(text: &str, series: usize, colour: bool) -> String {
    if colour { format!("\x1b[{}m{text}\x1b[0m", COLOURS[series % COLOURS.len()]) } else { text.to_owned() }
}

#[cfg(test)]
#[path = "plot_tests.rs"]
mod tests;
