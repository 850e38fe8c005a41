//! What can be built: carriers, controllers and UEs.

use super::*;

#[test]
fn reports_that_cannot_reach_a_sender_are_found() {
    let text = r#"
        name = "n"
        duration = "1 s"
        [cell]
        rat = "lte"
        [[ue]]
        channel = { kind = "mcs", mcs = 12 }
        [[flow]]
        [[flow]]
        controller = "xrc"
        transport = "quic"
    "#;
    let s = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
    let check = |changes: &[(&str, &str)]| {
        let mut s = s.clone();
        for (key, value) in changes {
            s = s.with(key, value).expect("a good change");
        }
        s.check_controllers().map_err(|e| e.to_string())
    };
    let wrong = check(&[]).expect_err("no option in QUIC");
    assert_eq!(
        wrong,
        "feedback.carrier: found \"tcp-option\", and flow[1] with controller \"xrc\" over QUIC, expected \"datagram\" or \
         \"socket\": no option reaches a QUIC sender"
    );
    assert!(check(&[("flow.transport", "quinn")]).is_err());
    for fine in [
        [("feedback.carrier", "datagram")],
        [("feedback.carrier", "socket")],
        [("flow.transport", "tcp")],
        [("flow.controller", "cubic")],
        [("flow.direction", "up")],
    ] {
        assert_eq!(check(&fine), Ok(()), "{fine:?}");
    }
}

#[test]
fn controllers_are_checked_against_those_that_exist() {
    let s = Scenario::from_toml(&swap(LINK, "\"cubic\"", "\"cubik\""), ".")
        .unwrap_or_else(|e| panic!("{e}"));
    let e = s.check_controllers().expect_err("no such controller");
    assert_eq!(
        e.to_string(),
        "flow[0].controller: found \"cubik\", expected \"cubic\"?"
    );
    let with = |name: &str| {
        let s = s.with("flow.controller", name).expect("any name is text");
        s.check_controllers().map_err(|e| e.to_string())
    };
    for name in ["fixed:20", "xrc:n=5,theta=0", "bbrv3", "copa:delta=0.1"] {
        assert_eq!(with(name), Ok(()));
    }
    let wrong = with("xrc:foo=3").expect_err("no such parameter");
    assert!(wrong.contains("foo") && wrong.contains("lambda"), "{wrong}");
    assert_eq!(
        with("gcc"),
        Err("flow[0].controller: found \"gcc\", expected a controller for TCP; this one steers media".to_owned())
    );
    let media = LINK.replace("[[flow]]", "[[flow]]\napp = { kind = \"media\" }");
    let s = Scenario::from_toml(&media, ".").unwrap_or_else(|e| panic!("{e}"));
    let with = |name: &str| {
        let s = s.with("flow.controller", name).expect("any name is text");
        s.check_controllers().map_err(|e| e.to_string())
    };
    for name in ["al4s-c:paper,low=5,high=20", "gcc", "scream-webrtc"] {
        assert_eq!(with(name), Ok(()));
    }
    assert_eq!(
        with("cubic"),
        Err("flow[0].controller: found \"cubic\", expected a controller for media; this one steers TCP".to_owned())
    );
    assert!(with("screem").is_err_and(|e| e.contains("\"scream\"?")));
}

#[test]
fn a_flow_is_built_for_the_controllers_that_its_carrier_knows() {
    let build = |text: &str| {
        let s = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
        let world = crate::build::build(&s, 1, None, |_| slackwater_core::record::NoRecorder);
        world.map(|_| ()).map_err(|e| e.to_string())
    };
    let media = LINK.replace("[[flow]]", "[[flow]]\napp = { kind = \"media\" }");
    assert_eq!(
        build(&media).expect_err("TCP's controller over RTP"),
        "flow[0].controller: flow \"cubic\": controller \"cubic\": found a controller of TCP, expected one of media"
    );
    let gcc = LINK.replace("\"cubic\"", "\"gcc\"");
    assert_eq!(
        build(&gcc).expect_err("media's controller over TCP"),
        "flow[0].controller: flow \"gcc\": controller \"gcc\": found a controller of media, expected one of TCP"
    );
    // A key counts entries of the file, and not the flows that they make: the label tells those apart.
    let third =
        "[[flow]]\ncount = 4\n[[flow]]\n[[flow]]\nlabel = \"b\"\ncount = 2\ncontroller = \"gcc\"\n";
    let third = LINK.replace("[[flow]]\ncontroller = \"cubic\"\n", third);
    assert_eq!(
        build(&third).expect_err("media's controller over TCP"),
        "flow[2].controller: flow \"b 1\": controller \"gcc\": found a controller of media, expected one of TCP"
    );
}

#[test]
fn a_ue_that_cannot_be_built_is_named_by_its_key() {
    let ues = "[upf]\n[[ue]]\ncount = 3\n[[ue]]\nvaqm = { module = \"own:none-such\" }\n[[flow]]";
    let text = CELL.replacen("[[flow]]", ues, 1);
    let e = match Scenario::from_toml(&text, ".") {
        Err(e) => e.to_string(),
        Ok(s) => crate::build::build(&s, 1, None, |_| slackwater_core::record::NoRecorder)
            .map(|_| ())
            .expect_err("no such law")
            .to_string(),
    };
    assert!(e.contains("ue[2].vaqm.module: found"), "{e}");
}
