//! lathide.
mod gain;
fn main() {}
