//! Sockets: joining the job, and the task that moves the bytes.

pub(crate) mod greeting;
pub(crate) mod mesh;
