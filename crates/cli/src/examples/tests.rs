use super::*;
use clap::CommandFactory as _;

/// Every command with its place, such as `trace show`.
fn walk(command: &Command, place: &str, out: &mut Vec<(String, String)>) {
    let help = command.get_after_help().map(ToString::to_string);
    out.push((place.to_owned(), help.unwrap_or_default()));
    for sub in command.get_subcommands() {
        let path = format!("{place} {}", sub.get_name());
        walk(sub, path.trim(), out);
    }
}

/// Words as a shell takes them; our examples have single quotes alone.
fn words(line: &str) -> Vec<String> {
    let mut out = vec![];
    for (k, part) in line.split('\'').enumerate() {
        if k % 2 == 1 {
            out.push(part.to_owned());
        } else {
            out.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    out
}

#[test]
fn every_command_has_examples_and_each_parses() {
    let all = crate::command();
    let mut found = vec![];
    walk(&all, "", &mut found);
    assert!(found.len() > 25, "only {} commands", found.len());
    let mut wrong = vec![];
    let mut count = 0;
    for (place, help) in &found {
        let lines: Vec<&str> = help
            .lines()
            .skip_while(|l| *l != HEAD)
            .skip(1)
            .map(str::trim)
            .collect();
        if lines.is_empty() {
            wrong.push(format!("`{place}` has no examples"));
        }
        for line in lines {
            count += 1;
            let parsed = crate::command().try_get_matches_from(words(line));
            if let Err(error) = parsed {
                wrong.push(format!("{line}: {error}"));
            }
            let own = format!("slackwater {place}");
            if !line.starts_with(own.trim()) {
                wrong.push(format!("`{place}` shows another command: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= found.len());
}

/// An example for a command that is not there would never be seen.
#[test]
fn every_example_is_of_a_command() {
    let mut found = vec![];
    walk(&crate::Cli::command(), "", &mut found);
    for (place, _) in EXAMPLES {
        assert!(found.iter().any(|f| f.0 == *place), "no command {place:?}");
    }
}
