//! Curves for a terminal: braille dots for curves, one sign per series of points, axes with labels.
//!
//! Series are told apart by their dots and signs, so a chart reads the same without colour.

use std::fmt::Write as _;

use super::WIDTH;

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
        Chart { x_text: size, ..self }
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
        let mut canvas = Canvas::new();
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
        let points = points.into_iter().filter(|(x, y)| *x > 0.0 && x.is_finite() && y.is_finite()).collect();
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

/// The ranges of the axes and where they are labelled.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
    y_ticks: Vec<f64>,
}

impl Frame {
    fn around(series: &[Series]) -> Option<Self> {
        let all = || series.iter().flat_map(|series| &series.points);
        let range = |of: fn(&(f64, f64)) -> f64| {
            all().map(of).fold(None, |range: Option<(f64, f64)>, value| match range {
                Some((low, high)) => Some((low.min(value), high.max(value))),
                None => Some((value, value)),
            })
        };
        let mut x = range(|point| point.0.log2())?;
        let mut y = range(|point| point.1)?;
        if x.1 - x.0 < 1e-9 {
            x = (x.0 - 1.0, x.1 + 1.0);
        }
        if y.1 - y.0 < 1e-9 * y.1.abs().max(1.0) {
            y = (y.0 - 0.5, y.1 + 0.5);
        }
        let step = nice_step((y.1 - y.0) / 6.0);
        let (low, high) = ((y.0 / step).floor(), (y.1 / step).ceil());
        let y_ticks = (0..=(high - low) as usize).map(|tick| (low + tick as f64) * step).collect();
        Some(Frame { x, y: (low * step, high * step), y_ticks })
    }

    /// The dot column of `x`.
    fn dot_x(&self, x: f64) -> usize {
        scale((x.log2() - self.x.0) / (self.x.1 - self.x.0), COLUMNS * ACROSS)
    }

    /// The dot row of `y`, from the top.
    fn dot_y(&self, y: f64) -> usize {
        scale((self.y.1 - y) / (self.y.1 - self.y.0), HEIGHT * DOWN)
    }

    fn row(&self, y: f64) -> usize {
        self.dot_y(y) / DOWN
    }

    /// The axis and its labels, two lines.
    fn x_axis(&self, label: &str, text: fn(f64) -> String) -> String {
        let mut axis = vec!['─'; COLUMNS];
        let mut labels = vec![' '; COLUMNS + 4];
        let mut free_from = 0;
        for tick in self.x_ticks() {
            let column = self.dot_x(tick) / ACROSS;
            let text = text(tick);
            let start = column.saturating_sub(text.len() / 2);
            if start < free_from || start + text.len() > labels.len() {
                continue;
            }
            axis[column] = '┬';
            labels.splice(start..start + text.len(), text.chars());
            free_from = start + text.len() + 2;
        }
        let labels: String = labels.into_iter().collect();
        let axis: String = axis.into_iter().collect();
        let label = format!("{:>width$}", label, width = COLUMNS.max(label.len()));
        format!("{:LABEL$} └{axis}\n{:LABEL$}  {}\n{:LABEL$}  {}", "", "", labels.trim_end(), "", label.trim_end())
    }

    /// Powers of two, with steps between where there is room for them.
    fn x_ticks(&self) -> Vec<f64> {
        let octaves = self.x.1 - self.x.0;
        let (step, between): (i32, &[f64]) = match octaves {
            octaves if octaves < 3.0 => (1, &[1.0, 1.25, 1.5, 1.75]),
            octaves if octaves < 7.0 => (1, &[1.0, 1.5]),
            octaves => ((octaves / 12.0).ceil() as i32, &[1.0]),
        };
        let from = self.x.0.floor() as i32;
        (from..=self.x.1.ceil() as i32)
            .step_by(step.max(1) as usize)
            .flat_map(|power| between.iter().map(move |factor| factor * f64::from(power).exp2()))
            .filter(|tick| (self.x.0 - 1e-9..=self.x.1 + 1e-9).contains(&tick.log2()))
            .collect()
    }
}

/// What is drawn: per place dots or a sign, and the series it belongs to.
struct Canvas {
    places: Vec<Place>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    dots: u8,
    sign: Option<char>,
    series: usize,
}

impl Canvas {
    fn new() -> Self {
        Canvas { places: vec![Place::default(); COLUMNS * HEIGHT] }
    }

