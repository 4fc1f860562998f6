//! What the last jobs on the same hosts have learnt of their links: a small file, from which the next job on them takes its
//! first prices. Nothing else depends on it, and whatever is wrong with it only means that nothing is known.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The first line's format and version. Another one is not read, and is written over.
const SCHEMA: &str = "lathide-links-1";
/// Sets of hosts that are remembered: the latest.
const SETS_MAX: usize = 64;
/// A file beyond this is none of lathide's.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// Values outside are not believed: seconds, and seconds per byte.
const A_S: std::ops::RangeInclusive<f64> = 1e-7..=60.0;
const B_S_PER_BYTE: std::ops::RangeInclusive<f64> = 1e-13..=1e-2;

/// The cache of one job's hosts.
pub(super) struct Cache {
    path: PathBuf,
    hosts: String,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    schema: String,
    links: BTreeMap<String, Line>,
}

/// A link's line `a + b x`, and how many were stored before it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Line {
    a_s: f64,
    b_s_per_byte: f64,
    number: u64,
}

impl Cache {
    /// The cache at `path` for a job with ranks at these addresses. `None` if one of them is a loopback address: that is no
    /// host's, and another job's relay may stand behind it.
    pub(super) fn of(path: &Path, addresses: &[IpAddr]) -> Option<Self> {
        if addresses.len() < 2 || addresses.iter().any(IpAddr::is_loopback) {
            return None;
        }
        // How many ranks a host has matters too: they share its port.
        let mut ranks = BTreeMap::<IpAddr, u32>::new();
        addresses.iter().for_each(|address| *ranks.entry(*address).or_default() += 1);
        let hosts: Vec<String> = ranks.iter().map(|(address, ranks)| format!("{address}:{ranks}")).collect();
        let hosts = blake3::hash(hosts.join(",").as_bytes()).to_hex()[..32].to_owned();
        Some(Cache { path: path.to_owned(), hosts })
    }

    /// The line that the last job on these hosts has stored, if it makes sense.
    pub(super) fn load(&self) -> Option<(f64, f64)> {
        let Line { a_s, b_s_per_byte, .. } = *self.contents()?.links.get(&self.hosts)?;
        (A_S.contains(&a_s) && B_S_PER_BYTE.contains(&b_s_per_byte)).then_some((a_s, b_s_per_byte))
    }

    /// Stores this job's line beside those of other hosts.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn store(&self, (a_s, b_s_per_byte): (f64, f64)) -> io::Result<()> {
        let mut links = self.contents().map(|contents| contents.links).unwrap_or_default();
        let number = links.values().map(|line| line.number).max().map_or(0, |last| last.saturating_add(1));
        links.insert(self.hosts.clone(), Line { a_s, b_s_per_byte, number });
        while links.len() > SETS_MAX {
            let oldest = links.iter().min_by_key(|(_, line)| line.number).map(|(hosts, _)| hosts.clone());
            oldest.and_then(|oldest| links.remove(&oldest));
        }
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        // Whole or not at all, whoever else writes.
        let partial = self.path.with_extension(format!("{}.partial", std::process::id()));
        let text = serde_json::to_vec(&Contents { schema: SCHEMA.to_owned(), links })?;
        let written = std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, &self.path));
        written.inspect_err(|_| _ = std::fs::remove_file(&partial))
    }

    fn contents(&self) -> Option<Contents> {
        let mut text = Vec::new();
        File::open(&self.path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
        let contents: Contents = serde_json::from_slice(&text).ok()?;
        (contents.schema == SCHEMA).then_some(contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gone with its contents when it is dropped.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("lathide-cache-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a directory");
            Directory(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn addresses(last: [u8; 2]) -> Vec<IpAddr> {
        last.map(|last| IpAddr::from([10, 0, 0, last])).to_vec()
    }

    #[test]
    fn the_next_job_on_the_same_hosts_knows_the_line() {
        let directory = Directory::new("next");
        let path = directory.0.join("below/links.json");
        let cache = Cache::of(&path, &addresses([1, 2])).expect("no loopback");
        assert_eq!(cache.load(), None, "there is no file");
        cache.store((1e-3, 1e-8)).expect("it can be written");
        assert_eq!(cache.load(), Some((1e-3, 1e-8)));
        for others in [addresses([1, 3]), vec![addresses([1, 2])[0]; 2]] {
            assert_eq!(Cache::of(&path, &others).expect("no loopback").load(), None, "{others:?} are others");
        }
        assert!(Cache::of(&path, &[[10, 0, 0, 1].into(), [127, 0, 0, 1].into()]).is_none());
        for host in 3..=200 {
            Cache::of(&path, &addresses([1, host])).expect("no loopback").store((1e-3, 1e-8)).expect("written");
        }
        let contents = cache.contents().expect("it is whole");
        assert_eq!(contents.links.len(), SETS_MAX);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing partial is left");
    }

    #[test]
    fn what_makes_no_sense_is_not_known_and_written_over() {
        let directory = Directory::new("wrong");
        let path = directory.0.join("links.json");
        let cache = Cache::of(&path, &addresses([1, 2])).expect("no loopback");
        let with = |schema: &str, a: &str, b: &str| {
            format!(
                r#"{{"schema":"{schema}","links":{{"{}":{{"a_s":{a},"b_s_per_byte":{b},"number":1}}}}}}"#,
                cache.hosts
            )
        };
        std::fs::write(&path, with(SCHEMA, "0.001", "1e-8")).unwrap();
        assert_eq!(cache.load(), Some((1e-3, 1e-8)), "this one is good");
        let bad = [
            with("lathide-links-2", "0.001", "1e-8"),
            with(SCHEMA, "-1", "1e-8"),
            with(SCHEMA, "1e300", "1e-8"),
            with(SCHEMA, "0.001", "0"),
            with(SCHEMA, "\"x\"", "1e-8"),
            with(SCHEMA, "0.001", "1e-8")[..40].to_owned(),
            String::new(),
            "[".repeat(100_000),
        ];
        for text in bad {
            std::fs::write(&path, &text).unwrap();
            assert_eq!(cache.load(), None, "{}", &text[..text.len().min(80)]);
            cache.store((2e-3, 1e-8)).expect("it is written over");
            assert_eq!(cache.load(), Some((2e-3, 1e-8)));
        }
        std::fs::write(&path, [0xff; 1000]).unwrap();
        assert_eq!(cache.load(), None);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(cache.load(), None);
        assert!(cache.store((2e-3, 1e-8)).is_err());
    }
}
