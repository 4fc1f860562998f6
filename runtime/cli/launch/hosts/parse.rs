//! Lists of hosts and hostfiles: `mpirun`'s dialect, Hydra's, and ours.
//!
//! ```text
//! node01 slots=4 max_slots=8                           # mpirun
//! node02:4                                             # Hydra
//! user@node03 slots=2 port=2222 addr=10.0.0.3          # ours
//! [fd00::7]:4                                          # an IPv6 address
//! ```

use std::fmt::Display;
use std::net::{IpAddr, Ipv6Addr};

use super::{Host, merged};

/// The most slots a host may have: more ranks than that no job can have.
const SLOTS_MAX: u32 = 1 << 16;

/// A list such as `a:4,user@b,[fd00::7]:2`.
///
/// # Errors
/// With the place of what it does not understand, or if there is no host.
pub(crate) fn parse_list(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    let mut column = 1;
    for part in text.split(',') {
        let leading = part.chars().take_while(|c| c.is_whitespace()).count();
        let word = Word { line: 1, column: column + leading, text: part.trim() };
        if word.text.is_empty() {
            return Err(word.wrong("a host is missing: a list is a,b or a:4,user@b:2"));
        }
        hosts.push(head(&word)?.0);
        column += part.chars().count() + 1;
    }
    Ok(merged(hosts))
}

/// The hosts of a hostfile.
///
/// # Errors
/// With the place of what it does not understand, or if there is no host.
pub(crate) fn parse_file(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let mut words = words(line, number);
        let Some(first) = words.next() else { continue };
        let (mut host, mut has_slots) = head(&first)?;
        for word in words {
            setting(&mut host, &word, &mut has_slots)?;
        }
        hosts.push(host);
    }
    if hosts.is_empty() {
        let word = Word { line: text.lines().count().max(1), column: 1, text: "" };
        return Err(word.wrong("there is no host in it; one line per host, such as node01 slots=4"));
    }
    Ok(merged(hosts))
}

/// A word and its place.
struct Word<'a> {
    line: usize,
    column: usize,
    text: &'a str,
}

impl Word<'_> {
    /// Lines and columns count from 1, columns in characters.
    fn wrong(&self, why: impl Display) -> String {
        format!("line {}, column {}: {why}", self.line, self.column)
    }
}

/// The words of a line up to a `#`.
fn words(line: &str, number: usize) -> impl Iterator<Item = Word<'_>> {
    let line = line.split('#').next().unwrap_or_default();
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let column = line[..line.len() - rest.len()].chars().count() + 1;
        let (text, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        rest = after;
        (!text.is_empty()).then_some(Word { line: number, column, text })
    })
}

/// `[user@]name[:slots]`, where the name may be an IPv6 address in brackets; and whether there are slots.
fn head(word: &Word<'_>) -> Result<(Host, bool), String> {
    let (user, rest) = match word.text.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, word.text),
    };
    let (name, after) = match rest.strip_prefix('[') {
        Some(bracketed) => {
            let unclosed = || word.wrong(format!("{rest}: the bracket of the IPv6 address is not closed"));
            let (address, after) = bracketed.split_once(']').ok_or_else(unclosed)?;
            // A scope such as %eth0 belongs to ssh.
            if address.split('%').next().is_none_or(|address| address.parse::<Ipv6Addr>().is_err()) {
                return Err(word.wrong(format!("{address}: only an IPv6 address stands in brackets")));
            }
            if !after.is_empty() && !after.starts_with(':') {
                return Err(word.wrong(format!("{after}: after the brackets comes :SLOTS, or nothing")));
            }
            (address, after)
        }
        None => rest.split_at(rest.find(':').unwrap_or(rest.len())),
    };
    let slots = after.strip_prefix(':');
    if slots.is_some_and(|slots| slots.contains(':')) && !rest.starts_with('[') {
        return Err(word.wrong(format!("{rest}: an IPv6 address stands in brackets: [fd00::7]:4")));
    }
    if !is_name(name) {
        return Err(word.wrong(format!("{name:?} is no host: a name or an address, such as node01 or 10.0.0.3")));
    }
    if let Some(user) = user.filter(|user| !is_name(user)) {
        return Err(word.wrong(format!("{user:?} is no user")));
    }
    let count = slots.map(|slots| count(word, slots)).transpose()?;
    let host = Host { user: user.map(str::to_owned), slots: count.unwrap_or(1), ..Host::new(name) };
    Ok((host, count.is_some()))
}

/// What can be neither an option nor several words for whoever gets it.
fn is_name(text: &str) -> bool {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "=/\\'\"`$;&|<>()[]{}*?!,#".contains(c);
    !text.is_empty() && !text.starts_with('-') && !text.contains(forbidden)
}

