//! `lathide gain`: what overlapping calculation and communication brings, measured.
mod analysis;
mod compare;
mod output;
mod plan;
mod strip;
