//! Standard output: results only, and a quiet end where nobody reads on.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// Prints `text`; ends the process where the reader closed the pipe.
pub(crate) fn print(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    if let Err(e) = out.write_fmt(text).and_then(|()| out.flush()) {
        if e.kind() == ErrorKind::BrokenPipe {
            std::process::exit(0);
        }
        eprintln!("slackwater: cannot write to standard output: {e}");
        std::process::exit(2);
    }
}

/// Prints a line of results.
macro_rules! say {
    () => { $crate::say::print(format_args!("\n")) };
    ($($arg:tt)+) => { $crate::say::print(format_args!("{}\n", format_args!($($arg)+))) };
}
pub(crate) use say;

/// `text` without the numbers that Rust puts behind the system's words: "No such file or directory (os error 2)".
pub(crate) fn in_words(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => {
                out.push_str(rest);
            }
            _ => {
                out.push_str(" (os error ");
                out.push_str(part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn the_systems_numbers_are_left_out() {
        for (text, wanted) in [
            (
                "a: No such file (os error 2): b (os error 13)",
                "a: No such file: b",
            ),
            ("nothing (of that)", "nothing (of that)"),
            ("cut (os error 2", "cut (os error 2"),
            ("named (os error x)", "named (os error x)"),
        ] {
            assert_eq!(in_words(text), wanted);
        }
    }
}
