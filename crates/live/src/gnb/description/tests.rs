use super::*;

const TWO: &str = r#"
cell = "lte"

[n3]
address = ["10.0.0.2", "fd00::2"]

[reports]
profile = "c"
to = { address = "10.0.0.1", teid = 0xffff_0000 }
congestion = { low = "3 ms" }

[[ue]]
name = "alice"
address = ["10.45.0.2", "2001:db8::2"]
uplink = { address = "10.0.0.1", teid = 1 }
downlink = 1001
qfi = [1, 5]
rule = [{ qfi = 5, protocol = 17, remote_port = 5004 }]

[[ue]]
name = "bob"
address = ["10.45.0.3"]
uplink = { address = "fd00::1", port = 2153, teid = 2 }
downlink = 1002
radio = { mobility = { kind = "static", distance = "300 m" } }
"#;

#[test]
fn a_file_is_read_with_defaults() {
    let gnb = Gnb::parse("gnb.toml", TWO).expect("a good file");
    assert_eq!(
        (gnb.name.as_str(), gnb.n3.port, gnb.n3.psc),
        ("gnb", 2152, true)
    );
    assert_eq!(gnb.ue[1].uplink.socket().to_string(), "[fd00::1]:2153");
    assert_eq!(
        gnb.reports.congestion.as_ref().map(|c| c.high),
        Some(Duration::from_millis(20))
    );
    let places: Vec<(u32, u8)> = gnb.places().iter().map(|p| (p.ue, p.qfi.0)).collect();
    assert_eq!(places, [(0, 1), (0, 5), (1, 1)]);
    let mut epc = gnb;
    epc.n3.psc = false;
    assert_eq!(
        epc.places().len(),
        2,
        "without a container there is one flow a UE"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases = [
        (
            "address = [\"10.45.0.3\"]",
            "address = []",
            "found 0 addresses",
        ),
        (
            "downlink = 1002",
            "downlink = 1001",
            "found the downlink tunnel 1001 twice",
        ),
        (
            "downlink = 1002",
            "downlink = 0",
            "expected 1 to 4294967295",
        ),
        (
            "qfi = [1, 5]",
            "qfi = [1, 64]",
            "expected one or more of 0 to 63, each once",
        ),
        (
            "qfi = [1, 5]",
            "qfi = [5, 5]",
            "expected one or more of 0 to 63, each once",
        ),
        (
            "qfi = 5, protocol",
            "qfi = 6, protocol",
            "found a rule for QFI 6",
        ),
        (
            "[\"10.0.0.2\", \"fd00::2\"]",
            "[\"10.0.0.2\"]",
            "bob: a tunnel to fd00::1",
        ),
        (
            "[\"10.0.0.2\", \"fd00::2\"]",
            "[\"0.0.0.0\", \"fd00::2\"]",
            "found 0.0.0.0",
        ),
        (
            "to = {",
            "# to = {",
            "alice: profile = \"c\" without a tunnel",
        ),
        (
            "profile = \"c\"",
            "profile = \"d\"",
            "expected one of \"auto\", \"a\", \"b\", \"c\", \"off\"",
        ),
        (
            "cell = \"lte\"",
            "cel = \"lte\"",
            "gnb.toml:2:1: cel: found an unknown key, expected `cell`?",
        ),
        (
            "[n3]",
            "[n3]\necho = \"10 s\"",
            "expected 0 s, or 60 s and more",
        ),
    ];
    for (from, to, says) in cases {
        let text = TWO.replacen(from, to, 1);
        assert_ne!(text, TWO, "{from}");
        let error = Gnb::parse("gnb.toml", &text).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn code_builds_what_a_file_says() {
    let end = |teid| Endpoint {
        address: Address([10, 0, 0, 1].into()),
        port: 2152,
        teid,
    };
    let gnb = Gnb {
        cell: "lte".to_owned(),
        n3: N3 {
            address: vec![Address([10, 0, 0, 2].into())],
            ..N3::example()
        },
        ue: vec![Ue {
            name: "alice".to_owned(),
            address: vec![Address([10, 45, 0, 2].into())],
            uplink: end(1),
            downlink: 1001,
            qfi: vec![9],
            ..Ue::example()
        }],
        ..Gnb::example()
    };
    gnb.check().expect("it holds");
    let text = "cell = \"lte\"\n[n3]\naddress = [\"10.0.0.2\"]\n[[ue]]\nname = \"alice\"\naddress = [\"10.45.0.2\"]\n\
                uplink = { address = \"10.0.0.1\", teid = 1 }\ndownlink = 1001\nqfi = [9]\n";
    assert_eq!(Gnb::parse("gnb.toml", text), Ok(gnb));
}
