// A session management function by go-pfcp: it sets up, changes and ends a session, and checks each answer.
//
// usage: smf UPF-ADDRESS:PORT
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

const (
	self     = "127.0.0.1"
	seidHere = 0x1122
	gnb      = "192.0.2.33"
	ue       = "10.0.0.1"
	wait     = 5 * time.Second
)

type smf struct {
	conn    *net.UDPConn
	seq     uint32
	started time.Time
	beats   int
	reports []*message.SessionReportRequest
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

func must[T any](value T, err error) T {
	if err != nil {
		fail("%v", err)
	}
	return value
}

func check(ok bool, format string, args ...any) {
	if !ok {
		fail(format, args...)
	}
}

func (s *smf) number() uint32 {
	s.seq++
	return s.seq
}

func octets(m message.Message) []byte {
	out := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(out); err != nil {
		fail("%v", err)
	}
	return out
}

func (s *smf) send(m message.Message) { must(s.conn.Write(octets(m))) }

// next reads a message. Requests of the user plane function are answered on the way, and nil is returned for them.
func (s *smf) next() (message.Message, []byte) {
	buf := make([]byte, 65535)
	if err := s.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		fail("%v", err)
	}
	n := must(s.conn.Read(buf))
	m := must(message.Parse(buf[:n]))
	switch m := m.(type) {
	case *message.HeartbeatRequest:
		must(m.RecoveryTimeStamp.RecoveryTimeStamp())
		s.beats++
		s.send(message.NewHeartbeatResponse(m.Sequence(), ie.NewRecoveryTimeStamp(s.started)))
		return nil, nil
	case *message.SessionReportRequest:
		s.reports = append(s.reports, m)
		check(m.SEID() == seidHere, "report to SEID %#x", m.SEID())
		s.send(message.NewSessionReportResponse(0, 0, 0, m.Sequence(), 0, ie.NewCause(ie.CauseRequestAccepted)))
		return nil, nil
	}
	return m, buf[:n]
}

// ask sends a request and returns its answer.
func (s *smf) ask(m message.Message) (message.Message, []byte) {
	s.send(m)
	for {
		answer, raw := s.next()
		if answer != nil && answer.Sequence() == m.Sequence() {
			return answer, raw
		}
	}
}

func cause(of *ie.IE) uint8 {
	if of == nil {
		fail("an answer without a cause")
	}
	return must(of.Cause())
}

func establishment(seq uint32, text string) *message.SessionEstablishmentRequest {
	return message.NewSessionEstablishmentRequest(0, 0, 0, seq, 0,
		ie.NewNodeID(self, "", ""),
		ie.NewFSEID(seidHere, net.ParseIP(self), nil),
		ie.NewCreatePDR(
			ie.NewPDRID(1), ie.NewPrecedence(100),
			ie.NewPDI(
				ie.NewSourceInterface(ie.SrcInterfaceAccess),
				ie.NewFTEID(0x05, 0, nil, nil, 0),
				ie.NewNetworkInstance("internet"),
				ie.NewUEIPAddress(0x02, ue, "", 0, 0),
				ie.NewSDFFilter(text, "", "", "", 1),
				ie.NewQFI(9),
			),
			ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1), ie.NewURRID(1), ie.NewQERID(1),
		),
		ie.NewCreatePDR(
			ie.NewPDRID(2), ie.NewPrecedence(100),
			ie.NewPDI(
				ie.NewSourceInterface(ie.SrcInterfaceCore),
				ie.NewNetworkInstance("internet"),
				ie.NewUEIPAddress(0x06, ue, "", 0, 0),
			),
			ie.NewFARID(2), ie.NewURRID(1), ie.NewQERID(1),
		),
		ie.NewCreateFAR(
			ie.NewFARID(1), ie.NewApplyAction(0x02),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance("internet")),
		),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c, 0x00), ie.NewBARID(1)),
		ie.NewCreateURR(
			ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 1), ie.NewReportingTriggers(0x02, 0x00),
			ie.NewVolumeThreshold(0x01, 2500, 0, 0),
		),
		ie.NewCreateQER(
			ie.NewQERID(1), ie.NewGateStatus(ie.GateStatusOpen, ie.GateStatusOpen), ie.NewMBR(20000, 100000), ie.NewQFI(9),
		),
		ie.NewCreateBAR(ie.NewBARID(1), ie.NewSuggestedBufferingPacketsCount(20)),
		ie.NewPDNType(ie.PDNTypeIPv4),
	)
}

