//! The examples below each command's `--help`. A test parses every one, and fails for a command that has none.

use clap::Command;

/// What a command is called below `slackwater`, and its examples.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("", &["slackwater run lte-demo", "slackwater list"]),
    (
        "run",
        &[
            "slackwater run lte-demo",
            "slackwater run lte-demo --set flow.controller=bbr --out runs/bbr",
            "slackwater run nr-demo --columns goodput,queue_p95,timeouts",
            "slackwater run my-cell.toml --seed 7 --csv",
        ],
    ),
    (
        "compare",
        &[
            "slackwater compare lte-demo --controllers cubic,bbr,copa --seeds 10",
            "slackwater compare lte-demo --vary 'cell.rlc.buffer=64 packets;256 packets'",
            "slackwater compare lte-demo --controllers cubic,xrc --until '2 %'",
        ],
    ),
    ("ls", &["slackwater ls", "slackwater ls results --csv"]),
    (
        "show",
        &[
            "slackwater show runs/lte-demo",
            "slackwater show lte-demo --set flow.controller=bbr",
        ],
    ),
    ("diff", &["slackwater diff runs/lte-demo runs/bbr"]),
    (
        "rerun",
        &["slackwater rerun runs/lte-demo", "slackwater rerun bundle"],
    ),
    ("rm", &["slackwater rm runs/lte-demo runs/bbr"]),
    (
        "bundle",
        &["slackwater bundle runs/lte-demo-compare --out paper"],
    ),
    (
        "emulate",
        &[
            "slackwater emulate --cell lte -- curl http://{server}:8000/",
            "slackwater emulate --trace driving.down --server 'iperf3 -s' -- iperf3 -c {server} -R",
            "slackwater emulate --rate 12 --delay 20ms --queue '64 packets' -- ping -c 5 {server}",
        ],
    ),
    (
        "upf",
        &[
            "slackwater upf --config upf.toml --check",
            "slackwater upf --config upf.toml",
        ],
    ),
    ("gnb", &["slackwater gnb gnb.toml -- ping -c 5 10.60.0.1"]),
    (
        "trace",
        &[
            "slackwater trace stats driving.down",
            "slackwater trace show driving.down",
        ],
    ),
    (
        "trace import",
        &["slackwater trace import rates.csv --out driving.down"],
    ),
    ("trace show", &["slackwater trace show driving.down"]),
    (
        "trace stats",
        &["slackwater trace stats driving.down walking.down"],
    ),
    ("tcp", &["slackwater tcp xrc -- iperf3 -s"]),
    ("tcp xrc", &["slackwater tcp xrc -- iperf3 -s"]),
    (
        "tcp ebb",
        &["slackwater tcp ebb --reports 4434 -- iperf3 -s"],
    ),
    (
        "quic",
        &[
            "slackwater quic serve files --cc bbr",
            "slackwater quic get 192.0.2.7 --seconds 20",
        ],
    ),
    (
        "quic serve",
        &[
            "slackwater quic serve files --cc bbr",
            "slackwater quic serve --listen 0.0.0.0:4433",
        ],
    ),
    (
        "quic get",
        &[
            "slackwater quic get 192.0.2.7 big.bin",
            "slackwater quic get 192.0.2.7 --seconds 20",
        ],
    ),
    (
        "rtc",
        &[
            "slackwater rtc send --cc cl4s",
            "slackwater rtc receive http://127.0.0.1:8090",
        ],
    ),
    (
        "rtc send",
        &[
            "slackwater rtc send --cc cl4s",
            "slackwater rtc send --cc sl4s --listen 0.0.0.0:8090 --start 2 --most 50",
            "slackwater rtc send --cc ebb-media --reports 0.0.0.0:4434",
        ],
    ),
    (
        "rtc receive",
        &[
            "slackwater rtc receive http://127.0.0.1:8090",
            "slackwater rtc receive http://192.0.2.7:8090 --seconds 60 --json",
        ],
    ),
    ("rtc bench", &["slackwater rtc bench --load 20"]),
    ("schema", &["slackwater schema"]),
    (
        "list",
        &[
            "slackwater list",
            "slackwater list controllers laws",
            "slackwater list traces --columns name",
        ],
    ),
    (
        "validate",
        &["slackwater validate", "slackwater validate ns3-lte --json"],
    ),
    (
        "repro",
        &[
            "slackwater repro xrc",
            "slackwater repro tyrus --only fig3 --quick",
            "slackwater repro all --claims --csv",
        ],
    ),
    (
        "claims",
        &["slackwater claims", "slackwater claims vaqm --csv"],
    ),
    (
        "arena",
        &[
            "slackwater arena --quick",
            "slackwater arena --cells lte-steps,rival --systems cubic,xrc --seeds 5",
            "slackwater arena --list",
        ],
    ),
    (
        "serve",
        &["slackwater serve", "slackwater serve results --port 8080"],
    ),
    (
        "train",
        &[
            "slackwater train tyrus --generations 3",
            "slackwater train ebb",
        ],
    ),
    ("sweep", &["slackwater sweep grid.toml --jobs 4"]),
    (
        "sql",
        &["slackwater sql 'select name, goodput_mbps from runs'"],
    ),
    ("bench", &["slackwater bench", "slackwater bench --json"]),
    ("doctor", &["slackwater doctor"]),
    ("completions", &["slackwater completions bash"]),
    ("man", &["slackwater man man1"]),
];

const HEAD: &str = "Examples:";

fn text(examples: &[&str]) -> String {
    let lines: Vec<String> = examples.iter().map(|e| format!("  {e}")).collect();
    format!("{HEAD}\n{}", lines.join("\n"))
}

/// `command` with its examples and those of its subcommands.
pub(crate) fn shown(command: Command) -> Command {
    below(command, "")
}

fn below(command: Command, name: &str) -> Command {
    let own = EXAMPLES.iter().find(|(of, _)| *of == name);
    let command = match own {
        Some((_, examples)) => command.after_help(text(examples)),
        None => command,
    };
    command.mut_subcommands(|sub| {
        let own = sub.get_name().to_owned();
        let path = match name {
            "" => own,
            _ => format!("{name} {own}"),
        };
        below(sub, &path)
    })
}

#[cfg(test)]
mod tests;
