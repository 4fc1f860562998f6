//! Environment variables in the command's help, and those that are misspelt.

use lathide::launcher::variables::ALL;

/// The table of variables, as the help shows it.
pub(crate) fn help() -> String {
    let mut text = String::from("Environment, beside the variables of srun, mpirun and torchrun:");
    for (heading, variables) in ALL {
        text += &format!("\n\n{}:", heading.replace('`', ""));
        for variable in *variables {
            let (name, value, default) = (variable.name, variable.value, variable.default);
            text += &format!("\n  {name}={value} [default: {default}]\n      {}", variable.meaning.replace('`', ""));
        }
    }
    text
}

/// The variables that are almost one of the table, each with the one that may be meant.
pub(crate) fn misspelt(names: impl IntoIterator<Item = String>) -> Vec<(String, &'static str)> {
    let known = || ALL.iter().flat_map(|(_, variables)| variables.iter().map(|variable| variable.name));
    let meant = |name: &String| {
        let nearest = known().map(|other| (distance(name, other), other)).min()?;
        (name.starts_with("LATHIDE_") && (1..=SLIPS_MAX).contains(&nearest.0)).then_some(nearest.1)
    };
    names.into_iter().filter_map(|name| meant(&name).map(|other| (name, other))).collect()
}

/// Two letters in each other's place are two of them. With more it is another name, of somebody else.
const SLIPS_MAX: usize = 2;

/// How many letters must be put in, left out or replaced to make one name of the other.
fn distance(one: &str, other: &str) -> usize {
    let other = other.as_bytes();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, theirs) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *theirs);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_another_name_is_not() {
        let names =
            ["LATHIDE_WINDWO", "LATHIDE_DEADLOCKS", "LATHIDE_WINDOW", "LATHIDE_SEED", "LATHIDE_", "SIZE", "RUST_LOGS"];
        assert_eq!(
            misspelt(names.map(String::from)),
            [("LATHIDE_WINDWO".into(), "LATHIDE_WINDOW"), ("LATHIDE_DEADLOCKS".into(), "LATHIDE_DEADLOCK")]
        );
        assert_eq!([distance("", "abc"), distance("abc", "abc"), distance("kitten", "sitting")], [3, 0, 3]);
    }

    #[test]
    fn every_variable_has_its_lines_and_they_are_short() {
        let help = help();
        for (_, variables) in ALL {
            for variable in *variables {
                assert!(help.contains(&format!("\n  {}=", variable.name)), "{}", variable.name);
            }
        }
        assert!(help.lines().all(|line| line.len() <= 100), "{help}");
    }
}
