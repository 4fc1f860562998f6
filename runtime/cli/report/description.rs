//! The machine that a result was measured on.

use std::fs;

use serde::{Deserialize, Serialize};

/// What a result depends on besides the program. Goes beside every measured number.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct MachineDescription {
    /// The cores this process may use.
    pub cores: usize,
    /// The operating system's kernel: name and release.
    pub kernel: String,
    /// TCP's congestion control for new connections.
    pub congestion_control: String,
}

impl MachineDescription {
    /// This machine. What cannot be found out is "unknown".
    pub(crate) fn here() -> Self {
        let read = |path, unknown: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            if text.trim().is_empty() { unknown.to_owned() } else { text.trim().to_owned() }
        };
        let kernel = read("/proc/sys/kernel/ostype", std::env::consts::OS);
        MachineDescription {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: format!("{kernel} {}", read("/proc/sys/kernel/osrelease", "unknown")),
            congestion_control: read("/proc/sys/net/ipv4/tcp_congestion_control", "unknown"),
        }
    }
}
