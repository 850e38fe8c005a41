//! Commands with real packets on other systems than Linux: each is there, and ends with a message that names what it needs.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, bail};

/// Whatever follows such a command.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _words: Vec<OsString>,
}

/// Ends `what`.
pub(crate) fn refuse(what: &str) -> Result<ExitCode> {
    bail!(
        "{what}: needs Linux, found {}; simulation needs nothing of it",
        std::env::consts::OS
    )
}

/// A module with the names of a command's own.
macro_rules! commands {
    ($($name:ident: $args:ident, $run:ident($($plugins:ident)?);)*) => {
        $(pub(crate) mod $name {
            use std::process::ExitCode;

            pub(crate) use super::Words as $args;

            pub(crate) fn $run(_args: &$args $(, _plugins: &$plugins)?) -> anyhow::Result<ExitCode> {
                super::refuse(stringify!($name))
            }
            $(use slackwater_scenario::$plugins;)?
        })*
    };
}

commands! {
    emulate: EmulateArgs, run(Plugins);
    gnb: GnbArgs, run(Plugins);
    quic: QuicArgs, quic(Plugins);
    rtc: RtcArgs, rtc(Plugins);
    tcp: TcpArgs, tcp();
    upf: UpfArgs, upf();
}

/// `slackwater run --live`.
pub(crate) mod live {
    use std::process::ExitCode;

    use slackwater_scenario::Plugins;

    pub(crate) fn run(_args: &crate::RunArgs, _plugins: &Plugins) -> anyhow::Result<ExitCode> {
        super::refuse("--live")
    }
}
