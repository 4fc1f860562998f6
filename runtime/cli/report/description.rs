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
        let read =
            |path| fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let release = read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned());
        MachineDescription {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: format!(
                "{} {release}",
                read("/proc/sys/kernel/ostype").unwrap_or_else(|| std::env::consts::OS.to_owned())
            ),
            congestion_control: read("/proc/sys/net/ipv4/tcp_congestion_control")
                .unwrap_or_else(|| "unknown".to_owned()),
        }
    }
}
