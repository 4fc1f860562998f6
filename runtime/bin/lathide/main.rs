//! lathide.
fn main() {}
