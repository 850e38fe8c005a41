//! The stage at the wire: it sees each packet as it leaves, sets its ECN field, and reads the time of reports.

use std::collections::VecDeque;
use std::time::Instant as StdInstant;

use rtc_interceptor::{Interceptor, Packet, StreamInfo, TaggedPacket};
use rtc_rtcp::transport_feedbacks::cc_feedback_report::CcFeedbackReport;
use rtc_rtcp::transport_feedbacks::transport_layer_cc::TransportLayerCc;
use rtc_shared::EcnCodepoint;
use rtc_shared::error::Error;
use rtc_shared::marshal::MarshalSize as _;
use sansio::Protocol;
use slackwater_core::Ecn;

use crate::Estimator;

/// The place of [`Watch`] in the registry: closer to the wire than the stack's history, which stands at 1000.
pub const WIRE: usize = 500;

/// Made by [`Estimator::watch`].
pub struct Watch {
    estimator: Estimator,
    up: VecDeque<TaggedPacket>,
    down: VecDeque<TaggedPacket>,
}

impl core::fmt::Debug for Watch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Watch")
            .field("estimator", &self.estimator)
            .finish_non_exhaustive()
    }
}

impl Watch {
    pub(crate) const fn new(estimator: Estimator) -> Self {
        Self {
            estimator,
            up: VecDeque::new(),
            down: VecDeque::new(),
        }
    }
}

impl Protocol<TaggedPacket, TaggedPacket, ()> for Watch {
    type Rout = TaggedPacket;
    type Wout = TaggedPacket;
    type Eout = ();
    type Error = Error;
    type Time = StdInstant;

    fn handle_read(&mut self, packet: TaggedPacket) -> Result<(), Error> {
        if let Packet::Rtcp(messages) = &packet.message.packet {
            let mut state = self.estimator.state();
            for message in messages {
                // An offset without the report's own time compares with nothing, and the history drops that time.
                if let Some(report) = message.as_any().downcast_ref::<CcFeedbackReport>() {
                    state.on_ccfb(report.report_timestamp);
                } else if message.as_any().is::<TransportLayerCc>() {
                    state.on_twcc();
                }
            }
        }
        self.up.push_back(packet);
        Ok(())
    }

    fn poll_read(&mut self) -> Option<TaggedPacket> {
        self.up.pop_front()
    }

    fn handle_write(&mut self, mut packet: TaggedPacket) -> Result<(), Error> {
        if let Packet::Rtp(rtp) = &packet.message.packet {
            packet.transport.ecn = match self.estimator.ecn() {
                Ecn::NotEct => None,
                Ecn::Ect0 => Some(EcnCodepoint::Ect0),
                Ecn::Ect1 => Some(EcnCodepoint::Ect1),
                Ecn::Ce => Some(EcnCodepoint::Ce),
            };
            let mut state = self.estimator.state();
            if state.streams.contains(&rtp.header.ssrc) {
                let now = state.ours(packet.now);
                state.on_sent(now, rtp.marshal_size());
            }
        }
        self.down.push_back(packet);
        Ok(())
    }

    fn poll_write(&mut self) -> Option<TaggedPacket> {
        self.down.pop_front()
    }
}

impl Interceptor for Watch {
    fn bind_local_stream(&mut self, info: &StreamInfo) {
        self.estimator.state().streams.insert(info.ssrc);
    }

    fn unbind_local_stream(&mut self, info: &StreamInfo) {
        self.estimator.state().streams.remove(&info.ssrc);
    }

    fn bind_remote_stream(&mut self, _: &StreamInfo) {}
    fn unbind_remote_stream(&mut self, _: &StreamInfo) {}
}
