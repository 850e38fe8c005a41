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
