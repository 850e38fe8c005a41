//! A way out: the packets of UEs leave this machine under its own addresses, for as long as an emulator runs.
//!
//! The rules are a table of nftables with an owner (`nft(8)`, `flags owner`): the kernel takes it away when the process that made it
//! ends, and that process, `nft`, ends when this one lets go of its input. So nothing stays behind a SIGKILL either.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::plan::Plan;
use crate::LiveError;
use crate::program::of_system;

/// Whether this machine passes packets from one interface to another.
const FORWARDS: &str = "/proc/sys/net/ipv4/ip_forward";
/// Time between two looks for the table.
const LOOK: Duration = Duration::from_millis(20);
/// Looks before a table that is not there is an error: 30 s, in which a busy machine starts any program.
const LOOKS: u32 = 1_500;

/// The table, which goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Nat(Child);

impl Drop for Nat {
    fn drop(&mut self) {
        // It ends with its input, and takes the table along.
        drop(self.0.stdin.take());
        let _ignored = self.0.wait();
    }
}

impl Nat {
    /// Translates what leaves the emulators of `plan`'s chain by another interface than `device`.
    ///
    /// # Errors
    /// Where this machine forwards nothing, has no `nft`, or refuses the table.
    pub(crate) fn start(plan: Plan, device: &str) -> Result<Self, LiveError> {
        let forwards = std::fs::read_to_string(FORWARDS).unwrap_or_default();
        if forwards.trim() != "1" {
            return Err(LiveError::Usage(format!(
                "--nat: found that this machine forwards no packets (net.ipv4.ip_forward = {}), expected 1: \
                 sysctl -w net.ipv4.ip_forward=1",
                forwards.trim()
            )));
        }
        let table = format!("slackwater_{}", std::process::id());
        let mut nft = of_system("nft", "nftables")?;
        let child = nft
            .arg("-i")
            // Ctrl-C is for the command behind the cell.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| LiveError::kernel("cannot run `nft`", e))?;
        let mut nat = Self(child);
        if let Some(input) = &mut nat.0.stdin {
            input
                .write_all(rules(&table, plan, device).as_bytes())
                .map_err(|e| LiveError::kernel("cannot write to `nft`", e))?;
        }
        nat.wait_for(&table)?;
        Ok(nat)
    }

    /// Waits until the rules of `table` are there.
    fn wait_for(&mut self, table: &str) -> Result<(), LiveError> {
        for _ in 0..LOOKS {
            let mut list = of_system("nft", "nftables")?;
            let seen = list.args(["list", "table", "ip", table]).output();
            let seen = seen.map_err(|e| LiveError::kernel("cannot run `nft`", e))?;
            if String::from_utf8_lossy(&seen.stdout).contains("masquerade") {
                return Ok(());
            }
            if self.0.try_wait().is_ok_and(|ended| ended.is_some()) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        drop(self.0.stdin.take());
        let mut said = String::new();
        if let Some(error) = &mut self.0.stderr {
            let _ignored = error.read_to_string(&mut said);
        }
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        Err(LiveError::Usage(format!(
            "--nat: `nft` made no table of its own (flags owner, Linux 5.12): {said}"
        )))
    }
}

/// The rules, a line each as `nft -i` takes them.
fn rules(table: &str, plan: Plan, device: &str) -> String {
    format!(
        "add table ip {table} {{ flags owner; }}\n\
         add chain ip {table} out {{ type nat hook postrouting priority srcnat; }}\n\
         add rule ip {table} out ip saddr {}/16 oifname != \"{device}\" masquerade\n",
        plan.network()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emulators_of_a_chain_are_translated_and_nobody_else() {
        let text = rules("t", Plan::default(), "sw0.0");
        let rule = "add rule ip t out ip saddr 100.64.0.0/16 oifname != \"sw0.0\" masquerade";
        assert_eq!(text.lines().last(), Some(rule));
        assert!(
            text.starts_with("add table ip t { flags owner; }\n"),
            "{text}"
        );
    }
}
