//! Values of options, in the one grammar of variables and options, with the bounds that several commands share. Pure.

use lathide::launcher::handshake::SocketBuffer;
use lathide::launcher::quantity::{Quantity, SIZE, Scalar, TIME, WHOLE};
use std::time::Duration;

/// A list that is one option's value. (To clap, a field of the type `Vec` is an option that is given several times.)
pub(crate) type List<T> = Vec<T>;

/// What reads one value of that kind.
pub(crate) fn one<T: Scalar>(quantity: Quantity) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text: &str| quantity.one(text)
}

/// What reads a list of that kind.
pub(crate) fn list<T: Scalar>(
    quantity: Quantity,
) -> impl Fn(&str) -> Result<List<T>, String> + Clone + Send + Sync + 'static {
    move |text: &str| quantity.list(text)
}

/// Message sizes to measure with.
pub(crate) fn message_sizes(text: &str) -> Result<List<usize>, String> {
    SIZE.within("1B", "256MiB").list(text)
}

/// About how long a measurement may take.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    TIME.within("0.1s", "24h").one(text)
}

/// How often something is measured.
pub(crate) fn repeats(text: &str) -> Result<u32, String> {
    WHOLE.within("1", "1000").one(text)
}

/// Sizes of socket buffers; `default` is none.
pub(crate) fn socket_buffers(text: &str) -> Result<List<Option<u32>>, String> {
    text.split(',').map(SocketBuffer::read).collect()
}

/// A time limit of a job.
pub(crate) fn limit(text: &str) -> Result<Duration, String> {
    TIME.within("1ns", "8784h").one(text)
}
