use slackwater_core::{Draw, Duration, Instant, Rate};

use super::*;
use crate::phy::xrc::{self, Params};
use crate::{Ack, CongestionEvent, Feedback, Intent, PathView};

#[test]
fn every_name_builds_and_an_unknown_one_says_which_exist() {
    let cfg = Config::new(1448, Draw::new(1));
    for (name, about) in names() {
        let c = build(name, &cfg).expect("a listed name builds");
        assert_eq!(c.name(), name);
        assert!(!about.is_empty());
        assert!(c.intent().window.is_some());
    }
    let err = build("cubik", &cfg).unwrap_err();
    assert!(err.to_string().contains("\"cubik\"") && err.to_string().contains("cubic-ns3"));
    assert_eq!(build("newreno", &cfg).unwrap().name(), "reno");
    assert_eq!(
        build("fixed:3", &cfg).unwrap().intent().window.unwrap().0,
        3 * 1448
    );
    assert!(build("fixed:0", &cfg).is_err());
    let AnyController::Copa(copa) = build("copa:delta=0.1", &cfg).unwrap() else {
        panic!("Copa has a parameter");
    };
    assert!((copa.delta() - 0.1).abs() < 1e-12 && copa.name() == "copa");
    for name in [
        "verus:r=2",
        "vivace:latency=0",
        "allegro:latency=1",
        "exll:g=0.2",
    ] {
        assert_eq!(build(name, &cfg).unwrap().name(), base(name));
        assert_eq!(modes(name).unwrap().len(), 3, "{name}");
    }
    let acks = build("exll:blocks=0", &cfg).unwrap();
    assert!(!acks.takes_blocks());
    for wrong in [
        "verus:r=0",
        "vivace:x=1",
        "allegro:latency=2",
        "exll:g=0",
        "copa:delta=0",
        "copa:delta=NaN",
        "copa:0.1",
        "reno:delta=1",
    ] {
        assert!(build(wrong, &cfg).is_err(), "{wrong}");
    }
    assert_eq!(modes("copa-default:delta=0.1").unwrap().len(), 3);
}

#[test]
fn what_an_entry_says_is_true_of_what_it_builds() {
    let cfg = Config::new(1448, Draw::new(1));
    let mut taken = std::collections::BTreeSet::new();
    for entry in entries() {
        let Listed { name, .. } = entry;
        for word in [&[name], entry.aliases].concat() {
            assert!(taken.insert(word), "{word} names two controllers");
            assert!(!word.is_empty() && !word.contains(':'), "{word}");
            assert_eq!(
                (canonical(word), base(&format!("{word}:x=1"))),
                (name, name)
            );
        }
        assert!(!entry.title.is_empty() && !entry.about.is_empty(), "{name}");
        assert_eq!(title(name), entry.title);

        let mut internals = vec![];
        let (own, reports, ecn) = match entry.kind {
            Kind::Transport => {
                let c = build(name, &cfg).expect("a name alone builds");
                c.snapshot(&mut internals);
                let reports = match (c.takes_reports(), c.takes_blocks()) {
                    (true, _) => Reports::Share,
                    (_, true) => Reports::Blocks,
                    _ if c.takes_counters() => Reports::Counters,
                    _ => Reports::None,
                };
                (c.name().to_owned(), reports, c.intent().ecn)
            }
            Kind::Media => {
                let c = build_media(name, &cfg).expect("a name alone builds");
                c.snapshot(&mut internals);
                assert!(!c.takes_reports(), "{name}");
                let reports = if c.takes_counters() {
                    Reports::Counters
                } else {
                    Reports::None
                };
                (c.name().to_owned(), reports, c.intent().ecn)
            }
        };
        assert_eq!((own.as_str(), reports), (name, entry.reports));
        // SCReAM goes by its own queue delay where nobody marks (RFC 8298).
        let marks = ecn.is_proportional() && !name.starts_with("scream");
        assert_eq!(marks, entry.marks != Marks::None, "{name}");

        let mode = internals.iter().find(|(key, _)| *key == "mode");
        assert_eq!(mode.is_some(), entry.modes.is_some(), "{name}");
        let nothing = match entry.kind {
            Kind::Transport => build(&format!("{name}:"), &cfg).map(drop).unwrap_err(),
            Kind::Media => build_media(&format!("{name}:"), &cfg)
                .map(drop)
                .unwrap_err(),
        };
        assert!(nothing.to_string().contains("found nothing"), "{nothing}");
    }
    assert_eq!(title("nobody's"), "nobody's");
}

