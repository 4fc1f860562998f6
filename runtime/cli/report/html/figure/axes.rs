//! The axes of figures: from values to places, and ticks with their units.

use super::text;
use crate::report::axis::{Range, short};
use crate::report::format::{self, Form};
use crate::report::results::Axis;

/// A value in the unit of its axis, as it stands at a tick or in a tooltip.
pub(super) fn value(axis: &Axis, value: f64) -> String {
    match axis.form {
        Form::Bytes => format::bytes(value),
        Form::Seconds => format::seconds(value),
        Form::Rate => format!("{} MB/s", format::plain(1e-6 * value)),
        Form::Percent(_) | Form::SignedPercent(_) => format!("{} %", format::plain(100.0 * value)),
        Form::SecondsPerByte => format!("{}/byte", format::seconds(value)),
        Form::Count => format::grouped(value),
        _ => format::plain(value),
    }
}

/// A value at a tick: without what the axis' title says.
fn tick(axis: &Axis, at: f64) -> String {
    match axis.form {
        Form::Rate => short(1e-6 * at),
        Form::Seconds | Form::Bytes | Form::Percent(_) | Form::SignedPercent(_) | Form::SecondsPerByte => {
            value(axis, at)
        }
        Form::Count => format::grouped(at),
        _ => short(at),
    }
}

/// An axis from left to right, with a grid, ticks and a title below.
pub(super) struct Across<'a> {
    pub(super) axis: &'a Axis,
    pub(super) range: Range,
    pub(super) left: f64,
    pub(super) right: f64,
}

impl Across<'_> {
    pub(super) fn place(&self, value: f64) -> f64 {
        self.left + self.range.share(value) * (self.right - self.left)
    }

    /// The grid between two heights, and what stands below it. `whole`: the figure's width.
    pub(super) fn draw(&self, top: f64, bottom: f64, whole: f64) -> String {
        let mut svg = format!("<path class=\"axis\" d=\"M{:.1} {bottom:.1}H{:.1}\"/>\n", self.left, self.right);
        for at in self.ticks() {
            let (x, label) = (self.place(at), tick(self.axis, at));
            let half = 0.5 * text::width(&label);
            // At the edge the label is moved inwards.
            let middle = x.clamp(half, (whole - half).max(half));
            svg += &format!("<path class=\"grid\" d=\"M{x:.1} {top:.1}V{:.1}\"/>", bottom + 4.0);
            svg += &text::at("mid tick-x", middle, bottom + 17.0, &label);
        }
        let title = text::fitted(&self.axis.title(), whole - self.left);
        let half = 0.5 * text::width(&title);
        let middle = f64::midpoint(self.left, self.right).clamp(half, (whole - half).max(half));
        svg + &text::at("mid ink", middle, bottom + 36.0, &title)
    }

    /// So many ticks as have room for their labels.
    fn ticks(&self) -> Vec<f64> {
        let fits = |most: &usize| {
            let ticks = self.range.ticks(*most);
            let places: Vec<(f64, f64)> =
                ticks.iter().map(|at| (self.place(*at), text::width(&tick(self.axis, *at)))).collect();
            places.windows(2).all(|pair| pair[0].0 + 0.5 * (pair[0].1 + pair[1].1) + 10.0 <= pair[1].0)
        };
        let most = (3..=8).rev().find(fits).unwrap_or(3);
        self.range.ticks(most)
    }
}

/// The height of what stands below the grid of an axis from left to right.
pub(super) const BELOW: f64 = 42.0;

/// An axis upwards, with a grid, ticks, and a title above.
pub(super) struct Upwards<'a> {
    pub(super) axis: &'a Axis,
    pub(super) range: Range,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Upwards<'_> {
    pub(super) fn place(&self, value: f64) -> f64 {
        self.bottom - self.range.share(value) * (self.bottom - self.top)
    }

    /// The room that labels need on the left.
    pub(super) fn room(&self) -> f64 {
        self.ticks().iter().map(|at| text::width(&tick(self.axis, *at))).fold(24.0, f64::max) + 8.0
    }

    /// The grid between two places, labels on its left, and the title above.
    pub(super) fn draw(&self, left: f64, right: f64) -> String {
        let title = text::fitted(&self.axis.title(), right);
        let mut svg = text::at("ink", 0.0, self.top - 14.0, &title);
        svg += &format!("<path class=\"axis\" d=\"M{left:.1} {:.1}V{:.1}\"/>\n", self.top, self.bottom);
        for at in self.ticks() {
            let y = self.place(at);
            svg += &format!("<path class=\"grid\" d=\"M{:.1} {y:.1}H{right:.1}\"/>", left - 4.0);
            svg += &text::at("end tick-y", left - 6.0, y + 4.0, &tick(self.axis, at));
        }
        svg
    }

    fn ticks(&self) -> Vec<f64> {
        self.range.ticks(((self.bottom - self.top) / 30.0) as usize)
    }
}

/// What an axis shows, in words.
pub(super) fn in_words(name: &str, axis: &Axis, range: &Range) -> String {
    format!("{name}: {}, {} to {}", axis.title(), value(axis, range.low), value(axis, range.high))
}
