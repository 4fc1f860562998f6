//! The command `lathide`.

fn main() -> std::process::ExitCode {
    lathide_cli::main()
}
