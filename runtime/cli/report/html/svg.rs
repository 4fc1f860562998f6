//! Charts as inline SVG: lines, points, ranges, axes. Colours are the page's style.

use std::fmt::Write as _;

use super::markup::escaped;
use crate::report::axis::{Range, short};
use crate::report::results::{Chart, Look, Series};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 330.0;
/// Where the axes lie.
const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = HEIGHT - 46.0;

/// The picture, or nothing if there is nothing to draw.
pub(super) fn render(chart: &Chart) -> String {
    let Some((series, x, y)) = chart.drawn() else { return String::new() };
    let frame = Frame { x: x.with_room(), y: y.with_room() };
    let mut svg = format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n");
    axes(&mut svg, chart, &frame);
    let mut legend = String::from("<p class=\"legend\">");
    for (number, series) in series.iter().enumerate().filter(|(_, series)| !series.points.is_empty()) {
        draw(&mut svg, series, number, &frame);
        let sign = if series.look == Look::Points { "&#9679;" } else { "&#9473;&#9473;" };
        // Writing to a string cannot fail.
        let _ = write!(legend, "<span><b class=\"s{number}\">{sign}</b> {}</span> ", escaped(&series.name));
    }
    format!("{svg}</svg>\n{legend}</p>\n")
}

fn axes(svg: &mut String, chart: &Chart, frame: &Frame) {
    for tick in frame.x.ticks() {
        *svg += &upright(frame.x(tick), TOP, BOTTOM, &chart.x.text(tick));
    }
    for tick in frame.y.ticks() {
        let at = frame.y(tick);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/><text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            escaped(&chart.y.text(tick))
        );
    }
    let (middle, half) = (f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM));
    let _ = writeln!(
        svg,
        "<text class=\"mid\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>\
         <text class=\"mid\" transform=\"translate(13 {half:.1}) rotate(-90)\">{}</text>",
        HEIGHT - 8.0,
        escaped(&chart.x.title()),
        escaped(&chart.y.title())
    );
}

/// An upright line of the grid, with a label below.
pub(super) fn upright(x: f64, top: f64, bottom: f64, label: &str) -> String {
    format!(
        "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom:.1}\"/><text class=\"mid\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>\n",
        bottom + 14.0,
        escaped(label)
    )
}

fn draw(svg: &mut String, series: &Series, number: usize, frame: &Frame) {
    if series.look != Look::Points {
        let place = |[x, y, ..]: &[f64; 4]| format!("{:.1} {:.1}", frame.x(*x), frame.y(*y));
        let path: Vec<String> = series.points.iter().map(place).collect();
        let _ = writeln!(svg, "<path class=\"line s{number}\" d=\"M{}\"/>", path.join("L"));
        return;
    }
    for &[x, y, low, high] in &series.points {
        let (cx, cy) = (frame.x(x), frame.y(y));
        if high > low {
            let (from, to) = (frame.y(low), frame.y(high));
            let _ = write!(svg, "<path class=\"range s{number}\" d=\"M{cx:.1} {from:.1}V{to:.1}\"/>");
        }
        let _ = writeln!(
            svg,
            "<circle class=\"point s{number}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3.4\"><title>{}: {}, {}</title></circle>",
            escaped(&series.name),
            short(x),
            short(y)
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::results::{Axis, Form};

    #[test]
    fn a_chart_has_axes_curves_and_a_legend() {
        let axes = (Axis::log("gamma", Form::Plain), Axis::linear("G <measured>", Form::Plain));
        let chart = Chart::new(axes.0, axes.1)
            .curve("model", Look::Solid, [(0.25, 1.2), (1.0, 1.9), (4.0, 1.2)])
            .points("seen", vec![[1.0, 1.8, 1.7, 1.85], [f64::NAN, 1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, 1.0]]);
        let svg = render(&chart);
        assert_eq!(svg.matches("<circle").count(), 1, "what cannot be drawn is left out: {svg}");
        assert!(svg.contains("class=\"line s0\"") && svg.contains("class=\"range s1\""), "{svg}");
        assert!(svg.contains(">0.25<") && svg.contains(">4<") && svg.contains("G &lt;measured&gt;"), "{svg}");
        assert!(!svg.contains("NaN") && svg.ends_with("</p>\n"), "{svg}");
    }

    #[test]
    fn one_value_is_drawn_too() {
        for axis in [Axis::linear("x", Form::Plain), Axis::log("x", Form::Seconds)] {
            let empty = Chart::new(axis.clone(), axis);
            assert_eq!(render(&empty), "");
            let svg = render(&empty.curve("one", Look::Solid, [(3.0, 3.0)]));
            assert!(svg.contains("<path class=\"line s0\"") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
