//! Which of a host's addresses a node uses: `eth0`, `10.0.0.0/8`, `!docker0`, or a comma-separated list of these.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// Networks and interfaces that may or may not be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interfaces {
    text: String,
    rules: Vec<Rule>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    is_excluded: bool,
    what: What,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum What {
    Name(String),
    /// An address of the host, not a network's own, must be within it.
    Network(IpNet),
}

impl Rule {
    fn fits(&self, name: &str, address: IpAddr) -> bool {
        match &self.what {
            What::Name(wanted) => wanted == name,
            What::Network(network) => network.contains(&address),
        }
    }
}

impl FromStr for Interfaces {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = |part: &str| {
            let part = part.trim();
            let (is_excluded, part) = part.strip_prefix('!').map_or((false, part), |rest| (true, rest.trim()));
            let is_name = !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@".contains(c));
            let what = match (part.parse::<IpNet>(), part.parse::<IpAddr>()) {
                (Ok(network), _) => What::Network(network),
                (_, Ok(address)) => What::Network(address.into()),
                _ if is_name => What::Name(part.to_owned()),
                _ => {
                    return Err(format!(
                        "{part:?}: this is an interface or a network, such as eth0, 10.0.0.0/8, !docker0"
                    ));
                }
            };
            Ok(Rule { is_excluded, what })
        };
        let rules = text.split(',').map(rule).collect::<Result<_, _>>()?;
        Ok(Interfaces { text: text.to_owned(), rules })
    }
}

impl std::fmt::Display for Interfaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Interfaces {
    /// Whether an address of the interface `name` may be used.
    pub(crate) fn allow(&self, name: &str, address: IpAddr) -> bool {
        let fit = |rule: &Rule| rule.fits(name, address);
        let mut wanted = self.rules.iter().filter(|rule| !rule.is_excluded).peekable();
        let is_wanted = wanted.peek().is_none() || wanted.any(fit);
        is_wanted && !self.rules.iter().filter(|rule| rule.is_excluded).any(fit)
    }

    /// The address to use: `usual` if it may be used, otherwise the first that may, one of the same family before others.
    ///
    /// # Errors
    /// What addresses there are, if none may be used.
    pub(crate) fn choose(&self, all: &[(String, IpAddr)], usual: IpAddr) -> Result<IpAddr, String> {
        let usable = |(name, address): &&(String, IpAddr)| self.allow(name, *address) && !needs_scope(address);
        let mut allowed: Vec<IpAddr> = all.iter().filter(usable).map(|(_, address)| *address).collect();
        // False comes before true.
        allowed.sort_by_key(|address| (*address != usual, address.is_ipv4() != usual.is_ipv4()));
        allowed.first().copied().ok_or_else(|| {
            let all: Vec<String> = all.iter().map(|(name, address)| format!("{name} {address}")).collect();
            format!("no interface of this host fits {self}; there are: {}", all.join(", "))
        })
    }
}

/// Link-local IPv6 addresses mean something only beside the name of an interface, which differs from host to host.
pub(crate) fn needs_scope(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Vec<(String, IpAddr)> {
        [("lo", "127.0.0.1"), ("eth0", "10.1.2.3"), ("eth0", "fd00::3"), ("docker0", "172.17.0.1"), ("wg0", "10.9.0.2")]
            .map(|(name, address)| (name.to_owned(), address.parse().unwrap()))
            .to_vec()
    }

    fn chosen(rules: &str, usual: &str) -> Result<String, String> {
        let rules: Interfaces = rules.parse()?;
        rules.choose(&host(), usual.parse().unwrap()).map(|address| address.to_string())
    }

    #[test]
    fn an_address_is_chosen_by_name_and_by_containment() {
        assert_eq!(chosen("wg0", "10.1.2.3").unwrap(), "10.9.0.2");
        assert_eq!(chosen("10.9.0.0/16", "10.1.2.3").unwrap(), "10.9.0.2");
        assert_eq!(chosen("10.0.0.0/8", "10.1.2.3").unwrap(), "10.1.2.3", "the usual one, if it may be");
        assert_eq!(chosen("10.0.0.0/8", "172.17.0.1").unwrap(), "10.1.2.3");
        assert_eq!(chosen("!docker0,!lo", "172.17.0.1").unwrap(), "10.1.2.3");
        assert_eq!(chosen("eth0", "fd00::9").unwrap(), "fd00::3", "the same family before others");
        assert_eq!(chosen("10.0.0.0/8,!eth0", "10.1.2.3").unwrap(), "10.9.0.2");
        assert_eq!(chosen("172.17.0.1", "10.1.2.3").unwrap(), "172.17.0.1");
    }

    #[test]
    fn hosts_with_only_ipv6_have_an_address_too() {
        assert_eq!(chosen("fd00::/8", "10.1.2.3").unwrap(), "fd00::3");
        let host = ["fe80::1", "fd00::7"].map(|address| ("eth0".to_owned(), address.parse().unwrap()));
        let rules: Interfaces = "eth0".parse().unwrap();
        assert_eq!(rules.choose(&host, "::1".parse().unwrap()).unwrap().to_string(), "fd00::7", "no scope is needed");
        assert!(rules.choose(&host[..1], "::1".parse().unwrap()).is_err(), "another host could not name it");
    }

    #[test]
    fn what_fits_nothing_or_makes_no_sense_is_said() {
        let error = chosen("ib0", "10.1.2.3").unwrap_err();
        assert!(error.contains("ib0") && error.contains("eth0 10.1.2.3"), "{error}");
        for text in ["", "!", "eth 0", "10.0.0.0/33", "a,,b"] {
            assert!(text.parse::<Interfaces>().is_err(), "{text}");
        }
    }
}
