// A WebRTC peer by pion, which shares no line with ours: it receives from `slackwater rtc send`, or sends to `slackwater rtc receive`.
//
// The other end's signalling server takes the offer by POST. RFC 8888 reports are pion's own records and encoder; pion reads no ECN
// field, so the socket does, and finds the packet in the header of SRTP, which is not encrypted (RFC 3711, 3.1). One line of JSON tells
// what was counted.
//
// usage: peer receive|send http://ADDRESS SECONDS ccfb|twcc
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/ccfb"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
)

const (
	clock   = 90000                 // of video (RFC 7741, 4.1)
	report  = 20 * time.Millisecond // between reports, ours
	frame   = 33 * time.Millisecond // between frames, ours
	payload = 1000                  // bytes of a packet, ours
	packets = 4                     // of a frame, ours
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func ok(err error) { must(0, err) }

// counts is what goes to standard output.
type counts struct {
	Packets  int  `json:"packets"`  // RTP packets received or sent
	Bytes    int  `json:"bytes"`    // their payload
	Frames   int  `json:"frames"`   // ends of frames
	Keys     int  `json:"keys"`     // VP8 key frames
	Gaps     int  `json:"gaps"`     // numbers that were left out
	Ect1     int  `json:"ect1"`     // RTP packets that arrived as ECT(1)
	Reports  int  `json:"reports"`  // sent or received
	Reported int  `json:"reported"` // packets that reports of the other end call received
	Marked   int  `json:"marked"`   // of them with ECT(1)
	Ended    bool `json:"ended"`    // the connection was there until the end
}

// socket is a UDP socket that reads ECN fields and sends ECT(1). It is no *net.UDPConn, which pion would read by itself.
type socket struct {
	net.PacketConn
	udp  *net.UDPConn
	lock sync.Mutex
	// The ECN field of media packets that wait to be read, by number.
	ecn map[uint16]uint8
}

func open() *socket {
	udp := must(net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	raw := must(udp.SyscallConn())
	ok(raw.Control(func(fd uintptr) {
		ok(syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_RECVTOS, 1))
		ok(syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_TOS, 1))
	}))
	return &socket{PacketConn: udp, udp: udp, ecn: map[uint16]uint8{}}
}

func (s *socket) ReadFrom(into []byte) (int, net.Addr, error) {
	control := make([]byte, 128)
	n, length, _, from, err := s.udp.ReadMsgUDP(into, control)
	if err != nil {
		return n, from, err
	}
	messages, _ := syscall.ParseSocketControlMessage(control[:length])
	for _, message := range messages {
		tos := message.Header.Level == syscall.IPPROTO_IP && message.Header.Type == syscall.IP_TOS
		// RTP, not RTCP (RFC 5761, 4) and none of STUN and DTLS (RFC 7983, 7).
		media := n >= 12 && into[0]>>6 == 2 && !(into[1] >= 192 && into[1] <= 223)
		if tos && media {
			s.lock.Lock()
			s.ecn[binary.BigEndian.Uint16(into[2:])] = message.Data[0] & 3
			s.lock.Unlock()
		}
	}
	return n, from, nil
}

func (s *socket) mark(number uint16) uint8 {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.ecn[number]
}

// marked writes reports as pion's ccfb interceptor does, with the field that it has no source for.
type marked struct {
	interceptor.NoOp
	socket   *socket
	recorder *ccfb.Recorder
	lock     sync.Mutex
	counts   *counts
	received bool
}

func (m *marked) NewInterceptor(string) (interceptor.Interceptor, error) { return m, nil }

func (m *marked) BindRTCPWriter(writer interceptor.RTCPWriter) interceptor.RTCPWriter {
	go func() {
		for now := range time.Tick(report) {
			m.lock.Lock()
			if m.received {
				if _, err := writer.Write([]rtcp.Packet{m.recorder.BuildReport(now, 1200)}, nil); err == nil {
					m.counts.Reports++
				}
			}
			m.lock.Unlock()
		}
	}()
	return writer
}

func (m *marked) BindRemoteStream(_ *interceptor.StreamInfo, reader interceptor.RTPReader) interceptor.RTPReader {
	return interceptor.RTPReaderFunc(func(b []byte, a interceptor.Attributes) (int, interceptor.Attributes, error) {
		n, a, err := reader.Read(b, a)
		var header rtp.Header
		if err != nil {
			return n, a, err
		}
		if _, err := header.Unmarshal(b[:n]); err != nil {
			return n, a, err
		}
		m.lock.Lock()
		m.received = true
		m.recorder.AddPacket(time.Now(), header.SSRC, header.SequenceNumber, m.socket.mark(header.SequenceNumber))
		m.lock.Unlock()
		return n, a, nil
	})
}

// connect makes a connection at the socket whose reports are of this kind.
func connect(s *socket, feedback string, own *marked) *webrtc.PeerConnection {
	engine := &webrtc.MediaEngine{}
	kinds := map[string]webrtc.RTCPFeedback{"ccfb": {Type: "ack", Parameter: "ccfb"}, "twcc": {Type: "transport-cc"}}
	ok(engine.RegisterCodec(webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{
			MimeType: webrtc.MimeTypeVP8, ClockRate: clock, RTCPFeedback: []webrtc.RTCPFeedback{kinds[feedback]},
		},
		PayloadType: 96,
	}, webrtc.RTPCodecTypeVideo))
	registry := &interceptor.Registry{}
	if feedback == "twcc" {
		ok(webrtc.ConfigureTWCCSender(engine, registry))
	} else {
		registry.Add(own)
	}
	settings := webrtc.SettingEngine{}
	settings.SetICEUDPMux(webrtc.NewICEUDPMux(nil, s))
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetIncludeLoopbackCandidate(true)
	api := webrtc.NewAPI(
		webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(settings),
	)
	return must(api.NewPeerConnection(webrtc.Configuration{}))
}

