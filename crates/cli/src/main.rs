//! The `slackwater` command.

fn main() -> std::process::ExitCode {
    slackwater_cli::main_with(&slackwater_scenario::Plugins::new())
}
