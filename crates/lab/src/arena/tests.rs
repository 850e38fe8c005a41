use std::path::PathBuf;
use std::sync::Mutex;

use slackwater_control::registry::Plugin;
use slackwater_control::{Ack, CongestionEvent, Controller, Intent, PathView};
use slackwater_core::{Bytes, Instant};
use slackwater_scenario::media::Frames;
use slackwater_scenario::plugins::OwnAgent;
use slackwater_scenario::{App, Plugins};

use super::*;
use crate::run::Control;

/// Three systems in a cell with a rival and one without, short.
fn small() -> Plan {
    Plan::new(&Options {
        seeds: 2,
        quick: true,
        cells: vec!["rival".to_owned(), "lte-steps".to_owned()],
        systems: ["cubic", "xrc", "cubic+vaqm"].map(str::to_owned).to_vec(),
        ..Options::default()
    })
    .expect("names of the set")
}

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("slackwater-arena-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn row(plan: &Plan, task: &Task) -> Row {
    work(plan, task, &mut |_| Control::Continue, &mut |_| {}).expect("a task of the set")
}

/// Each cell takes each of its systems, and each controller exists.
#[test]
fn the_published_set_is_whole() {
    let set = Set::published();
    assert!(set.places.len() >= 15, "{}", set.places.len());
    for place in &set.places {
        for key in &place.front {
            assert!(Measure::find(key).is_some(), "{}: {key}", place.name);
        }
        let systems = set.systems_of(place);
        assert!(systems.len() >= 4, "{} has {}", place.name, systems.len());
        for system in systems {
            let mut scenario = place.scenario(true).expect("a scenario that holds");
            for (key, value) in set.changes(place, &system) {
                scenario = scenario
                    .with(&key, &value)
                    .unwrap_or_else(|e| panic!("{}, {}: {e}", place.name, system.name));
            }
            scenario
                .check_controllers()
                .unwrap_or_else(|e| panic!("{}, {}: {e}", place.name, system.name));
        }
    }
}

#[test]
fn every_controller_that_stands_for_a_system_is_in_it() {
    let set = Set::published();
    for name in [
        "xrc", "tyrus", "rule2", "bbr", "bbr3", "copa", "cubic", "reno", "vegas", "prague",
        "sprout", "pbe", "claw", "dctcp", "abc", "al4s-c", "al4s-s", "scream", "gcc", "l4s-cc",
    ] {
        assert!(set.systems.iter().any(|s| s.sender == name), "{name}");
    }
    for name in ["ebb", "ebb-media"] {
        assert!(set.systems.iter().any(|s| s.sender == name), "{name}");
    }
    for edge in [
        "vaqm",
        "codel",
        "fq-codel",
        "l4s",
        "marker",
        "dualpi2",
        "cecc-credit",
        "router",
        "zhuge",
    ] {
        assert!(set.systems.iter().any(|s| s.edge == edge), "{edge}");
    }
}

#[test]
fn a_set_that_names_what_there_is_not_is_refused() {
    let text = "cell = []\nedge = []\n[[compete]]\nclass = \"vr\"\nedge = \"x\"\nsenders = []\nquick = []\n";
    let said = Set::parse(text).expect_err("no such edge");
    assert!(said.contains("\"x\""), "{said}");
    let options = Options {
        systems: vec!["cubik".to_owned()],
        ..Options::default()
    };
    let said = Plan::new(&options).expect_err("no such system").to_string();
    assert!(said.contains("cubik") && said.contains("cubic"), "{said}");
}