#[test]
fn media_controllers_build_by_name_and_set_a_target() {
    let encoder = Encoder {
        start: Rate::from_mbps(3.0),
        ..Encoder::DEFAULT
    };
    let cfg = Config::new(1160, Draw::new(1)).with_encoder(encoder);
    for (name, about) in media_names() {
        let c = build_media(name, &cfg).expect("a listed name builds");
        assert_eq!(c.name(), name);
        assert!(!about.is_empty());
        assert_eq!(c.intent().target, Some(encoder.start), "{name}");
        assert!(c.intent().pacing >= c.intent().target);
    }
    assert_eq!(build_media("cl4s", &cfg).unwrap().name(), "al4s-c");
    let AnyMedia::Al4s(c) = build_media("sl4s:paper,te=25", &cfg).unwrap() else {
        panic!("sl4s is an alias");
    };
    assert_eq!(c.params().share, None);
    let cfg = cfg.with_service(Duration::from_millis(150));
    for (name, te) in [("sl4s", 150), ("sl4s:paper", 150), ("sl4s:te=25", 25)] {
        let AnyMedia::Al4s(c) = build_media(name, &cfg).unwrap() else {
            panic!("{name} is aL4S-CC");
        };
        assert_eq!(c.params().target, Duration::from_millis(te), "{name}");
    }
    let wrong = build_media("al4s-c:te=1", &cfg).unwrap_err().to_string();
    let tcp = build_media("cubic", &cfg).unwrap_err().to_string();
    assert!(
        tcp.contains("found a controller of TCP, expected one of media"),
        "{tcp}"
    );
    let media = build("gcc", &cfg).unwrap_err().to_string();
    assert!(
        media.contains("found a controller of media, expected one of TCP"),
        "{media}"
    );
    assert!(
        wrong.contains("te: found \"1\", expected a number from 6"),
        "{wrong}"
    );
}

#[test]
fn parameters_of_xrc_are_set_by_name_and_an_error_names_them() {
    let cfg = Config::new(1448, Draw::new(1));
    let name = "xrc:n=5,theta=0,internet=paper,gain=1.25,start=off,alpha=twnd4";
    let AnyController::Xrc(c) = build(name, &cfg).unwrap() else {
        panic!("{name} builds XRC");
    };
    let p = c.params();
    assert_eq!(
        (p.rounds, p.theta, p.fast_gain, p.start),
        (5, 0.0, 1.25, false)
    );
    assert_eq!(
        (p.beyond, p.alpha),
        (xrc::Beyond::Paper, xrc::Alpha::Quarter)
    );
    assert_eq!(p.lambda, Params::DEFAULT.lambda);
    assert_eq!((c.name(), modes(name)), ("xrc", Some(xrc::MODES)));
    let wrong = |name| build(name, &cfg).unwrap_err().to_string();
    assert_eq!(
        wrong("xrc:n=0"),
        "controller \"xrc:n=0\": n: found \"0\", expected a whole number from 1 to 1000 (RTTs)"
    );
    assert!(wrong("xrc-paper:m=1").contains("m: found \"1\", expected one of lambda"));
    assert!(wrong("xrc:n").contains("found \"n\", expected key=value"));
    assert!(wrong("xrd:n=1").contains("known are"));
}

#[derive(Clone, Debug)]
struct Still(u32);

