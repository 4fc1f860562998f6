//! Tables and curves.
