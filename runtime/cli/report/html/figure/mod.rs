//! Figures: inline SVG on the page, and pictures of their own. A file for each kind: curves and points, rows of marks, stacked
//! bars, a matrix.

mod axes;
pub(super) mod bars;
mod chart;
pub(super) mod drawing;
pub(super) mod heat;
mod mark;
pub(super) mod rows;
mod text;
pub(super) mod timeline;

use drawing::{Draw, Drawn};

use super::markup::escaped;
use super::style;

/// A figure with its title.
pub(super) struct Figure {
    pub(super) title: String,
    drawing: Box<dyn Draw>,
}

/// The widths in which figures are drawn, so that their texts have a size that can be read on a phone too.
const WIDE: f64 = 720.0;
const SLIM: f64 = 358.0;

impl Figure {
    pub(super) fn new(title: impl Into<String>, drawing: impl Draw + 'static) -> Self {
        Figure { title: title.into(), drawing: Box::new(drawing) }
    }

    /// Inline, in both widths, of which the page's style shows one. `id` is the figure's only.
    pub(super) fn html(&self, id: &str) -> String {
        let svg = |class: &str, width: f64| {
            let drawn = self.drawing.draw(width);
            let least = if class == "wide" && !self.drawing.is_wide() || drawn.width <= width && class != "whole" {
                String::new()
            } else {
                format!(" style=\"min-width:{:.0}px\"", drawn.width)
            };
            let head = format!("class=\"{class}\"{least} aria-describedby=\"{id}-{class}\"");
            self.svg(&drawn, &head, &format!("<desc id=\"{id}-{class}\">{}</desc>\n", escaped(&self.drawing.about())))
        };
        let drawings = if self.drawing.is_wide() { svg("whole", WIDE) } else { svg("wide", WIDE) + &svg("slim", SLIM) };
        let title = escaped(&self.title);
        format!(
            "<figure id=\"{id}\">\n<figcaption>{title}</figcaption>\n<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{title}\">{drawings}</div>\n</figure>\n"
        )
    }

    /// A picture of its own, on white.
    pub(super) fn picture(&self) -> String {
        let Drawn { width, height, body } = self.drawing.draw(WIDE);
        // A title above, and a margin.
        let (margin, above) = (12.0, 26.0);
        let body = format!(
            "<rect class=\"back\" x=\"-{margin}\" y=\"-{above}\" width=\"{:.0}\" height=\"{:.0}\"/>\n\
             <text class=\"ink\" font-weight=\"600\" x=\"0\" y=\"-8\">{}</text>\n{body}",
            width + 2.0 * margin,
            height + above + margin,
            escaped(&text::fitted(&self.title, width))
        );
        let (width, height) = (width + 2.0 * margin, height + above + margin);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"-{margin} -{above} {width:.0} {height:.0}\" \
             role=\"img\" aria-label=\"{}\">\n<desc>{}</desc>\n<style>\n{}</style>\n{body}</svg>\n",
            escaped(&self.title),
            escaped(&self.drawing.about()),
            style::of_figure()
        )
    }

    /// See [`Draw::values`].
    pub(super) fn values(&self) -> Vec<Vec<String>> {
        self.drawing.values()
    }

    fn svg(&self, drawn: &Drawn, head: &str, inside: &str) -> String {
        let Drawn { width, height, body } = drawn;
        let label = escaped(&self.title);
        format!(
            "<svg {head} viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{label}\">\n{inside}{body}</svg>\n"
        )
    }
}
