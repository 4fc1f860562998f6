//! Environment variables in the command's help, and those that are misspelt.

use lathide::launcher::variables::ALL;

use crate::nearest::nearest;

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
    let meant = |name: &String| if name.starts_with("LATHIDE_") { nearest(name, known()) } else { None };
    names.into_iter().filter_map(|name| meant(&name).map(|other| (name, other))).collect()
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
