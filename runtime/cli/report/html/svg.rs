//! Charts as inline SVG: lines, points, ranges, axes. Colours are the page's style.

use std::fmt::Write as _;

use super::markup::escaped;

/// How values lie along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Axis {
    Linear,
    /// Each tick is so many times the one before.
    Log(u32),
}

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
/// Left, right, top, bottom.
const MARGIN: [f64; 4] = [62.0, 14.0, 14.0, 46.0];

impl Chart {
    pub(super) fn new(x: (&str, Axis), y: (&str, Axis)) -> Self {
        Chart { x: (x.0.to_owned(), x.1, short), y: (y.0.to_owned(), y.1, short), series: Vec::new() }
    }

    /// How the values on the axes are written.
    pub(super) fn written(mut self, x: fn(f64) -> String, y: fn(f64) -> String) -> Self {
        (self.x.2, self.y.2) = (x, y);
        self
    }

    pub(super) fn line(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| [x, y, y, y]);
        self.add(name, true, points);
        self
    }

    /// Points with the range that they were seen in.
    pub(super) fn points(mut self, name: &str, points: impl IntoIterator<Item = [f64; 4]>) -> Self {
        self.add(name, false, points);
        self
    }

    fn add(&mut self, name: &str, is_line: bool, points: impl IntoIterator<Item = [f64; 4]>) {
        // What cannot be drawn is left out, and what is beyond anything that is measured.
        let fits = |value: f64, axis: Axis| value.abs() < 1e100 && (axis == Axis::Linear || value > 1e-100);
        let (x, y) = (self.x.1, self.y.1);
        let points: Vec<[f64; 4]> = points
            .into_iter()
            .filter(|point| fits(point[0], x) && point[1..].iter().all(|value| fits(*value, y)))
            .collect();
        if !points.is_empty() {
            self.series.push(Series { name: name.to_owned(), is_line, points });
        }
    }

    /// The picture, or nothing if there is nothing to draw.
    pub(super) fn render(&self) -> String {
        let all = || self.series.iter().flat_map(|series| &series.points);
        let (Some(x), Some(y)) = (
            Scale::over(all().map(|point| point[0]), self.x.1, MARGIN[0], WIDTH - MARGIN[1]),
            Scale::over(all().flat_map(|point| point[1..].to_vec()), self.y.1, HEIGHT - MARGIN[3], MARGIN[2]),
        ) else {
            return String::new();
        };
        let mut svg = format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n");
        self.axes(&mut svg, &x, &y);
        for (number, series) in self.series.iter().enumerate() {
            series.draw(&mut svg, number, &x, &y);
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

    fn axes(&self, svg: &mut String, x: &Scale, y: &Scale) {
        let [left, right, top, bottom] = [MARGIN[0], WIDTH - MARGIN[1], MARGIN[2], HEIGHT - MARGIN[3]];
        for tick in x.ticks() {
            let at = x.place(tick);
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/><text class=\"mid\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 16.0,
                escaped(&(self.x.2)(tick))
            );
        }
        for tick in y.ticks() {
            let at = y.place(tick);
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/><text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left - 6.0,
                at + 4.0,
                escaped(&(self.y.2)(tick))
            );
        }
        let (middle, half) = (f64::midpoint(left, right), f64::midpoint(top, bottom));
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

impl Series {
    fn draw(&self, svg: &mut String, number: usize, x: &Scale, y: &Scale) {
        if self.is_line {
            let mut path = String::new();
            for (at, [px, py, ..]) in self.points.iter().enumerate() {
                let step = if at == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{step}{:.1} {:.1}", x.place(*px), y.place(*py));
            }
            let _ = writeln!(svg, "<path class=\"line s{number}\" d=\"{path}\"/>");
            return;
        }
        for [px, py, low, high] in &self.points {
            let (cx, cy) = (x.place(*px), y.place(*py));
            if high > low {
                let (from, to) = (y.place(*low), y.place(*high));
                let _ = write!(svg, "<path class=\"range s{number}\" d=\"M{cx:.1} {from:.1}V{to:.1}\"/>");
            }
            let _ = writeln!(
                svg,
                "<circle class=\"point s{number}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3.4\"><title>{}: {}, {}</title></circle>",
                escaped(&self.name),
                short(*px),
                short(*py)
            );
        }
    }
}

/// From values to places on the page.
struct Scale {
    axis: Axis,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Over all values, with a little room; `None` without any.
    fn over(values: impl Iterator<Item = f64>, axis: Axis, from: f64, to: f64) -> Option<Self> {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        let (low, high) = match axis {
            Axis::Log(_) => (low / 1.08, high * 1.08),
            Axis::Linear => {
                let room = (0.06 * (high - low)).max(1e-9 * high.abs()).max(f64::MIN_POSITIVE);
                (low - room, high + room)
            }
        };
        Some(Scale { axis, low, high, from, to })
    }

    fn place(&self, value: f64) -> f64 {
        let share = match self.axis {
            Axis::Linear => (value - self.low) / (self.high - self.low),
            Axis::Log(_) => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        match self.axis {
            Axis::Linear => round_steps(self.low, self.high),
            Axis::Log(base) => {
                let base = f64::from(base);
                let power = |value: f64| value.ln() / base.ln();
                let (first, last) = (power(self.low).ceil() as i32, power(self.high).floor() as i32);
                // Not more than can be read.
                let stride = ((last - first) / 9 + 1).max(1) as usize;
                (first..=last).step_by(stride).map(|at| base.powi(at)).collect()
            }
        }
    }
}

/// Some round values between two, evenly.
pub(super) fn round_steps(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    if rough <= 0.0 {
        return Vec::new();
    }
    let power = 10.0_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|of| of * power).find(|step| *step >= rough).unwrap_or(rough);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|at| at as f64 * step).collect()
}

/// About three digits.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bytes: 512, 4 K, 1 M.
pub(super) fn size(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= 1_048_576.0 => format!("{} M", short(bytes / 1_048_576.0)),
        bytes if bytes >= 1024.0 => format!("{} K", short(bytes / 1024.0)),
        bytes => short(bytes),
    }
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
    fn places_and_ticks() {
        let scale = Scale::over([0.0, 10.0].into_iter(), Axis::Linear, 0.0, 112.0).unwrap();
        assert!((scale.place(5.0) - 56.0).abs() < 1e-9);
        assert_eq!(scale.ticks(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(round_steps(3.0, 3.0), Vec::<f64>::new());
        let scale = Scale::over([8.0, 1024.0].into_iter(), Axis::Log(2), 0.0, 1.0).unwrap();
        assert_eq!(scale.ticks(), [8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0]);
        assert!(Scale::over([1.0, 1e30].into_iter(), Axis::Log(2), 0.0, 1.0).unwrap().ticks().len() <= 11);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0.5, 100.0, 1.23456, 2e9, 0.0].map(short), ["0.5", "100", "1.235", "2e9", "0"]);
        assert_eq!([8.0, 4096.0, 1_048_576.0].map(size), ["8", "4 K", "1 M"]);
        assert_eq!([2e-6, 0.01234, 3.0, 5e-9, 0.6394].map(time), ["2 us", "12.3 ms", "3 s", "5 ns", "639 ms"]);
        assert_eq!([0.0, 200e-6, 999.9e-6].map(time), ["0 ns", "200 us", "1 ms"]);
    }
}
