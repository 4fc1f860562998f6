//! What every kind of figure can do.

/// A kind of figure.
pub(in super::super) trait Draw {
    /// Drawn in about this width, in units that are pixels at most places.
    fn draw(&self, width: f64) -> Drawn;

    /// What it shows, in words for who does not see it.
    fn about(&self) -> String;

    /// Its values: a row of names, and rows of values in seconds, bytes and bytes per second.
    fn values(&self) -> Vec<Vec<String>>;

    /// Whether it is drawn once, as wide as it has to be, and scrolls where there is less room.
    fn is_wide(&self) -> bool {
        false
    }
}

/// A drawing.
pub(in super::super) struct Drawn {
    pub(in super::super) width: f64,
    pub(in super::super) height: f64,
    /// SVG elements.
    pub(in super::super) body: String,
}
