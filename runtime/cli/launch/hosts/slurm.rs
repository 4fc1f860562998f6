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
    // The parser stops at what it does not understand.
    let is_whole = list.matches('[').count() == list.matches(']').count() && !list.contains(char::is_whitespace);
    let names = hostlist_parser::parse(&list).ok().filter(|names| is_whole && !names.is_empty());
    let names = names.ok_or_else(|| format!("SLURM_JOB_NODELIST={list}: this is no list of nodes"))?;
    let tasks = match text("SLURM_TASKS_PER_NODE") {
        None => vec![1; names.len()],
        Some(tasks) => tasks_per_node(&tasks)
            .filter(|tasks| tasks.len() == names.len())
            .ok_or_else(|| format!("SLURM_TASKS_PER_NODE={tasks}: these are no numbers for {} nodes", names.len()))?,
    };
    let hosts = names.into_iter().zip(tasks).map(|(name, slots)| Host { slots, ..Host::new(name) });
    Ok(Some(merged(hosts)))
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
        if tasks == 0 || times > 1 << 16 {
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
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (list, tasks, part) in [
            ("n[1-2]", "4", "numbers for 2 nodes"),
            ("n1", "4(x", "SLURM_TASKS_PER_NODE=4(x"),
            ("n1", "0", "SLURM_TASKS_PER_NODE"),
            ("n[1-", "1", "SLURM_JOB_NODELIST=n[1-"),
        ] {
            let error = hosts(list, tasks).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
