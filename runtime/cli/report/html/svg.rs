//! Charts as inline SVG: lines, points, ranges, axes. Colours are the page's style.

use std::fmt::Write as _;

use super::markup::escaped;
use crate::report::axis::{self, Range};

pub(super) use crate::report::axis::{Axis, round_steps, short};

/// A chart with its curves.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    x: (String, Axis, fn(f64) -> String),
    y: (String, Axis, fn(f64) -> String),
    series: Vec<Series>,
}

#[derive(Clone, Debug)]
struct Series {
    name: String,
    is_line: bool,
    /// x, y, least y, greatest y.
    points: Vec<[f64; 4]>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 330.0;
/// Where the axes lie.
const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = HEIGHT - 46.0;

impl Chart {
    pub(super) fn new(x: (&str, Axis), y: (&str, Axis)) -> Self {
        Chart { x: (x.0.to_owned(), x.1, short), y: (y.0.to_owned(), y.1, short), series: Vec::new() }
    }

    /// How the values on the axes are written.
    pub(super) fn written(mut self, x: fn(f64) -> String, y: fn(f64) -> String) -> Self {
        (self.x.2, self.y.2) = (x, y);
        self
    }

    pub(super) fn line(self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.with(name, true, points.into_iter().map(|(x, y)| [x, y, y, y]))
    }

    /// Points with the range that they were seen in.
    pub(super) fn points(self, name: &str, points: impl IntoIterator<Item = [f64; 4]>) -> Self {
        self.with(name, false, points)
    }

    /// What cannot be drawn is left out.
    fn with(mut self, name: &str, is_line: bool, points: impl IntoIterator<Item = [f64; 4]>) -> Self {
        let shows = |[x, ys @ ..]: &[f64; 4]| self.x.1.shows(*x) && ys.iter().all(|y| self.y.1.shows(*y));
        let points: Vec<[f64; 4]> = points.into_iter().filter(shows).collect();
        if !points.is_empty() {
            self.series.push(Series { name: name.to_owned(), is_line, points });
        }
        self
    }

    /// The picture, or nothing if there is nothing to draw.
    pub(super) fn render(&self) -> String {
        let all = || self.series.iter().flat_map(|series| &series.points);
        let (x, y) = (self.x.1.range(all().map(|point| point[0])), self.y.1.range(all().flat_map(|[_, ys @ ..]| *ys)));
        let (Some(x), Some(y)) = (x, y) else { return String::new() };
        let frame = Frame { x: x.with_room(), y: y.with_room() };
        let mut svg = format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n");
        self.axes(&mut svg, &frame);
        for (number, series) in self.series.iter().enumerate() {
            series.draw(&mut svg, number, &frame);
        }
        svg.push_str("</svg>\n");
        let mut legend = String::from("<p class=\"legend\">");
        for (number, series) in self.series.iter().enumerate() {
            let sign = if series.is_line { "&#9473;&#9473;" } else { "&#9679;" };
            // Writing to a string cannot fail.
            let _ = write!(legend, "<span><b class=\"s{number}\">{sign}</b> {}</span> ", escaped(&series.name));
        }
        svg + &legend + "</p>\n"
    }

    fn axes(&self, svg: &mut String, frame: &Frame) {
        for tick in frame.x.ticks() {
            *svg += &upright(frame.x(tick), TOP, BOTTOM, &(self.x.2)(tick));
        }
        for tick in frame.y.ticks() {
            let at = frame.y(tick);
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/><text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                escaped(&(self.y.2)(tick))
            );
        }
        let (middle, half) = (f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM));
        let _ = writeln!(
            svg,
            "<text class=\"mid\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"mid\" transform=\"translate(13 {half:.1}) rotate(-90)\">{}</text>",
            HEIGHT - 8.0,
            escaped(&self.x.0),
            escaped(&self.y.0)
        );
    }
}

/// An upright line of the grid, with a label below.
pub(super) fn upright(x: f64, top: f64, bottom: f64, label: &str) -> String {
    format!(
        "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom:.1}\"/><text class=\"mid\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>\n",
        bottom + 14.0,
        escaped(label)
    )
}

impl Series {
    fn draw(&self, svg: &mut String, number: usize, frame: &Frame) {
        if self.is_line {
            let place = |[x, y, ..]: &[f64; 4]| format!("{:.1} {:.1}", frame.x(*x), frame.y(*y));
            let path: Vec<String> = self.points.iter().map(place).collect();
            let _ = writeln!(svg, "<path class=\"line s{number}\" d=\"M{}\"/>", path.join("L"));
            return;
        }
        for &[x, y, low, high] in &self.points {
            let (cx, cy) = (frame.x(x), frame.y(y));
            if high > low {
                let (from, to) = (frame.y(low), frame.y(high));
                let _ = write!(svg, "<path class=\"range s{number}\" d=\"M{cx:.1} {from:.1}V{to:.1}\"/>");
            }
            let _ = writeln!(
                svg,
                "<circle class=\"point s{number}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3.4\"><title>{}: {}, {}</title></circle>",
                escaped(&self.name),
                short(x),
                short(y)
            );
        }
    }
}

/// From values to places on the page.
struct Frame {
    x: Range,
    y: Range,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.share(value) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - self.y.share(value) * (BOTTOM - TOP)
    }
}

/// Bytes: 512, 4 K, 1 M.
pub(super) fn size(bytes: f64) -> String {
    axis::size(bytes, " ")
}

/// Seconds with their unit: three digits that count.
pub(super) fn time(seconds: f64) -> String {
    let (unit, value) = match seconds.abs() {
        size if size >= 0.9995 => ("s", seconds),
        size if size >= 0.9995e-3 => ("ms", seconds * 1e3),
        size if size >= 0.9995e-6 => ("us", seconds * 1e6),
        _ => ("ns", seconds * 1e9),
    };
    let places = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.places$}");
    let text = if places > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_axes_curves_and_a_legend() {
        let svg = Chart::new(("gamma", Axis::Log(2)), ("G <measured>", Axis::Linear))
            .line("model", [(0.25, 1.2), (1.0, 1.9), (4.0, 1.2)])
            .points("seen", [[1.0, 1.8, 1.7, 1.85], [f64::NAN, 1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, 1.0]])
            .render();
        assert_eq!(svg.matches("<circle").count(), 1, "what cannot be drawn is left out: {svg}");
        assert!(svg.contains("class=\"line s0\"") && svg.contains("class=\"range s1\""), "{svg}");
        assert!(svg.contains(">0.25<") && svg.contains(">4<") && svg.contains("G &lt;measured&gt;"), "{svg}");
        assert!(!svg.contains("NaN") && svg.ends_with("</p>\n"), "{svg}");
        assert_eq!(Chart::new(("x", Axis::Linear), ("y", Axis::Linear)).render(), "");
    }

    #[test]
    fn one_value_is_drawn_too() {
        for axis in [Axis::Linear, Axis::Log(10)] {
            let svg = Chart::new(("x", axis), ("y", axis)).line("one", [(3.0, 3.0)]).render();
            assert!(svg.contains("<path class=\"line s0\"") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn times_are_readable() {
        assert_eq!([2e-6, 0.01234, 3.0, 5e-9, 0.6394].map(time), ["2 us", "12.3 ms", "3 s", "5 ns", "639 ms"]);
        assert_eq!([0.0, 200e-6, 999.9e-6].map(time), ["0 ns", "200 us", "1 ms"]);
    }
}