/// A run of the arena that is killed and taken up again gives the table of one that was not.
#[test]
fn an_interruption_changes_no_number() {
    let plan = small();
    let whole: Vec<Row> = plan.tasks.iter().map(|t| row(&plan, t)).collect();
    let expected = Table::new(&plan, &whole);

    let folder = folder("resume");
    {
        let mut store = store::Store::open(&folder, &plan).expect("a folder");
        for task in &plan.tasks[..5] {
            store.add(row(&plan, task)).expect("a line");
        }
    }
    // The kill cut a line off, an older version left one, and a disk fault one that is no text.
    let lines = folder.join(store::LINES);
    let mut text = std::fs::read_to_string(&lines).expect("lines");
    let old = text
        .lines()
        .next()
        .expect("a line")
        .replace("\"key\":\"", "\"key\":\"0");
    let cut = text.lines().last().expect("a line").to_owned();
    text.push_str(&old);
    text.push('\n');
    text.push_str(&cut[..cut.len() / 2]);
    let mut bytes = b"\xff\n".to_vec();
    bytes.extend(text.as_bytes());
    std::fs::write(&lines, bytes).expect("lines");

    let mut store = store::Store::open(&folder, &plan).expect("a folder");
    let left = store.left(&plan);
    assert_eq!(left, plan.tasks[5..].to_vec());
    // In another order than the first time.
    for task in left.iter().rev() {
        store.add(row(&plan, task)).expect("a line");
    }
    let again = store::Store::open(&folder, &plan).expect("a folder");
    assert!(again.left(&plan).is_empty());
    let table = Table::new(&plan, again.rows());
    assert_eq!(table, expected);
    let json = serde_json::to_string(&table).expect("a table");
    assert_eq!(json, serde_json::to_string(&expected).expect("a table"));
    assert!(table.frame().rows() > 20);
    let _ = std::fs::remove_dir_all(&folder);

    // What it says: three systems in each cell, nobody in none, and harm where there is a rival.
    for cell in &table.cells {
        let names: Vec<&str> = cell.systems.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["xrc", "cubic", "cubic+vaqm"], "{}", cell.name);
        let has_harm = cell.systems.iter().all(|s| s.values.contains_key("harm"));
        assert_eq!(has_harm, cell.name == "rival");
        assert!(cell.systems.iter().any(|s| s.on_front));
    }
    let steps = &table.cells[0];
    let delay = |i: usize| steps.systems[i].values["delay_p95"].mean;
    assert!(delay(1) > 2.0 * delay(2), "vAQM shortens CUBIC's queue");
}

