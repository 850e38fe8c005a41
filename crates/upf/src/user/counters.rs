//! What was done with packets, by cause.

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// Counters of the user plane. Each packet that ends here is counted by one of them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl Counters {
            /// Each counter's name, what it counts, and its value.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                [$((stringify!($name), concat!($($doc),*), self.$name),)*].into_iter()
            }
        }
    };
}

impl Counters {
    /// Users' packets that ended here, by cause. The names are those of the counters.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let drops = |name: &str| {
            matches!(
                name,
                "malformed_ip"
                    | "unknown_tunnel"
                    | "unknown_address"
                    | "no_rule"
                    | "spoofed"
                    | "gated"
                    | "metered"
                    | "forbidden"
                    | "header_kept"
                    | "no_tunnel"
                    | "over_quota"
                    | "ecn_contradicts"
                    | "not_understood"
                    | "queue_law"
                    | "queue_full"
                    | "queue_unanswering"
                    | "session_gone"
                    | "too_long"
                    | "no_room"
                    | "buffer_full"
                    | "buffer_dropped"
            )
        };
        self.each()
            .filter_map(move |(name, _, value)| drops(name).then_some((name, value)))
    }

    /// Packets that were marked CE here, by who decided so.
    pub const fn marks(&self) -> [(&'static str, u64); 2] {
        [("law", self.marked_law), ("report", self.marked_report)]
    }
}

counters! {
    /// Packets that came by N6.
    n6_in,
    /// Packets that left by N6.
    n6_out,
    /// Datagrams that came by N3 or N9.
    n3_in,
    /// User packets that left in a tunnel.
    n3_out,
    /// Downlink packets of these that the path in the kernel forwarded (`fast.path`).
    kernel_down,
    /// Uplink packets that the path in the kernel forwarded.
    kernel_up,
    /// Datagrams that are no GTP-U message of version 1 (TS 29.281, 5.1).
    malformed_gtpu,
    /// User packets without a sound IP header.
    malformed_ip,
    /// G-PDUs for a tunnel that is nobody's.
    unknown_tunnel,
    /// Packets from N6 for an address that is nobody's.
    unknown_address,
    /// Packets that no rule of their session takes.
    no_rule,
    /// Uplink packets from an address that is not the UE's.
    spoofed,
    /// Packets that a closed gate stops (TS 29.244, 8.2.7).
    gated,
    /// Packets beyond the rate of a QER.
    metered,
    /// Packets whose FAR drops them, or which have none.
    forbidden,
    /// Packets whose rule leaves them in the tunnel that they came by (TS 29.244, 8.2.64), which is not forwarded here.
    header_kept,
    /// Packets for the radio network or the control plane whose FAR names no tunnel to it.
    no_tunnel,
    /// Packets that a usage quota stops (TS 29.244, 5.2.2.2).
    over_quota,
    /// Packets whose inner and outer ECN fields contradict each other (RFC 6040, 4.2).
    ecn_contradicts,
    /// Messages with an extension header that must be understood and is not known (TS 29.281, 5.2.1).
    not_understood,
    /// Packets that an edge function dropped by its queue's law or for want of room.
    queue_dropped,
    /// Of these, by a law.
    queue_law,
    /// Of these, for want of room.
    queue_full,
    /// Of these, beyond the limit of a flow that does not answer to signals.
    queue_unanswering,
    /// Packets that waited for a session that went.
    session_gone,
    /// Packets that were marked CE here.
    marked,
    /// Of these, by a law.
    marked_law,
    /// Of these, by a report of the radio network.
    marked_report,
    /// Packets too long for N3 that must not be cut.
    too_long,
    /// Packets too long for N3 that were cut.
    fragmented,
    /// Fragments that these gave.
    fragments,
    /// Messages of ICMP that left for such packets.
    icmp_out,
    /// Such messages that were one too many.
    icmp_suppressed,
    /// Packets that no header fits before.
    no_room,
    /// Packets that were buffered for a UE that is not reached (TS 29.244, 5.2.3).
    buffered,
    /// Packets beyond what may be buffered.
    buffer_full,
    /// Buffered packets that a changed rule dropped.
    buffer_dropped,
    /// Echo requests answered.
    echoes,
    /// Echo responses.
    echo_responses,
    /// Error indications that left (TS 29.281, 7.3.1).
    error_indications_out,
    /// Error indications that were one too many.
    error_indications_suppressed,
    /// Error indications of a peer, for a tunnel that a session has.
    error_indications_in,
    /// Error indications that name no tunnel of the peer that sent them.
    error_indications_refused,
    /// Notifications of supported extension headers that left.
    notifications_out,
    /// Such notifications that were one too many.
    notifications_suppressed,
    /// Such notifications of a peer.
    notifications_in,
    /// End markers that came.
    end_markers_in,
    /// End markers that left.
    end_markers_out,
    /// Messages of other types.
    other_messages,
    /// G-PDUs without a user's packet.
    empty_pdus,
    /// Reports of the radio network that edge functions got.
    reports,
    /// Values of reports that were of an unknown type, session or flow.
    report_values_skipped,
    /// Reports of a peer that no session names.
    report_strangers,
    /// Reports that were overtaken by a later one.
    report_overtaken,
    /// Reports read too long ago.
    report_stale,
    /// A flow's counters for its sender that were passed on (`counters.port`).
    flow_counters,
    /// Such counters that were not: of a session or address that the base station does not serve, too many at once, or no port.
    flow_counters_refused,
    /// Report containers that are cut short or of an unknown type.
    report_malformed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_has_a_name_and_says_what_it_counts() {
        let counters = Counters {
            spoofed: 7,
            ..Counters::default()
        };
        let all: Vec<_> = counters.each().collect();
        let found = all.iter().find(|c| c.0 == "spoofed").unwrap();
        assert_eq!(found.2, 7);
        assert!(found.1.contains("not the UE's"));
        assert!(all.iter().all(|c| c.1.trim().ends_with('.')));
        // Every cause is a counter's name.
        assert_eq!(counters.dropped().count(), 21);
        assert!(counters.dropped().any(|d| d == ("spoofed", 7)));
    }
}
