//! Completion in a shell: the shell asks this program, which knows its scenarios, controllers and all that `explain` explains, those of
//! plug-ins among them.

use std::ffi::{OsStr, OsString};
use std::io;

use anyhow::{Context as _, Result};
use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::Shells;
use slackwater_scenario::Plugins;

use crate::commands::explain;

/// Set by the script of [`script`] where a shell wants candidates.
const VARIABLE: &str = "COMPLETE";
const NAME: &str = "slackwater";

/// Names with what each is.
type Names = Vec<(String, String)>;

/// The candidates among `names` that begin with `typed`.
fn among(names: &Names, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let fit = names.iter().filter(|(name, _)| name.starts_with(&*typed));
    fit.map(|(name, what)| CompletionCandidate::new(name).help(Some(what.clone().into())))
        .collect()
}

fn owned(names: Vec<(&str, &str)>) -> Names {
    let own = |(name, what): (&str, &str)| (name.to_owned(), what.to_owned());
    names.into_iter().map(own).collect()
}

/// `command` whose arguments know scenarios (with files beside them), controllers and what has a name.
fn with_names(command: Command, plugins: &Plugins) -> Command {
    let scenarios = owned(slackwater_scenario::embedded_names());
    let controllers = owned(plugins.controllers().names());
    let scenario = ArgValueCompleter::new(move |typed: &OsStr| {
        let mut found = among(&scenarios, typed);
        found.extend(PathCompleter::any().complete(typed));
        found
    });
    let controller = ArgValueCompleter::new(move |typed: &OsStr| among(&controllers, typed));
    let explained = explain::names(plugins);
    let explained = ArgValueCompleter::new(move |typed: &OsStr| among(&explained, typed));
    command
        .mut_subcommand("run", |run| {
            run.mut_arg("scenario", |a| a.add(scenario.clone()))
        })
        .mut_subcommand("compare", |compare| {
            compare
                .mut_arg("scenario", |a| a.add(scenario.clone()))
                .mut_arg("controllers", |a| a.add(controller.clone()))
        })
        .mut_subcommand("explain", |explain| {
            explain.mut_arg("name", |a| a.add(explained.clone()))
        })
        // `new` takes words that clap knows; the name of one's own is nobody's to guess.
        .mut_subcommand("new", |new| {
            new.mut_arg("name", |a| {
                a.add(ArgValueCompleter::new(|_: &OsStr| vec![]))
            })
        })
}

/// Answers a shell that wants candidates: true where one did. `words` follow the command's name.
///
/// # Errors
/// Where the shell is not known or its words are not what its script sends.
pub(crate) fn answered(
    command: fn() -> Command,
    words: &[OsString],
    plugins: &Plugins,
) -> clap::error::Result<bool> {
    let all = std::iter::once(NAME.into()).chain(words.iter().cloned());
    CompleteEnv::with_factory(|| with_names(command(), plugins))
        .var(VARIABLE)
        .bin(NAME)
        .completer(NAME)
        .try_complete(all, std::env::current_dir().ok().as_deref())
}

/// Writes the script that makes `shell` ask this program.
pub(crate) fn script(shell: clap_complete::Shell, out: &mut dyn io::Write) -> Result<()> {
    let shells = Shells::builtins();
    let shell = shell.to_string();
    let known = shells
        .completer(&shell)
        .with_context(|| format!("found no completions for {shell}, expected a known shell"))?;
    known.write_registration(VARIABLE, NAME, NAME, NAME, out)?;
    Ok(())
}