// volume finds what a usage report counted, and checks why it was made.
func volume(report *ie.IE, octet int, bit uint8) *ie.VolumeMeasurementFields {
	trigger := must(report.UsageReportTrigger())
	check(trigger[octet]&bit != 0, "usage report for %x", trigger)
	return must(report.VolumeMeasurement())
}

func main() {
	upf := must(net.ResolveUDPAddr("udp", os.Args[1]))
	conn := must(net.DialUDP("udp", nil, upf))
	s := &smf{conn: conn, started: time.Unix(1_700_000_000, 0)}

	// No session without an association.
	answer, _ := s.ask(establishment(s.number(), "permit out ip from any to assigned"))
	refused := answer.(*message.SessionEstablishmentResponse)
	check(cause(refused.Cause) == ie.CauseNoEstablishedPFCPAssociation, "cause %d", cause(refused.Cause))

	answer, _ = s.ask(message.NewAssociationSetupRequest(s.number(),
		ie.NewNodeID(self, "", ""), ie.NewRecoveryTimeStamp(s.started), ie.NewCPFunctionFeatures(0)))
	setup := answer.(*message.AssociationSetupResponse)
	check(cause(setup.Cause) == ie.CauseRequestAccepted, "association: cause %d", cause(setup.Cause))
	features := setup.UPFunctionFeatures
	check(features.HasFTUP() && features.HasEMPU() && features.HasMNOP(), "features %x", features.Payload)
	check(!features.HasPFDM() && !features.HasBUCP() && !features.HasUEIP(), "features %x", features.Payload)
	must(setup.RecoveryTimeStamp.RecoveryTimeStamp())

	answer, _ = s.ask(establishment(s.number(), "allow everything"))
	refused = answer.(*message.SessionEstablishmentResponse)
	check(cause(refused.Cause) == ie.CauseMandatoryIEIncorrect, "cause %d", cause(refused.Cause))
	check(must(refused.OffendingIE.OffendingIE()) == ie.SDFFilter, "offending IE")
	check(must(refused.FailedRuleID.FailedRuleID()) == 1, "failed rule")

	request := establishment(s.number(), "permit out 17 from 198.51.100.0/24 5000-5010 to assigned")
	answer, first := s.ask(request)
	established := answer.(*message.SessionEstablishmentResponse)
	check(cause(established.Cause) == ie.CauseRequestAccepted, "establishment: cause %d", cause(established.Cause))
	check(established.SEID() == seidHere, "answer to SEID %#x", established.SEID())
	there := must(established.UPFSEID.FSEID()).SEID
	check(len(established.CreatedPDR) == 1, "%d created PDRs", len(established.CreatedPDR))
	tunnel := must(must(established.CreatedPDR[0].FindByType(ie.FTEID)).FTEID())
	check(tunnel.TEID != 0 && tunnel.IPv4Address.String() == "192.0.2.1", "F-TEID %v", tunnel)

	_, again := s.ask(request)
	check(bytes.Equal(first, again), "a repeated request was answered otherwise")

	// Downlink data came; the user plane function says so, for PDR 2.
	for len(s.reports) == 0 {
		s.next()
	}
	check(s.reports[0].ReportType.HasDLDR(), "report type")
	pdr := must(must(s.reports[0].DownlinkDataReport.FindByType(ie.PDRID)).PDRID())
	check(pdr == 2, "downlink data of PDR %d", pdr)

	forward := ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x02),
		ie.NewUpdateForwardingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceAccess),
			ie.NewOuterHeaderCreation(0x0100, 0xb, gnb, "", 0, 0, 0),
			ie.NewPFCPSMReqFlags(0x02),
		))
	answer, _ = s.ask(message.NewSessionModificationRequest(0, 0, there, s.number(), 0, forward))
	modified := answer.(*message.SessionModificationResponse)
	check(cause(modified.Cause) == ie.CauseRequestAccepted, "modification: cause %d", cause(modified.Cause))

	// Three packets of 1000 octets pass: the threshold of 2500 is reached.
	for len(s.reports) < 2 {
		s.next()
	}
	check(s.reports[1].ReportType.HasUSAR() && len(s.reports[1].UsageReport) == 1, "usage report")
	counted := volume(s.reports[1].UsageReport[0], 0, 0x02)
	check(counted.TotalVolume == 3000 && counted.DownlinkVolume == 3000 && counted.TotalNumberOfPackets == 3,
		"volume %+v", counted)

	answer, _ = s.ask(message.NewSessionModificationRequest(0, 0, there, s.number(), 0,
		ie.NewQueryURR(ie.NewURRID(1))))
	queried := answer.(*message.SessionModificationResponse)
	check(len(queried.UsageReport) == 1, "%d usage reports", len(queried.UsageReport))
	counted = volume(queried.UsageReport[0], 0, 0x80)
	check(counted.TotalVolume == 0, "volume %+v", counted)

	// Heartbeats both ways.
	answer, _ = s.ask(message.NewHeartbeatRequest(s.number(), ie.NewRecoveryTimeStamp(s.started), nil))
	must(answer.(*message.HeartbeatResponse).RecoveryTimeStamp.RecoveryTimeStamp())
	for s.beats == 0 {
		s.next()
	}

	answer, _ = s.ask(message.NewSessionDeletionRequest(0, 0, there, s.number(), 0))
	deleted := answer.(*message.SessionDeletionResponse)
	check(cause(deleted.Cause) == ie.CauseRequestAccepted, "deletion: cause %d", cause(deleted.Cause))
	check(len(deleted.UsageReport) == 1, "%d usage reports", len(deleted.UsageReport))
	volume(deleted.UsageReport[0], 1, 0x08)

	answer, _ = s.ask(message.NewSessionDeletionRequest(0, 0, there, s.number(), 0))
	deleted = answer.(*message.SessionDeletionResponse)
	check(cause(deleted.Cause) == ie.CauseSessionContextNotFound, "deletion again: cause %d", cause(deleted.Cause))

	answer, _ = s.ask(message.NewAssociationReleaseRequest(s.number(), ie.NewNodeID(self, "", "")))
	released := answer.(*message.AssociationReleaseResponse)
	check(cause(released.Cause) == ie.CauseRequestAccepted, "release: cause %d", cause(released.Cause))

	// Two more lives, the first of which ends without a word. Both count from the same number: no answer is of a former life.
	var former uint64
	for life := 0; life < 2; life++ {
		s.started = s.started.Add(time.Hour)
		s.seq = 100
		answer, _ = s.ask(message.NewAssociationSetupRequest(s.number(),
			ie.NewNodeID(self, "", ""), ie.NewRecoveryTimeStamp(s.started), ie.NewCPFunctionFeatures(0)))
		setup = answer.(*message.AssociationSetupResponse)
		check(cause(setup.Cause) == ie.CauseRequestAccepted, "association: cause %d", cause(setup.Cause))
		answer, _ = s.ask(establishment(s.number(), "permit out ip from any to assigned"))
		established = answer.(*message.SessionEstablishmentResponse)
		check(cause(established.Cause) == ie.CauseRequestAccepted, "establishment: cause %d", cause(established.Cause))
		there = must(established.UPFSEID.FSEID()).SEID
		check(there != former, "the session of a former life: %#x", there)
		former = there
	}
	answer, _ = s.ask(message.NewAssociationReleaseRequest(s.number(), ie.NewNodeID(self, "", "")))
	released = answer.(*message.AssociationReleaseResponse)
	check(cause(released.Cause) == ie.CauseRequestAccepted, "release: cause %d", cause(released.Cause))
	fmt.Println("done")
}