/// What others put in place of the lines, or among them.
#[test]
fn a_store_waits_for_no_pipe_and_takes_no_line_without_end() {
    let plan = small();
    let folder = folder("store");
    std::fs::create_dir_all(&folder).expect("a folder");
    let lines = folder.join(store::LINES);
    let made = std::process::Command::new("mkfifo").arg(&lines).status();
    assert!(made.is_ok_and(|s| s.success()), "mkfifo");
    let error = store::Store::open(&folder, &plan).expect_err("a pipe");
    assert!(error.to_string().contains(store::LINES), "{error}");
    std::fs::remove_file(&lines).expect("it is ours");

    // A line of 2 MiB that would be a row but for its length.
    let first = row(&plan, &plan.tasks[0]);
    let text = serde_json::to_string(&first).expect("a row");
    let long = format!("{{{}{}\n", " ".repeat(2 << 20), &text[1..]);
    std::fs::write(&lines, &long).expect("a file");
    let store = store::Store::open(&folder, &plan).expect("a folder");
    assert_eq!(store.rows().count(), 0);
    std::fs::write(&lines, format!("{long}{text}\n")).expect("a file");
    let store = store::Store::open(&folder, &plan).expect("a folder");
    assert_eq!(store.rows().count(), 1);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn the_command_of_an_entry_makes_its_run() {
    let plan = small();
    let task = plan
        .tasks
        .iter()
        .find(|t| t.system == "cubic+vaqm" && t.cell == "rival")
        .expect("it is in the plan");
    let command = plan.command(task).expect("a command");
    let mut words = command.split(" --set ");
    assert_eq!(words.next(), Some("slackwater run arena/rival"));
    let text = slackwater_scenario::embedded::embedded("arena/rival").expect("embedded");
    let mut scenario = slackwater_scenario::Scenario::from_toml(&text, ".").expect("a scenario");
    for word in words {
        let set = word
            .split(" --seed")
            .next()
            .expect("a part")
            .trim_matches('\'');
        let (key, value) = set.split_once('=').expect("key=value");
        scenario = scenario.with(key, value).expect("a change");
    }
    let mut ours = plan.set.scenario(task).expect("the task's");
    ours.seed = scenario.seed;
    assert_eq!(scenario.to_toml(), ours.to_toml());
}

/// Estimates are of the order of what it takes, and a cost is told for each sender.
#[test]
fn the_length_is_told_beforehand() {
    let plan = small();
    let told = estimate(&plan, &plan.tasks).expect("an estimate");
    let took = Mutex::new(0.0);
    for task in &plan.tasks {
        *took.lock().expect("one thread") += row(&plan, task).cpu_s;
    }
    let took = took.into_inner().expect("one thread");
    assert!(
        told > took / 6.0 && told < took * 6.0,
        "{told} told, {took} took"
    );
    let costs = cost::measure(&plan).expect("costs");
    assert_eq!(costs.len(), 3);
    assert!(costs.iter().all(|c| c.ns > 10.0), "{costs:?}");
}

/// A window that stands still.
#[derive(Clone, Debug)]
struct Still;

impl Controller for Still {
    fn on_congestion(&mut self, _now: Instant, _path: &PathView, _event: &CongestionEvent) {}
    fn on_ack(&mut self, _now: Instant, _path: &PathView, _ack: &Ack) {}
    fn intent(&self) -> Intent {
        Intent {
            window: Some(Bytes(20 * 1448)),
            ..Intent::default()
        }
    }
    fn name(&self) -> &'static str {
        "still"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// An agent without a report.
struct Mute;

impl slackwater_signal::Observer for Mute {}

impl slackwater_edge::Agent for Mute {}

/// A look at one cell, with systems that the set lacks.
fn extended(also: &[&str], program: &str) -> Result<Plan, TaskError> {
    let still = Plugin::new("still", "20 segments", |_| Still);
    let agent = OwnAgent::new("mute", "says nothing", |_, _| Ok(Box::new(Mute)));
    let plugins = Plugins::new().with_controller(still);
    let plugins = plugins.and_then(|p| p.with_agent(agent));
    let plugins = plugins.expect("free names");
    let options = Options {
        seeds: 1,
        quick: true,
        cells: vec!["lte-steps".to_owned()],
        systems: vec!["cubic".to_owned()],
        also: also.iter().map(|s| (*s).to_owned()).collect(),
        ..Options::default()
    };
    Plan::with_plugins(&options, &plugins, program)
}

/// Rows of the published set are shared with every other program, rows of a plug-in with the same build of it alone.
#[test]
fn a_row_of_ones_own_is_kept_by_the_build_that_made_it() {
    let also = ["still", "cubic+pie", "xrc:theta=3"];
    let [a, b] = ["a", "b"].map(|program| extended(&also, program).expect("they can be had"));
    let systems: Vec<&str> = a.tasks.iter().map(|t| t.system.as_str()).collect();
    assert_eq!(systems, ["cubic", "still", "cubic+pie", "xrc:theta=3"]);
    assert_eq!(a.added(&a.tasks), ["cubic+pie", "still", "xrc:theta=3"]);
    let same: Vec<bool> = a.tasks.iter().map(|t| a.key(t) == b.key(t)).collect();
    assert_eq!(same, [true, false, true, true]);
    assert_eq!(a.key(&a.tasks[0]), small().key(&a.tasks[0]));

    let rows: Vec<Row> = a.tasks.iter().map(|t| row(&a, t)).collect();
    let table = Table::new(&a, &rows);
    let still = &table.cells[0].systems[1];
    assert_eq!(
        (still.name.as_str(), still.edge.as_str()),
        ("still", "none")
    );
    let told = |system: &str| {
        let plan = extended(&[system], "a").expect("it can be had");
        assert_eq!(plan.tasks[1].system, system);
        row(&plan, &plan.tasks[1]).values["delay_p95"]
    };
    let (xrc, mute) = (told("xrc:theta=3"), told("xrc:theta=3+mute"));
    assert!(
        mute > 5.0 * xrc,
        "without reports XRC fills the buffer: {xrc}, {mute}"
    );
    assert!(still.values["delay_p95"].mean < table.cells[0].systems[0].values["delay_p95"].mean);
}

#[test]
fn what_a_row_of_ones_own_lacks_is_named() {
    let error = |name: &str| {
        let wrong = extended(&[name], "").expect_err(name);
        wrong.to_string()
    };
    for (name, expected) in [
        ("stil", "still"),
        ("still+vaq", "cubic+vaqm"),
        ("still:3", "expected no parameters"),
        ("xrc:theta=x", "found \"x\" for theta"),
    ] {
        assert!(error(name).contains(expected), "{name}: {}", error(name));
    }
}

/// Every media cell is there with either source, and vAQM meets an upload of the same user.
#[test]
fn cells_with_real_frames_and_with_uploads_are_there() {
    let set = Set::published();
    let media = |p: &&Place| p.class == Class::Media;
    let (chromium, even): (Vec<_>, Vec<_>) = set
        .places
        .iter()
        .filter(media)
        .partition(|p| p.name.ends_with("-chromium"));
    assert_eq!(chromium.len(), even.len());
    let frames = |place: &Place| {
        let scenario = place.scenario(false).expect("a scenario that holds");
        let App::Media(media) = &scenario.flows[0].app else {
            panic!("{}: expected media", place.name);
        };
        media.frames
    };
    for place in even {
        let twin = set.place(&format!("{}-chromium", place.name));
        let twin = twin.unwrap_or_else(|| panic!("{} has no twin", place.name));
        assert_eq!(frames(place), Frames::Even, "{}", place.name);
        assert_eq!(frames(twin), Frames::Chromium, "{}", twin.name);
        // Nothing else is other than there.
        let rest = |place: &Place| {
            let mut scenario = place.scenario(false).expect("a scenario that holds");
            (scenario.name, scenario.title) = (String::new(), None);
            for flow in &mut scenario.flows {
                if let App::Media(media) = &mut flow.app {
                    media.frames = Frames::Even;
                }
            }
            scenario.to_toml()
        };
        assert_eq!(rest(twin), rest(place), "{}", twin.name);
    }

    for name in ["upload", "upload-nr"] {
        let place = set.place(name).expect("a cell of the set");
        let systems = set.systems_of(place);
        for wanted in [
            "cubic",
            "cubic+codel",
            "cubic+vaqm",
            "cubic+zhuge",
            "prague+marker",
        ] {
            assert!(systems.iter().any(|s| s.name == wanted), "{name}: {wanted}");
        }
    }
}

/// A download keeps nine tenths of its rate behind vAQM while its user uploads (docs/vaqm.md has the studies' figure).
#[test]
fn vaqm_keeps_a_download_beside_an_upload() {
    let plan = Plan::new(&Options {
        seeds: 1,
        cells: vec!["upload".to_owned()],
        systems: ["cubic", "cubic+vaqm"].map(str::to_owned).to_vec(),
        ..Options::default()
    })
    .expect("names of the set");
    let goodput = |system: &str| {
        let task = plan.tasks.iter().find(|t| t.system == system);
        row(&plan, task.expect("a task of the plan")).values["goodput"]
    };
    let (alone, behind) = (goodput("cubic"), goodput("cubic+vaqm"));
    assert!(behind > 0.9 * alone, "{behind} and {alone} Mbit/s");
}

/// A plan of drawn cells, one seed each.
fn drawn(drawings: &[&str], cells: &[&str], systems: &[&str]) -> Plan {
    let drawings = drawings.iter().map(|d| d.parse().expect("a drawing"));
    Plan::new(&Options {
        seeds: 1,
        quick: true,
        cells: cells.iter().map(|s| (*s).to_owned()).collect(),
        systems: systems.iter().map(|s| (*s).to_owned()).collect(),
        drawn: drawings.collect(),
        ..Options::default()
    })
    .expect("names of the set")
}

/// Every system that is listed for a drawn cell can be run in it, whatever queue was drawn.
#[test]
fn every_system_fits_the_drawn_cells_that_it_is_in() {
    let kinds = slackwater_scenario::drawn::Kind::ALL;
    let drawings = kinds.map(|(_, name, _)| format!("{name}:1-12"));
    let drawings: Vec<&str> = drawings.iter().map(String::as_str).collect();
    let plan = drawn(&drawings, &[], &[]);
    assert_eq!(plan.set.places.len(), 12 * kinds.len());
    for task in &plan.tasks {
        let scenario = plan.set.scenario(task);
        let checked = scenario.map(|s| s.check_controllers());
        assert!(matches!(checked, Ok(Ok(()))), "{task:?}: {checked:?}");
    }
    // A base station reports to XRC, and a link with a queue for each flow takes no law.
    let has = |cell: &str, system: &str| {
        let mut tasks = plan.tasks.iter();
        tasks.any(|t| t.cell.starts_with(cell) && t.system == system)
    };
    assert!(has("bulk-", "xrc") && !has("link-", "xrc"));
    let links = |system: &str| {
        plan.tasks
            .iter()
            .filter(|t| t.cell.starts_with("link-") && t.system == system)
            .count()
    };
    assert!(links("prague+l4s") < links("cubic"));
}

#[test]
fn drawn_cells_stand_in_place_of_the_set_but_for_those_that_are_named() {
    let plan = drawn(&["bulk:3-4"], &["rival"], &["bbr", "cubic"]);
    let names: Vec<&str> = plan.set.places.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["rival", "bulk-3", "bulk-4"]);

    let rows: Vec<Row> = plan.tasks.iter().map(|t| row(&plan, t)).collect();
    let table = Table::new(&plan, &rows);
    let [overall] = &table.overall[..] else {
        panic!("{:?}", table.overall);
    };
    assert_eq!(
        (overall.kind.as_str(), overall.base.as_str(), overall.cells),
        ("bulk", "bbr", 2)
    );
    let task = plan
        .tasks
        .iter()
        .find(|t| t.cell == "bulk-4" && t.system == "cubic");
    let command = plan.command(task.expect("a task of the plan"));
    assert!(command.is_some_and(|c| c.starts_with("slackwater run drawn/bulk-4 ")));
}

/// The values of the first of the cells of `drawing` where its path is cut, and its length in ms.
fn cut(drawing: &str) -> (Values, f64) {
    let plan = drawn(&[drawing], &[], &["cubic"]);
    let place = plan.set.places.first().expect("some");
    let scenario = plan.set.base(place, true).expect("well-formed");
    let dead = scenario
        .with("path.loss", "100 %")
        .expect("a path that is cut");
    let run = crate::run::run_scenario(&dead, 1, &mut |_| Control::Continue).expect("it runs");
    (measure::values(place, &run), dead.duration.as_millis_f64())
}

/// Where no transfer ends, one took as long as the run, and all frames are late.
#[test]
fn a_run_without_an_end_of_a_transfer_counts_as_one_that_took_all_of_it() {
    let (values, length) = cut("apps:1-40");
    assert_eq!((values["fct_p50"], values["fct_p95"]), (length, length));
    let (values, _) = cut("vr:1-4");
    assert_eq!((values["late"], values["satisfied"]), (100.0, 0.0));
}

/// In vr-70 the cell holds two thirds of the frames. Those that lost a packet never ended, and their late bytes were counted with the few that did.
#[test]
fn late_bytes_are_a_share_and_lost_datagrams_are_late() {
    let plan = drawn(&["vr:64-70"], &[], &["cubic", "udp", "udp+cecc-hold"]);
    for task in &plan.tasks {
        let Row { task, values, .. } = row(&plan, task);
        let [late, loss] = ["late", "loss"].map(|key| values[key]);
        assert!((0.0..=100.0).contains(&late), "{task:?}: {late}");
        // What was lost at the ends of what is measured may count once alone.
        let udp = task.system.starts_with("udp");
        assert!(!udp || late > loss - 0.1, "{task:?}: {late} and {loss}");
    }
}
