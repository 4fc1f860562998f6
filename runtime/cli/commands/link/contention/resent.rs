//! What TCP has sent again on this host.

/// The segments that this host's TCP has sent again so far, of all programs; in a lab, each host has a count of its own.
/// `None` where the system does not say.
pub(super) fn resent_segments() -> Option<u64> {
    resent(&std::fs::read_to_string("/proc/self/net/snmp").ok()?)
}

/// A line of names, and one of numbers.
fn resent(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|name| name == "RetransSegs")?;
    numbers.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_table_is_understood() {
        let snmp = "Ip: Forwarding RetransSegs\nIp: 1 2\nTcp: RtoMin MaxConn InSegs RetransSegs\nTcp: 200 -1 17 42\n";
        assert_eq!(resent(snmp), Some(42));
        assert_eq!(resent("Tcp: RtoMin\nTcp: 200\n"), None);
        assert_eq!(resent(""), None);
    }
}