// meet posts our offer, with all our addresses in it, and takes the answer (RFC 9725, 4.2).
func meet(connection *webrtc.PeerConnection, url string) {
	gathered := webrtc.GatheringCompletePromise(connection)
	ok(connection.SetLocalDescription(must(connection.CreateOffer(nil))))
	<-gathered
	offer := connection.LocalDescription().SDP
	answer := must(http.Post(url+"/offer", "application/sdp", bytes.NewReader([]byte(offer))))
	defer answer.Body.Close()
	text := string(must(io.ReadAll(answer.Body)))
	if answer.StatusCode != http.StatusCreated {
		must(0, fmt.Errorf("found %s: %s, expected 201", answer.Status, text))
	}
	ok(connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: text}))
}

// receive counts what comes until the sender ends.
func receive(connection *webrtc.PeerConnection, s *socket, own *marked, c *counts) chan struct{} {
	must(connection.AddTransceiverFromKind(
		webrtc.RTPCodecTypeVideo, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly},
	))
	over := make(chan struct{})
	connection.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		defer close(over)
		var last *uint16
		for {
			packet, _, err := track.ReadRTP()
			if err != nil {
				return
			}
			var vp8 codecs.VP8Packet
			body := must(vp8.Unmarshal(packet.Payload))
			own.lock.Lock()
			c.Packets++
			c.Bytes += len(packet.Payload)
			if packet.Marker {
				c.Frames++
			}
			// A key frame has bit 0 clear, and says 0x9d012a behind its tag (RFC 6386, 9.1).
			if vp8.S == 1 && len(body) > 6 && body[0]&1 == 0 && bytes.Equal(body[3:6], []byte{0x9d, 1, 0x2a}) {
				c.Keys++
			}
			if s.mark(packet.SequenceNumber) == 1 {
				c.Ect1++
			}
			if last != nil && packet.SequenceNumber != *last+1 {
				c.Gaps++
			}
			own.lock.Unlock()
			last = &packet.SequenceNumber
		}
	})
	return over
}

// send sends frames of a VP8 stream, and reads what reports say of them.
func send(connection *webrtc.PeerConnection, own *marked, c *counts, ready chan struct{}) chan struct{} {
	track := must(webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8}, "video", "peer"))
	sender := must(connection.AddTrack(track))
	go func() {
		for {
			messages, _, err := sender.ReadRTCP()
			if err != nil {
				return
			}
			own.lock.Lock()
			for _, message := range messages {
				heard(message, c)
			}
			own.lock.Unlock()
		}
	}()
	over := make(chan struct{})
	go func() {
		defer close(over)
		<-ready
		number, since := uint16(0), uint32(0)
		for range time.Tick(frame) {
			for index := range packets {
				// A payload descriptor with S where a frame begins (RFC 7741, 4.2), and zeros.
				body := make([]byte, payload)
				if index == 0 {
					body[0] = 0x10
				}
				header := rtp.Header{Version: 2, SequenceNumber: number, Timestamp: since, Marker: index+1 == packets}
				if err := track.WriteRTP(&rtp.Packet{Header: header, Payload: body}); err != nil {
					return
				}
				number++
				own.lock.Lock()
				c.Packets++
				own.lock.Unlock()
			}
			since += uint32(frame.Seconds() * clock)
			own.lock.Lock()
			c.Frames++
			own.lock.Unlock()
		}
	}()
	return over
}

// heard counts a report of the other end.
func heard(message rtcp.Packet, c *counts) {
	switch of := message.(type) {
	case *rtcp.CCFeedbackReport:
		c.Reports++
		for _, block := range of.ReportBlocks {
			for _, metric := range block.MetricBlocks {
				if metric.Received {
					c.Reported++
				}
				if metric.Received && metric.ECN == rtcp.ECNECT1 {
					c.Marked++
				}
			}
		}
	case *rtcp.TransportLayerCC:
		c.Reports++
		c.Reported += len(of.RecvDeltas)
	}
}

func main() {
	way, url, feedback := os.Args[1], os.Args[2], os.Args[4]
	seconds := must(strconv.Atoi(os.Args[3]))
	s, c := open(), &counts{}
	own := &marked{socket: s, recorder: ccfb.NewRecorder(), counts: c}
	connection := connect(s, feedback, own)
	ready, gone := make(chan struct{}), make(chan struct{})
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		switch state {
		case webrtc.PeerConnectionStateConnected:
			close(ready)
		case webrtc.PeerConnectionStateFailed, webrtc.PeerConnectionStateClosed:
			close(gone)
		}
	})
	var over chan struct{}
	if way == "receive" {
		over = receive(connection, s, own, c)
	} else {
		over = send(connection, own, c, ready)
	}
	meet(connection, url)
	select {
	case <-ready:
	case <-gone:
		must(0, fmt.Errorf("found no connection, expected one"))
	}
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
		c.Ended = true
	case <-over:
	case <-gone:
	}
	own.lock.Lock()
	line := must(json.Marshal(c))
	own.lock.Unlock()
	ok(connection.Close())
	fmt.Println(string(line))
}
