//! What launchers and all their descendants have, as the system shows it, and what is left of that later.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;

/// All that marked processes were seen with.
pub(super) struct Traces {
    /// One of these is in the environment or the arguments of each of them.
    marks: Vec<String>,
    processes: BTreeSet<u32>,
    /// Network namespaces other than this process's, as `net:[NUMBER]`.
    networks: HashSet<String>,
    /// Sockets, by their numbers, which the system does not use again soon.
    sockets: HashSet<String>,
    /// Where TCP sockets of this network were: own and other address.
    connections: HashSet<(String, String)>,
    /// The mounts that there were before.
    mounts: HashSet<String>,
}

/// All processes.
pub(super) fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("Linux").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a living process has one of these in its environment or its arguments.
pub(super) fn is_marked(process: u32, marks: &[&str]) -> bool {
    ["environ", "cmdline"].iter().any(|file| {
        let bytes = fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
        bytes.split(|&byte| byte == 0).any(|part| {
            let part = String::from_utf8_lossy(part);
            let ends = |rest: &str| rest.is_empty() || rest.starts_with(['-', '/']);
            marks.iter().any(|mark| part.split_once(mark).is_some_and(|(_, rest)| ends(rest)))
        })
    })
}

fn link(path: String) -> Option<String> {
    Some(fs::read_link(path).ok()?.to_str()?.to_owned())
}

/// What a process's descriptors are.
fn descriptors(process: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.to_str()?.to_owned())).collect()
}

/// This network's TCP sockets that are not closed on both sides: number, own address, other address.
fn tcp() -> Vec<(String, String, String)> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (own, other, state, number) = (*fields.get(1)?, *fields.get(2)?, *fields.get(3)?, *fields.get(9)?);
        // 06 is TIME_WAIT, which is no socket any more.
        (state != "06").then(|| (number.to_owned(), own.to_owned(), other.to_owned()))
    };
    tables.iter().flat_map(|table| table.lines().skip(1).filter_map(row).collect::<Vec<_>>()).collect()
}

/// The numbers of this network's sockets with names.
fn unix() -> HashSet<String> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    table.lines().skip(1).filter_map(|line| Some(line.split_whitespace().nth(6)?.to_owned())).collect()
}

/// What is mounted for this process that may be lathide's: its files, and namespaces that somebody has given a name.
fn mounts() -> HashSet<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().filter(|line| line.contains(" nsfs ") || line.contains("lathide")).map(str::to_owned).collect()
}

impl Traces {
    pub(super) fn new(marks: Vec<String>) -> Self {
        Traces {
            marks,
            processes: BTreeSet::new(),
            networks: HashSet::new(),
            sockets: HashSet::new(),
            connections: HashSet::new(),
            mounts: mounts(),
        }
    }

    fn marked(&self) -> Vec<u32> {
        let marks: Vec<&str> = self.marks.iter().map(String::as_str).collect();
        processes().into_iter().filter(|&process| is_marked(process, &marks)).collect()
    }

    /// Notes what there is now.
    pub(super) fn look(&mut self) {
        let own = link("/proc/self/ns/net".into());
        for process in self.marked() {
            self.processes.insert(process);
            let network = link(format!("/proc/{process}/ns/net")).filter(|network| Some(network) != own.as_ref());
            self.networks.extend(network);
            let numbers = descriptors(process).into_iter();
            let numbers = numbers.filter_map(|text| Some(text.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()));
            self.sockets.extend(numbers);
        }
        for (number, own, other) in tcp() {
            if self.sockets.contains(&number) {
                self.connections.insert((own, other));
            }
        }
    }

    /// What was seen, in words.
    ///
    /// # Panics
    /// If that is next to nothing: then nothing is shown by what is not left.
    pub(super) fn seen(&self) -> String {
        let Traces { processes, networks, sockets, .. } = self;
        assert!(processes.len() >= 10 && !sockets.is_empty(), "nothing had begun");
        format!("{} processes, {} networks, {} sockets", processes.len(), networks.len(), sockets.len())
    }

    /// What is there of all that.
    pub(super) fn left(&mut self) -> Vec<String> {
        let name = |process: u32| {
            let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default().replace('\0', " ");
            // Whose it was is in the last part of the launcher's mark.
            let environment = fs::read_to_string(format!("/proc/{process}/environ")).unwrap_or_default();
            let ours = environment.split('\0').filter(|variable| variable.starts_with("LATHIDE_")).collect::<Vec<_>>();
            format!("process {process}: {line}, with {ours:?}")
        };
        let mut left: Vec<String> = self.marked().into_iter().map(name).collect();
        let mut held: HashMap<String, u32> = HashMap::new();
        for process in processes() {
            held.extend(link(format!("/proc/{process}/ns/net")).map(|network| (network, process)));
            held.extend(descriptors(process).into_iter().map(|what| (what, process)));
        }
        // One that nobody holds is gone; other tests' new ones may get its number.
        self.networks.retain(|network| held.contains_key(network));
        left.extend(self.networks.iter().map(|network| format!("{network}, {}", name(held[network]))));
        left.extend(mounts().difference(&self.mounts).map(|mount| format!("mount {mount}")));
        let named = unix();
        left.extend(
            self.sockets.iter().filter(|number| named.contains(*number)).map(|number| format!("socket {number}")),
        );
        for (number, own, other) in tcp() {
            if self.sockets.contains(&number) || self.connections.contains(&(own.clone(), other.clone())) {
                left.push(format!("TCP socket {number}, {own} to {other}"));
            }
        }
        left
    }
}