    fn curve(&mut self, frame: &Frame, stroke: Stroke, points: &[(f64, f64)], series: usize) {
        let mut last: Option<usize> = None;
        for column in 0..COLUMNS * ACROSS {
            let share = column as f64 / (COLUMNS * ACROSS - 1) as f64;
            let x = (frame.x.0 + share * (frame.x.1 - frame.x.0)).exp2();
            let Some(y) = interpolate(points, x) else { continue };
            let row = frame.dot_y(y);
            match stroke {
                Stroke::Dotted if column % 4 < 1 => self.dot(column, row, series),
                Stroke::Dotted => {}
                Stroke::Solid => {
                    // Where the curve is steep, the dots between are set too.
                    let from = last.map_or(row, |last| if last < row { last + 1 } else { last.saturating_sub(1) });
                    for between in from.min(row)..=from.max(row) {
                        self.dot(column, between, series);
                    }
                }
            }
            last = Some(row);
        }
    }

    fn points(&mut self, frame: &Frame, sign: char, points: &[(f64, f64)], series: usize) {
        for (x, y) in points {
            let place = &mut self.places[frame.row(*y) * COLUMNS + frame.dot_x(*x) / ACROSS];
            *place = Place { dots: 0, sign: Some(sign), series };
        }
    }

    fn dot(&mut self, column: usize, row: usize, series: usize) {
        // The bits of a braille sign: three dots down, left and right, then the lowest row.
        const BITS: [[u8; DOWN]; ACROSS] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let place = &mut self.places[(row / DOWN) * COLUMNS + column / ACROSS];
        place.dots |= BITS[column % ACROSS][row % DOWN];
        place.series = series;
    }

    fn row(&self, row: usize, colour: bool) -> String {
        let mut text = String::new();
        let mut spaces = 0;
        for place in &self.places[row * COLUMNS..(row + 1) * COLUMNS] {
            let sign = match (place.sign, place.dots) {
                (Some(sign), _) => sign,
                (None, 0) => {
                    spaces += 1;
                    continue;
                }
                (None, dots) => char::from_u32(0x2800 + u32::from(dots)).unwrap_or('.'),
            };
            text.extend(std::iter::repeat_n(' ', spaces));
            spaces = 0;
            text.push_str(&paint(&sign.to_string(), place.series, colour));
        }
        text
    }
}

/// The value at `x` between the two neighbouring points; `None` outside of them.
fn interpolate(points: &[(f64, f64)], x: f64) -> Option<f64> {
    const SLACK: f64 = 1e-9;
    if let [(only, y)] = points {
        return ((only - x).abs() <= SLACK * x).then_some(*y);
    }
    points.windows(2).find_map(|pair| {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        if !(x0 * (1.0 - SLACK)..=x1 * (1.0 + SLACK)).contains(&x) {
            return None;
        }
        let share = if x1 > x0 { ((x.ln() - x0.ln()) / (x1.ln() - x0.ln())).clamp(0.0, 1.0) } else { 0.0 };
        Some(y0 + share * (y1 - y0))
    })
}

/// The place of `share` (0 to 1) among `count`.
fn scale(share: f64, count: usize) -> usize {
    ((share.clamp(0.0, 1.0) * (count - 1) as f64).round() as usize).min(count - 1)
}

/// 1, 2, 2.5 or 5 times a power of ten, at least `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9)).unwrap_or(10.0);
    factor * power
}

/// A label: at most three digits after the point, none that say nothing.
fn short(value: f64) -> String {
    if value != 0.0 && (value.abs() < 0.001 || value.abs() >= 100_000.0) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A size in bytes, for labels: binary thousands, since the ticks are powers of two.
fn size(bytes: f64) -> String {
    let (unit, sign) = match bytes {
        bytes if bytes >= 1024.0 * 1024.0 => (1024.0 * 1024.0, "M"),
        bytes if bytes >= 1024.0 => (1024.0, "K"),
        _ => (1.0, ""),
    };
    format!("{}{sign}", short(bytes / unit))
}

fn paint(text: &str, series: usize, colour: bool) -> String {
    if colour { format!("\x1b[{}m{text}\x1b[0m", COLOURS[series % COLOURS.len()]) } else { text.to_owned() }
}

#[cfg(test)]
#[path = "plot_tests.rs"]
mod tests;
