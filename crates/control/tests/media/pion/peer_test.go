// A sender's congestion control by pion/interceptor, in virtual time, driven from standard input:
//
//	S <ns> <number> <bytes>                        a packet left
//	F <ns> <number>:<arrival ns or -> ...          feedback arrived
//
// Each F is answered by "T <bit/s>". Times rise and start at zero.
package peer

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/gcc"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const (
	ssrc      = 1
	extension = 5
	uri       = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
	tick      = 250 * time.Microsecond
	reference = 64 * time.Millisecond
)

func integer(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// report is transport-wide feedback about packets with consecutive numbers.
func report(t *testing.T, entries []string) *rtcp.TransportLayerCC {
	fb := &rtcp.TransportLayerCC{SenderSSRC: 2, MediaSSRC: ssrc, PacketStatusCount: uint16(len(entries))}
	chunk := &rtcp.StatusVectorChunk{SymbolSize: rtcp.TypeTCCSymbolSizeTwoBit}
	var told time.Duration
	started := false
	for i, entry := range entries {
		number, arrival, _ := strings.Cut(entry, ":")
		if i == 0 {
			fb.BaseSequenceNumber = uint16(integer(t, number))
		}
		symbol := uint16(rtcp.TypeTCCPacketNotReceived)
		if arrival != "-" {
			at := time.Duration(integer(t, arrival))
			if !started {
				started = true
				fb.ReferenceTime = uint32(at / reference)
				told = time.Duration(fb.ReferenceTime) * reference
			}
			ticks := int64((at - told + tick/2) / tick)
			told += time.Duration(ticks) * tick
			symbol = rtcp.TypeTCCPacketReceivedLargeDelta
			fb.RecvDeltas = append(fb.RecvDeltas, &rtcp.RecvDelta{Type: symbol, Delta: ticks * 250})
		}
		chunk.SymbolList = append(chunk.SymbolList, symbol)
		if len(chunk.SymbolList) == 7 {
			fb.PacketChunks = append(fb.PacketChunks, chunk)
			chunk = &rtcp.StatusVectorChunk{SymbolSize: rtcp.TypeTCCSymbolSizeTwoBit}
		}
	}
	if len(chunk.SymbolList) > 0 {
		fb.PacketChunks = append(fb.PacketChunks, chunk)
	}
	return fb
}

func TestPeer(t *testing.T) {
	first, err := strconv.Atoi(os.Getenv("PEER_START"))
	if err != nil {
		t.Skip("PEER_START gives the first rate in bit/s; lines come on standard input")
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		estimator, err := gcc.NewSendSideBWE(
			gcc.SendSideBWEInitialBitrate(first),
			gcc.SendSideBWEMinBitrate(300_000),
			gcc.SendSideBWEMaxBitrate(100_000_000),
			gcc.SendSideBWEPacer(gcc.NewNoOpPacer()),
		)
		if err != nil {
			t.Fatal(err)
		}
		nowhere := interceptor.RTPWriterFunc(func(_ *rtp.Header, payload []byte, _ interceptor.Attributes) (int, error) {
			return len(payload), nil
		})
		info := &interceptor.StreamInfo{SSRC: ssrc, RTPHeaderExtensions: []interceptor.RTPHeaderExtension{{URI: uri, ID: extension}}}
		writer := estimator.AddStream(info, nowhere)
		out := bufio.NewWriter(os.Stdout)
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(make([]byte, 1<<20), 1<<20)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			time.Sleep(time.Until(start.Add(time.Duration(integer(t, fields[1])))))
			switch fields[0] {
			case "S":
				number := uint16(integer(t, fields[2]))
				header := &rtp.Header{Version: 2, SSRC: ssrc, SequenceNumber: number}
				tcc, err := (&rtp.TransportCCExtension{TransportSequence: number}).Marshal()
				if err != nil {
					t.Fatal(err)
				}
				if err := header.SetExtension(extension, tcc); err != nil {
					t.Fatal(err)
				}
				payload := make([]byte, max(0, int(integer(t, fields[3]))-header.MarshalSize()))
				if _, err := writer.Write(header, payload, nil); err != nil {
					t.Fatal(err)
				}
			case "F":
				if err := estimator.WriteRTCP([]rtcp.Packet{report(t, fields[2:])}, nil); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				fmt.Fprintf(out, "T %d\n", estimator.GetTargetBitrate())
				if err := out.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := estimator.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
