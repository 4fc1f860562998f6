//! What programs rely on in the JSON objects of the measuring commands: the members that tests/golden/schemas.txt lists are there, and are
//! of that type.

use std::process::Command;

use serde_json::Value;

use crate::process::run;

/// A command for each schema, short.
const COMMANDS: [(&str, &str); 4] = [
    ("lathide-gain-2", "gain --rows 500 --gamma 0.5,1,2 --repeats 6 --steps 1 --link delay=1ms,rate=100mbit"),
    ("lathide-gain-program-2", "gain --repeats 6 -n 2 -- true"),
    ("lathide-link-2", "link --bytes 8,64KiB --repeats 1 --seconds 2"),
    ("lathide-collectives-2", "collectives -n 2 --operations broadcast --bytes 8,64KiB --repeats 6 --seconds 1"),
];

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn every_member_that_is_promised_is_there_and_of_its_type() {
    let promised = include_str!("../golden/schemas.txt");
    for (schema, line) in COMMANDS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
        let finished = run(command
            .args(line.split(' ').take_while(|word| *word != "--"))
            .arg("--json")
            .args(line.split(' ').skip_while(|word| *word != "--")))
        .succeeded();
        let result: Value = serde_json::from_str(&finished.stdout).expect("one JSON object");
        assert_eq!(result["schema"], schema);
        let of = promised.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let of = of.filter_map(|line| line.strip_prefix(schema).or_else(|| line.strip_prefix("all"))?.split_once(": "));
        let mut members = 0;
        for (pointer, kinds) in of {
            let value = result.pointer(pointer.trim()).unwrap_or_else(|| panic!("{schema} has no {pointer}: {result}"));
            assert!(kinds.split('|').any(|known| known == kind(value)), "{schema} {pointer} is {value}, not {kinds}");
            members += 1;
        }
        assert!(members > 10, "{schema}: {members}");
    }
}
