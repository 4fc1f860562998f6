//! What the imports are held to: no circle, no arrow upwards, nothing impure.

use std::collections::{BTreeMap, BTreeSet};

use super::uses::Imports;

/// A room's name, and where its files lie: a file, a folder, or `folder/*.rs` for the files directly in it.
pub(super) type Room = (&'static str, &'static [&'static str]);

/// The number of a file's room; the place that fits most closely decides.
pub(super) fn room(rooms: &[Room], file: &str) -> Option<usize> {
    let fit = |place: &str| match place.strip_suffix("/*.rs") {
        Some(folder) => file.rsplit_once('/').is_some_and(|(at, _)| at == folder).then_some(folder.len()),
        None if file == place => Some(place.len()),
        None => file.strip_prefix(place).is_some_and(|rest| rest.starts_with('/')).then_some(place.len()),
    };
    let places =
        rooms.iter().enumerate().flat_map(|(number, (_, places))| places.iter().map(move |place| (place, number)));
    places.filter_map(|(place, number)| Some((fit(place)?, number))).max().map(|(_, number)| number)
}

/// Each arrow from a room to one above it, as a line. Without such arrows no file reaches one above it by others either.
pub(super) fn upwards(imports: &Imports, rooms: &[Room]) -> Vec<String> {
    let rises = |(from, to): (&str, &str)| room(rooms, to) > room(rooms, from);
    let name = |file: &str| room(rooms, file).map_or("none", |number| rooms[number].0);
    let mut found: Vec<_> = imports.arrows.iter().filter(|((from, to), _)| rises((from, to))).collect();
    found.sort_by_key(|((from, to), _)| (room(rooms, from), room(rooms, to)));
    let line = |((from, to), names): (&(String, String), &BTreeSet<String>)| {
        format!("{} below {}: {}", name(from), name(to), arrow(from, to, names))
    };
    found.into_iter().map(line).collect()
}

/// The circles of files, each as lines. No circle of several rooms is without an arrow upwards: so those in rooms suffice.
pub(super) fn circles(imports: &Imports, rooms: &[Room]) -> Vec<String> {
    let next = downwards(imports, rooms);
    let reach: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|&file| (file, reachable(&next, file))).collect();
    let reaches = |from: &str, to: &str| reach.get(from).is_some_and(|files| files.contains(to));
    let mut found: BTreeSet<Vec<&str>> = BTreeSet::new();
    for &file in reach.keys().filter(|file| reaches(file, file)) {
        found.insert(reach[file].iter().filter(|other| reaches(other, file)).copied().collect());
    }
    let describe = |files: &Vec<&str>| {
        let is_in = |(from, to): &(String, String)| files.contains(&from.as_str()) && files.contains(&to.as_str());
        let arrows = imports.arrows.iter().filter(|(ends, _)| is_in(ends));
        let lines: Vec<String> = arrows.map(|((from, to), names)| format!("    {}", arrow(from, to, names))).collect();
        format!("a circle of {} files:\n{}", files.len(), lines.join("\n"))
    };
    found.iter().map(describe).collect()
}

/// What the files in `pure` places name of `impure`, as lines.
pub(super) fn impurities(imports: &Imports, pure: &[Room], impure: &[&str]) -> Vec<String> {
    let files = imports.files.iter().filter(|file| room(pure, file).is_some());
    files.filter_map(|file| Some(format!("{file} names {}", outside(imports, file, impure)?))).collect()
}

/// What the files that those in `pure` places reach, but that are not of them, name of `impure`, as lines.
pub(super) fn impurities_below(imports: &Imports, rooms: &[Room], pure: &[Room], impure: &[&str]) -> Vec<String> {
    let next = downwards(imports, rooms);
    let mut reached: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in imports.files.iter().filter(|file| room(pure, file).is_some()) {
        for other in reachable(&next, file).into_iter().filter(|other| room(pure, other).is_none()) {
            reached.entry(other).or_default().push(file);
        }
    }
    let line = |(file, by): (&str, Vec<&str>)| {
        let names = outside(imports, file, impure)?;
        Some(format!("{file} names {names}, and is reached from {}", by.join(", ")))
    };
    reached.into_iter().filter_map(line).collect()
}

/// The names of `impure` in a file, if there are any.
fn outside(imports: &Imports, file: &str, impure: &[&str]) -> Option<String> {
    let names = imports.outside.get(file)?.iter().filter(|name| impure.iter().any(|other| is_of(name, other)));
    let names: Vec<&str> = names.map(String::as_str).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The arrows that do not rise. Those that do are wrong by themselves, and with them all else would seem to be.
fn downwards<'a>(imports: &'a Imports, rooms: &[Room]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in imports.arrows.keys().filter(|(from, to)| room(rooms, to) <= room(rooms, from)) {
        next.entry(from).or_default().insert(to);
    }
    next
}

/// Whether a path is `other`, below it, or all of a module that has it.
fn is_of(path: &str, other: &str) -> bool {
    let has = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    has(path, other) || path.strip_suffix("::*").is_some_and(|module| has(other, module))
}

/// All files that imports lead to, in one step or more.
fn reachable<'a>(next: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut left: Vec<&str> = next.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = left.pop() {
        if found.insert(file) {
            left.extend(next.get(file).into_iter().flatten());
        }
    }
    found
}

fn arrow(from: &str, to: &str, names: &BTreeSet<String>) -> String {
    format!("{from} -> {to}: {}", names.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
}
