use slackwater_wire::ip::fragments;

use super::*;

#[test]
fn fragments_go_where_their_first_one_went() {
    // Port 5202 goes in a flow of its own; later fragments show no ports.
    let (mut upf, _) = upf_with(config(), 1, |n, rules| {
        let mut special = pdr(3, Interface::Core, n);
        special.precedence = 10;
        special.far = Some(2);
        special.filters = vec![Filter {
            flow: Some(FlowDescription {
                protocol: Some(17),
                remote: FlowEnd {
                    address: None,
                    assigned: false,
                    ports: vec![(5_202, 5_202)],
                },
                ue: FlowEnd {
                    address: None,
                    assigned: true,
                    ports: Vec::new(),
                },
            }),
            ..Filter::default()
        }];
        special.qers = vec![2];
        rules.pdrs.push(special);
        rules.qers.push(qer(2, Some(Qfi(3))));
    });
    let whole = datagram(0, Direction::Down, 1_400, Ecn::NotEct);
    let pieces = fragments(&IpPacket::new(&whole[..]).unwrap(), 600).unwrap();
    let qfi = |upf: &mut Upf, piece: &[u8]| {
        upf.on_n6(MS(0), piece.to_vec());
        let out = drain(upf, MS(0));
        let [Output::N3 { bytes, .. }] = &out[..] else {
            panic!("{out:?}");
        };
        let message = Message::parse(bytes.as_ref()).unwrap();
        let content = message.extension(PDU_SESSION_CONTAINER).unwrap().content;
        let Ok(Container::Downlink(container)) = Container::parse(content) else {
            panic!();
        };
        container.qfi
    };
    // Ahead of the first nothing says which flow it is.
    assert_eq!(qfi(&mut upf, &pieces[1]), QFI);
    for piece in &pieces {
        assert_eq!(qfi(&mut upf, piece), Qfi(3));
    }
}
