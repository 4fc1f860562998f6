//! The manual's recipes, on many numbers of ranks: each compares its result with a sequential one.

use std::path::Path;
use std::process::Command;

use crate::examples::example;
use crate::process::run;

const RECIPES: [&str; 8] = ["jacobi", "summa", "farm", "sort", "transpose", "cg", "server", "hybrid"];

#[test]
fn a_recipe_has_at_most_60_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recipes");
    let mut found: Vec<String> = Vec::new();
    for entry in folder.read_dir().expect("the recipes") {
        let path = entry.expect("a file").path();
        let lines = std::fs::read_to_string(&path).expect("a program").lines().count();
        assert!(lines <= 60, "{}: {lines} lines", path.display());
        found.push(path.file_stem().expect("a name").to_string_lossy().into_owned());
    }
    found.sort_unstable();
    let mut expected = RECIPES;
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// Of so many ranks each.
fn ranks(numbers: [u32; 3]) {
    for name in RECIPES {
        for number in numbers {
            let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
            // Sixteen threads would only wait for two processors.
            command.args(["run", "-n", &number.to_string()]).arg(example(name)).env("RAYON_NUM_THREADS", "2");
            let ended = run(&mut command).succeeded();
            assert!(ended.stdout.contains(&format!("{name}: ")), "{name} on {number}: {ended:?}");
        }
    }
}

#[test]
fn recipes_on_few_ranks() {
    ranks([1, 2, 4]);
}

#[test]
fn recipes_on_many_ranks() {
    ranks([7, 8, 9]);
}
