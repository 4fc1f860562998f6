//! The hosts of a Slurm allocation, from the variables that Slurm gives. Pure.

use super::{Host, merged};

/// The hosts of the allocation around this process, if there is one; each with as many slots as Slurm has planned tasks.
///
/// # Errors
/// Which variable makes no sense.
pub(crate) fn allocation(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Option<Vec<Host>>, String> {
    let text = |name: &str| lookup(name).filter(|value| !value.is_empty());
    let (Some(_), Some(list)) = (text("SLURM_JOB_ID"), text("SLURM_JOB_NODELIST").or_else(|| text("SLURM_NODELIST")))
    else {
        return Ok(None);
    };
    let names = names(&list).ok_or_else(|| format!("SLURM_JOB_NODELIST={list}: this is no list of nodes"))?;
    let tasks = match text("SLURM_TASKS_PER_NODE") {
        None => vec![1; names.len()],
        Some(tasks) => tasks_per_node(&tasks)
            .filter(|tasks| tasks.len() == names.len())
            .ok_or_else(|| format!("SLURM_TASKS_PER_NODE={tasks}: these are no numbers for {} nodes", names.len()))?,
    };
    let hosts = names.into_iter().zip(tasks).map(|(name, slots)| Host { slots, ..Host::new(name) });
    Ok(Some(merged(hosts)))
}

/// The most hosts that a list may name.
const HOSTS_MAX: usize = 1 << 16;
/// The longest name of a host that there is.
const NAME_BYTES_MAX: usize = 255;
/// Brackets in one pattern: each has a name of its own to go through.
const BRACKETS_MAX: usize = 16;

/// `r[1-2]n[08,10-11],big` is r1n08, r1n10, r1n11, r2n08, r2n10, r2n11, big. `None`: it makes no sense, or names too many.
fn names(list: &str) -> Option<Vec<String>> {
    let (mut all, mut is_inside) = (Vec::new(), false);
    let patterns = list.split(|sign| {
        is_inside = sign == '[' || is_inside && sign != ']';
        sign == ',' && !is_inside
    });
    for pattern in patterns {
        if pattern.matches('[').count() > BRACKETS_MAX {
            return None;
        }
        all.extend(expanded(pattern, HOSTS_MAX - all.len())?);
    }
    Some(all)
}

/// One pattern's names, at most so many.
fn expanded(pattern: &str, most: usize) -> Option<Vec<String>> {
    let is_plain = |text: &str| text.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_.".contains(sign));
    let Some((before, rest)) = pattern.split_once('[') else {
        return (!pattern.is_empty() && is_plain(pattern) && most > 0).then(|| vec![pattern.to_owned()]);
    };
    let (ranges, after) = rest.split_once(']')?;
    let ends = if after.is_empty() { vec![String::new()] } else { expanded(after, most)? };
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        let (first, last) = (low.parse::<usize>().ok()?, high.parse::<usize>().ok()?);
        let count = last.checked_sub(first)?.checked_add(1)?.checked_mul(ends.len())?;
        if !is_plain(before) || !is_number(low) || !is_number(high) || count > most - all.len() {
            return None;
        }
        // Zeros in front of the first number are those of all.
        let digits = low.len();
        let longest = before.len() + digits.max(high.len()) + ends.iter().map(String::len).max().unwrap_or(0);
        if longest > NAME_BYTES_MAX {
            return None;
        }
        all.extend(
            (first..=last).flat_map(|number| ends.iter().map(move |end| format!("{before}{number:0digits$}{end}"))),
        );
    }
    Some(all)
}

/// `4(x2),3` is 4, 4, 3.
fn tasks_per_node(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (tasks, times) = match part.strip_suffix(')') {
            Some(part) => part.split_once("(x")?,
            None => (part, "1"),
        };
        let (tasks, times) = (tasks.parse::<u32>().ok()?, times.parse::<usize>().ok()?);
        if tasks == 0 || times > HOSTS_MAX - all.len() {
            return None;
        }
        all.extend(std::iter::repeat_n(tasks, times));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(list: &str, tasks: &str) -> Result<Option<Vec<(String, u32)>>, String> {
        let lookup = |name: &str| match name {
            "SLURM_JOB_ID" => Some("7".to_owned()),
            "SLURM_JOB_NODELIST" => Some(list.to_owned()),
            "SLURM_TASKS_PER_NODE" => Some(tasks.to_owned()),
            _ => None,
        };
        let hosts = allocation(&lookup)?;
        Ok(hosts.map(|hosts| hosts.into_iter().map(|host| (host.name, host.slots)).collect()))
    }

    #[test]
    fn an_allocation_has_hosts_with_slots() {
        let named = |pairs: &[(&str, u32)]| {
            Ok(Some(pairs.iter().map(|(name, slots)| ((*name).to_owned(), *slots)).collect::<Vec<_>>()))
        };
        assert_eq!(hosts("n[01-02],big", "4(x2),3"), named(&[("n01", 4), ("n02", 4), ("big", 3)]));
        assert_eq!(hosts("localhost", "2"), named(&[("localhost", 2)]));
        assert_eq!(hosts("r[1-2]n[3,4]", ""), named(&[("r1n3", 1), ("r1n4", 1), ("r2n3", 1), ("r2n4", 1)]));
        assert_eq!(allocation(&|_| None), Ok(None));
        let many = hosts("gpu-a[098-102,7].site", "").unwrap().unwrap();
        let expected =
            ["gpu-a098.site", "gpu-a099.site", "gpu-a100.site", "gpu-a101.site", "gpu-a102.site", "gpu-a7.site"];
        assert_eq!(many.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (list, tasks, part) in [
            ("n[1-2]", "4", "numbers for 2 nodes"),
            ("n1", "4(x", "SLURM_TASKS_PER_NODE=4(x"),
            ("n1", "0", "SLURM_TASKS_PER_NODE"),
            ("n[1-", "1", "SLURM_JOB_NODELIST=n[1-"),
            ("n[2-1]", "", "no list of nodes"),
            ("n[1-99999999]", "", "no list of nodes"),
            ("n[0-999]r[0-999]", "", "no list of nodes"),
            ("n[[1]]", "", "no list of nodes"),
            ("n1,,n2", "", "no list of nodes"),
            ("n1 n2", "", "no list of nodes"),
            ("n]1[", "", "no list of nodes"),
            ("n[]", "", "no list of nodes"),
            ("n[+1]", "", "no list of nodes"),
            ("n1", "1(x65536),1(x65536)", "SLURM_TASKS_PER_NODE"),
            (&format!("n[{:0300}-65535]", 0), "", "no list of nodes"),
            (&"[1]".repeat(40_000), "", "no list of nodes"),
            (&format!("{}[1-2]", "n".repeat(255)), "", "no list of nodes"),
        ] {
            let error = hosts(list, tasks).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
