// A base station by go-gtp: it tries N3 of the function that it starts beside it, and checks each answer with go-gtp's parser.
//
// It stands in a network namespace with that function, and is the server behind N6 too. What it finds goes to standard output
// as one JSON object, and every packet of the loopback device to n3.pcap.
//
// usage: gnb COMMAND CONFIG
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/wmnsk/go-gtp/gtpv1"
	"github.com/wmnsk/go-gtp/gtpv1/message"
)

const (
	upf      = "127.0.0.1:2152"
	gnb      = "127.0.0.2:2152"
	ue       = "10.60.0.1:40001" // no dissector claims these ports
	uplink   = 0x11
	downlink = 0x22
	qfi      = 5
	rounds   = 50
	wait     = 10 * time.Second
)

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

// next is what comes on a channel, in time.
func next[T any](from chan T, what string) T {
	select {
	case value := <-from:
		return value
	case <-time.After(wait):
		fail("%s did not come", what)
	}
	panic("unreachable")
}

// capture sees every packet of the loopback device from now on.
func capture() int {
	every := int(binary.BigEndian.Uint16([]byte{0, syscall.ETH_P_ALL})<<8 | syscall.ETH_P_ALL>>8)
	fd := must(syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW|syscall.SOCK_NONBLOCK, every))
	lo := must(net.InterfaceByName("lo"))
	// Room for all that this test sends: it is read at the end.
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, 16<<20); err != nil {
		fail("%v", err)
	}
	address := syscall.SockaddrLinklayer{Protocol: uint16(every), Ifindex: lo.Index}
	if err := syscall.Bind(fd, &address); err != nil {
		fail("%v", err)
	}
	return fd
}

// written puts what was captured into a file (draft-ietf-opsawg-pcap, link type 1: Ethernet); how many packets that were.
func written(fd int, name string) int {
	out := new(bytes.Buffer)
	write := func(values ...any) {
		for _, value := range values {
			if err := binary.Write(out, binary.LittleEndian, value); err != nil {
				fail("%v", err)
			}
		}
	}
	write(uint32(0xa1b2c3d4), uint16(2), uint16(4), uint64(0), uint32(262144), uint32(1))
	count, buf := 0, make([]byte, 70000)
	for {
		n, from, err := syscall.Recvfrom(fd, buf, 0)
		if err != nil {
			break
		}
		// The device shows each packet twice: as it leaves and as it comes.
		if link, ok := from.(*syscall.SockaddrLinklayer); ok && link.Pkttype == syscall.PACKET_OUTGOING {
			continue
		}
		write(uint32(count), uint32(0), uint32(n), uint32(n), buf[:n])
		count++
	}
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		fail("%v", err)
	}
	return count
}

// turned is the UE's answer to a UDP packet: addresses and ports swapped; their sums stay.
func turned(p []byte) []byte {
	check(len(p) > 28 && p[0] == 0x45 && p[9] == 17, "no UDP packet: % x", p)
	out := bytes.Clone(p)
	copy(out[12:16], p[16:20])
	copy(out[16:20], p[12:16])
	copy(out[20:22], p[22:24])
	copy(out[22:24], p[20:22])
	return out
}

func octets(m message.Message) []byte {
	out := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(out); err != nil {
		fail("%v", err)
	}
	return out
}

// start runs the function; it comes back when the function says that it is there.
func start(command, config string) *exec.Cmd {
	process := exec.Command(command, "upf", "--config", config)
	lines := must(process.StderrPipe())
	if err := process.Start(); err != nil {
		fail("%v", err)
	}
	reader := bufio.NewReader(lines)
	must(reader.ReadString('\n'))
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	return process
}