impl Controller for Still {
    fn on_ack(&mut self, _: Instant, _: &PathView, _: &Ack) {}
    fn on_congestion(&mut self, _: Instant, _: &PathView, _: &CongestionEvent) {}
    fn intent(&self) -> Intent {
        Intent {
            window: Some(slackwater_core::Bytes(u64::from(self.0))),
            ..Intent::default()
        }
    }
    fn snapshot(&self, _: &mut Vec<(&'static str, f64)>) {}
    fn name(&self) -> &'static str {
        "still"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl MediaController for Still {
    fn on_feedback(&mut self, _: Instant, _: &PathView, _: &Feedback<'_>) {}
    fn intent(&self) -> Intent {
        Controller::intent(self)
    }
    fn name(&self) -> &'static str {
        "still"
    }
    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}

#[test]
fn added_controllers_stand_beside_the_built_in_ones() {
    let cfg = Config::new(1448, Draw::new(1));
    let mut registry = Registry::new();
    let still = Plugin::new("still", "stands", |c| Still(c.mss)).with_modes(&["STILL"]);
    registry.add(still.clone()).unwrap();
    let made = registry.build("still", &cfg).unwrap();
    assert_eq!(made.intent().window.unwrap().0, 1448);
    assert_eq!(registry.build("reno", &cfg).unwrap().name(), "reno");
    assert_eq!(registry.names().last(), Some(&("still", "stands")));
    assert_eq!(registry.media_names().len(), media_names().len());
    assert_eq!(registry.modes("still"), Some(&["STILL"][..]));
    assert_eq!(registry.modes("xrc:n=5"), Some(xrc::MODES));
    // Another registry knows nothing of it.
    assert!(Registry::new().build("still", &cfg).is_err());
    // No name means two things.
    assert!(registry.add(still.clone()).is_err());
    for taken in ["cubic", "newreno", "a:b", "", "gcc"] {
        let plugin = Plugin::new(taken, "", |c| Still(c.mss));
        let wrong = registry.add(plugin).unwrap_err().to_string();
        assert!(wrong.contains(&format!("{taken:?}")), "{wrong}");
    }
    let wrong = registry.build("still:n=1", &cfg).unwrap_err().to_string();
    assert!(wrong.contains("found \"n=1\" after \"still:\""), "{wrong}");
}

#[test]
fn an_added_controller_may_take_parameters() {
    let cfg = Config::new(1448, Draw::new(1));
    let mut registry = Registry::new();
    let plugin = Plugin::media_with_parameters("still", "stands", |_, text| match text.parse() {
        Ok(n) => Ok(Box::new(Still(n))),
        Err(_) => Err(format!("found {text:?}, expected bytes")),
    });
    registry.add(plugin).unwrap();
    let tcp = registry.build("still:7", &cfg).unwrap_err().to_string();
    assert!(
        tcp.contains("found a controller of media, expected one of TCP"),
        "{tcp}"
    );
    let made = registry.build_media("still:7", &cfg).unwrap();
    assert_eq!(made.intent().window.unwrap().0, 7);
    let wrong = registry.build_media("still", &cfg).unwrap_err().to_string();
    assert_eq!(wrong, "controller \"still\": found \"\", expected bytes");
    assert_eq!(registry.media_names().last(), Some(&("still", "stands")));
    assert_eq!((base("cl4s:te=25"), base("still:7")), ("al4s-c", "still"));
}

#[test]
fn every_declared_parameter_is_one_that_the_controller_reads() {
    let cfg = Config::new(1448, Draw::new(1));
    let attempt = |entry: &Listed, text: &str| {
        let name = format!("{}:{text}", entry.name);
        match entry.kind {
            Kind::Transport => build(&name, &cfg).map(drop),
            Kind::Media => build_media(&name, &cfg).map(drop),
        }
    };
    let mut declared = 0;
    for entry in entries() {
        let nothing = attempt(&entry, "no-such-key=1").expect_err("no such key");
        for p in entry.parameters {
            declared += 1;
            let name = format!("{}:{}", entry.name, p.key);
            assert!(p.about.len() > 5 && !p.default_text().is_empty(), "{name}");
            if !p.bare && p.words.last() != Some(&"FILE") {
                assert!(nothing.to_string().contains(p.key), "{nothing}");
            }
            let value = |text: &str| match (p.bare, p.key) {
                (true, _) => text.to_owned(),
                // The marker's thresholds come together.
                (_, "low") => format!("low={text},high=1000"),
                (_, "high") => format!("low=0,high={text}"),
                _ => format!("{}={text}", p.key),
            };
            match p.default {
                Preset::Said(_) => {}
                Preset::Number(n) => attempt(&entry, &value(&n.to_string())).expect(&name),
                Preset::Word(word) => attempt(&entry, &value(word)).expect(&name),
            }
            for word in p.words.iter().filter(|w| **w != "FILE") {
                attempt(&entry, &value(word)).expect(&name);
            }
            if let Some((least, most)) = p.range {
                attempt(&entry, &value(&least.to_string())).expect(&name);
                attempt(&entry, &value(&format!("{most}{}", p.unit))).expect(&name);
                for beyond in [least - 0.5, most + 1.0] {
                    let wrong = attempt(&entry, &value(&beyond.to_string())).expect_err(&name);
                    let wrong = wrong.to_string();
                    assert!(wrong.contains(&p.expected()), "{wrong}");
                }
            }
        }
    }
    assert!(declared > 70, "{declared}");
}