fn setting(host: &mut Host, word: &Word<'_>, has_slots: &mut bool) -> Result<(), String> {
    let unset = || word.wrong(format!("{}: a setting is key=value, such as slots=4", word.text));
    let (key, value) = word.text.split_once('=').ok_or_else(unset)?;
    let at_value = Word { line: word.line, column: word.column + key.chars().count() + 1, text: value };
    let twice = match key {
        "slots" => {
            host.slots = count(&at_value, value)?;
            std::mem::replace(has_slots, true)
        }
        "max_slots" | "max-slots" => host.max_slots.replace(count(&at_value, value)?).is_some(),
        "port" => match value.parse::<u16>() {
            Ok(port @ 1..) => host.port.replace(port).is_some(),
            _ => return Err(at_value.wrong(format!("port={value}: a port is a number from 1 to 65535"))),
        },
        "addr" => match value.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(addr) => host.addr.replace(addr).is_some(),
            Err(_) => return Err(at_value.wrong(format!("addr={value}: this is an IP address, such as 10.0.0.3"))),
        },
        _ => return Err(word.wrong(format!("{key}: no such setting; there are slots, max_slots, port and addr"))),
    };
    if twice { Err(word.wrong(format!("{key} is given twice"))) } else { Ok(()) }
}

fn count(word: &Word<'_>, text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count @ 1..=SLOTS_MAX) => Ok(count),
        _ => Err(word.wrong(format!("{text:?}: a number of slots is from 1 to {SLOTS_MAX}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list() {
        let hosts = parse_list("a:4, user@b,[fd00::7]:2,[fe80::1%eth0],a").unwrap();
        let shown: Vec<_> = hosts.iter().map(|host| (host.destination(), host.slots)).collect();
        let expected = [("a", 5), ("user@b", 1), ("fd00::7", 2), ("fe80::1%eth0", 1)];
        assert_eq!(shown, expected.map(|(name, slots)| (name.to_owned(), slots)));
    }

    #[test]
    fn a_file_in_three_dialects() {
        let text = "# comment\n\nnode01 slots=4 max_slots=8\nnode02:4 # Hydra\n\
                    \tuser@node03 slots=2 port=2222 addr=10.0.0.3\nnode02:1\n[::1] addr=[fd00::7]";
        let hosts = parse_file(text).unwrap();
        let third = Host {
            user: Some("user".into()),
            slots: 2,
            port: Some(2222),
            addr: Some("10.0.0.3".parse().unwrap()),
            ..Host::new("node03")
        };
        assert_eq!(hosts[0], Host { slots: 4, max_slots: Some(8), ..Host::new("node01") });
        assert_eq!(hosts[1], Host { slots: 5, ..Host::new("node02") });
        assert_eq!(hosts[2], third);
        assert_eq!(hosts[3], Host { addr: Some("fd00::7".parse().unwrap()), ..Host::new("::1") });
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, line, column, part) in [
            ("a\nb slot=4", 2, 3, "slot: no such setting"),
            ("a slots=0", 1, 9, "from 1 to"),
            ("a slots=4 slots=5", 1, 11, "slots is given twice"),
            ("a:4 slots=5", 1, 5, "slots is given twice"),
            ("a slots = 4", 1, 3, "key=value"),
            ("a port=0", 1, 8, "from 1 to 65535"),
            ("a addr=b", 1, 8, "IP address"),
            ("fd00::7", 1, 1, "in brackets"),
            ("  [fd00::7", 1, 3, "not closed"),
            ("[a]:4", 1, 1, "only an IPv6 address"),
            ("[::1]4", 1, 1, "after the brackets"),
            ("-oProxyCommand=x", 1, 1, "no host"),
            ("-b@a", 1, 1, "no user"),
            ("@a", 1, 1, "no user"),
            ("a:", 1, 1, "number of slots"),
            ("é slots=x", 1, 9, "number of slots"),
            ("# nothing\n", 1, 1, "no host in it"),
            ("", 1, 1, "no host in it"),
        ] {
            let error = parse_file(text).unwrap_err();
            assert!(error.starts_with(&format!("line {line}, column {column}: ")), "{text}: {error}");
            assert!(error.contains(part), "{text}: {error}");
        }
        for (text, column, part) in
            [("", 1, "missing"), ("a,,b", 3, "missing"), ("a, b:x", 4, "number of slots"), ("a b", 1, "no host")]
        {
            let error = parse_list(text).unwrap_err();
            assert!(error.starts_with(&format!("line 1, column {column}: ")), "{text}: {error}");
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