func main() {
	if err := exec.Command("ip", "link", "set", "lo", "up").Run(); err != nil {
		fail("%v", err)
	}
	sniffer := capture()
	process := start(os.Args[1], os.Args[2])
	defer func() { _ = process.Process.Kill() }()
	context, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	here, there := must(net.ResolveUDPAddr("udp", gnb)), must(net.ResolveUDPAddr("udp", upf))

	// go-gtp sends an echo request first, and goes on with its answer alone.
	conn := must(gtpv1.DialUPlane(context, here, there))
	pdus := make(chan *message.TPDU, 16)
	errors := make(chan *message.ErrorIndication, 16)
	known := make(chan *message.SupportedExtensionHeaderNotification, 16)
	conn.AddHandlers(map[uint8]gtpv1.HandlerFunc{
		message.MsgTypeTPDU: func(_ gtpv1.Conn, from net.Addr, m message.Message) error {
			check(from.String() == upf, "a packet of %v", from)
			pdus <- m.(*message.TPDU)
			return nil
		},
		message.MsgTypeErrorIndication: func(_ gtpv1.Conn, _ net.Addr, m message.Message) error {
			errors <- m.(*message.ErrorIndication)
			return nil
		},
		message.MsgTypeSupportedExtensionHeaderNotification: func(_ gtpv1.Conn, _ net.Addr, m message.Message) error {
			known <- m.(*message.SupportedExtensionHeaderNotification)
			return nil
		},
	})
	send := func(m message.Message) { must(conn.WriteTo(octets(m), there)) }
	// An uplink PDU session container (TS 38.415, 5.5.2.2), at the end of a chain or with another header behind it.
	container := func(following uint8) *message.ExtensionHeader {
		return message.NewExtensionHeader(message.ExtHeaderTypePDUSessionContainer, []byte{0x10, qfi}, following)
	}

	server := must(net.ListenUDP("udp4", &net.UDPAddr{Port: 40000}))
	target := must(net.ResolveUDPAddr("udp", ue))
	answer := func() []byte {
		buf := make([]byte, 2000)
		if err := server.SetReadDeadline(time.Now().Add(wait)); err != nil {
			fail("%v", err)
		}
		return buf[:must(server.Read(buf))]
	}

	// Down and up again, with every length; every third packet has a UDP port header behind its container (TS 29.281, 5.2.2.1).
	good := 0
	for k := range rounds {
		payload := bytes.Repeat([]byte{byte(k)}, 1+27*k)
		must(server.WriteTo(payload, target))
		pdu := next(pdus, "a downlink packet")
		check(pdu.TEID() == downlink, "tunnel %#x", pdu.TEID())
		check(len(pdu.ExtensionHeaders) == 1, "headers %v", pdu.ExtensionHeaders)
		header := pdu.ExtensionHeaders[0]
		check(header.Type == message.ExtHeaderTypePDUSessionContainer, "header %v", header)
		check(header.Content[0]>>4 == 0 && header.Content[1]&0x3f == qfi, "container %v", header)
		chain := []*message.ExtensionHeader{container(message.ExtHeaderTypeNoMoreExtensionHeaders)}
		if k%3 == 0 {
			port := message.NewExtensionHeader(message.ExtHeaderTypeUDPPort, []byte{0x08, 0x68}, 0)
			chain = []*message.ExtensionHeader{container(message.ExtHeaderTypeUDPPort), port}
		}
		send(message.NewTPDUWithExtentionHeader(uplink, turned(pdu.Payload), chain...))
		if bytes.Equal(answer(), payload) {
			good++
		}
	}

	// Without a container, as an old base station sends; with a sequence number.
	must(server.WriteTo([]byte("plain"), target))
	last := next(pdus, "a downlink packet")
	send(message.NewTPDUWithSequence(uplink, 9, turned(last.Payload)))
	check(string(answer()) == "plain", "the answer to a packet without a container")

	// A tunnel that is nobody's (TS 29.281, 7.3.1).
	send(message.NewTPDU(0xbad, turned(last.Payload)))
	indication := next(errors, "an error indication")
	teid, peer := must(indication.TEIDDataI.TEID()), must(indication.GTPUPeerAddress.IP())
	check(teid == 0xbad && peer.String() == "127.0.0.1", "error indication of %#x at %v", teid, peer)

	// A header that must be understood and is not, bits 8 and 7 set (TS 29.281, 5.2.1 and 7.2.3).
	strange := message.NewExtensionHeader(message.ExtHeaderTypeSuspendRequest, []byte{1, 2}, 0)
	send(message.NewTPDUWithExtentionHeader(uplink, turned(last.Payload), strange))
	list := must(next(known, "a notification of known headers").ExtensionHeaderTypeList.ExtensionHeaderTypeList())
	check(bytes.Contains(list, []byte{message.ExtHeaderTypePDUSessionContainer}), "known headers % x", list)

	// A path switch's end, and what the base station has not.
	marker := message.NewEndMarker()
	marker.SetTEID(uplink)
	send(marker)
	must(server.WriteTo([]byte("gone"), target))
	if err := conn.ErrorIndication(there, next(pdus, "a downlink packet")); err != nil {
		fail("%v", err)
	}
	// Both are counted once the next packet has passed behind them.
	must(server.WriteTo([]byte("end"), target))
	send(message.NewTPDUWithExtentionHeader(uplink, turned(next(pdus, "the last packet").Payload), container(0)))
	check(string(answer()) == "end", "the last answer")

	status := must(http.Get("http://127.0.0.1:9805/status"))
	overview := must(io.ReadAll(status.Body))
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		fail("%v", err)
	}
	ended := process.Wait() == nil
	found := map[string]any{
		"good":     good,
		"overview": json.RawMessage(overview),
		"ended":    ended,
		"captured": written(sniffer, "n3.pcap"),
	}
	fmt.Println(string(must(json.Marshal(found))))
}
