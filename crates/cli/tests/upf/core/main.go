// What surrounds a session management function in a 5G core, in few lines: repository, subscriber data, policies, charging, and an
// access and mobility function that requests sessions (TS 29.502, 29.503, 29.510, 29.512, 29.518). With it a real SMF sets up sessions
// at the function under test, without the rest of its core.
//
// It stands in a network namespace with both, and is the base station and the server behind N6 too. What it finds goes to standard
// output as one JSON object; what the SMF writes goes to smf.log.
//
// usage: core SMF COMMAND CONFIG
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	upf  = "127.0.0.1"
	gnb  = "127.0.0.2"
	smf  = "127.0.0.3"
	self = "127.0.0.5:8000"
	ues  = 20
	// TEID of the first UE at the base station.
	downlink = 0x100
	wait     = 30 * time.Second
)

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	if log, err := os.ReadFile("smf.log"); err == nil {
		fmt.Fprintf(os.Stderr, "the SMF wrote:\n%s", log)
	}
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

// What the SMF is told of itself. Rules for free5GC's SMF 1.4.
const smfConfig = `info: {version: 1.0.7, description: SMF}
configuration:
  smfName: SMF
  sbi: {scheme: http, registerIPv4: 127.0.0.3, bindingIPv4: 127.0.0.3, port: 8000}
  serviceNameList: [nsmf-pdusession, nsmf-event-exposure, nsmf-oam]
  snssaiInfos:
    - sNssai: {sst: 1, sd: "010203"}
      dnnInfos: [{dnn: internet, dns: {ipv4: 192.0.2.53}}]
  plmnList: [{mcc: "001", mnc: "01"}]
  locality: area1
  pfcp: {nodeID: 127.0.0.3, listenAddr: 127.0.0.3, externalAddr: 127.0.0.3, heartbeatInterval: 1s, assocFailRetryInterval: 1s}
  userplaneInformation:
    upNodes:
      gNB1: {type: AN, anIP: 127.0.0.2}
      UPF:
        type: UPF
        nodeID: 127.0.0.1
        addr: 127.0.0.1
        sNssaiUpfInfos:
          - sNssai: {sst: 1, sd: "010203"}
            dnnUpfInfoList: [{dnn: internet, pools: [{cidr: 10.60.0.0/16}]}]
        interfaces: [{interfaceType: N3, endpoints: [127.0.0.1], networkInstances: [internet]}]
    links: [{A: gNB1, B: UPF}]
  nrfUri: http://127.0.0.5:8000
  urrPeriod: 10
  urrThreshold: 100000
  requestedUnit: 1000
  t3591: {enable: true, expireTime: 16s, maxRetryTimes: 3}
  t3592: {enable: true, expireTime: 16s, maxRetryTimes: 3}
logger: {enable: true, level: info, reportCaller: false}
`

const routing = "info: {version: 1.0.7, description: routing}\n"

// Core is what the SMF talks to.
type Core struct {
	mu sync.Mutex
	// Requests by method and path without what names a UE.
	requests map[string]int
	// What the SMF sent towards the base station, by UE: session resources (TS 38.413, 9.3.4.1).
	setups chan setup
	// Octets that it charged, up and down (TS 32.291, 6.1.6.2.1.9).
	charged [2]float64
}

type setup struct {
	supi string
	n2   []byte
}

// service is a profile of a network function that offers one service.
func service(kind, name string) map[string]any {
	return map[string]any{
		"nfInstanceId": "00000000-0000-4000-8000-" + fmt.Sprintf("%012x", len(name)), "nfType": kind, "nfStatus": "REGISTERED",
		"nfServices": []any{map[string]any{
			"serviceInstanceId": "0", "serviceName": name, "scheme": "http", "nfServiceStatus": "REGISTERED",
			"versions":  []any{map[string]any{"apiVersionInUri": "v1", "apiFullVersion": "1.0.0"}},
			"apiPrefix": "http://" + self,
		}},
	}
}

// arp is an allocation and retention priority (TS 29.571, 5.5.4.1).
var arp = map[string]any{"priorityLevel": 8, "preemptCap": "NOT_PREEMPT", "preemptVuln": "PREEMPTABLE"}

func (c *Core) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := must(io.ReadAll(r.Body))
	path := r.URL.Path
	words := strings.Split(strings.Trim(path, "/"), "/")
	c.mu.Lock()
	c.requests[r.Method+" "+words[0]]++
	c.mu.Unlock()

	answer := func(code int, location string, value any) {
		if location != "" {
			w.Header().Set("Location", "http://"+self+location)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if value != nil {
			w.Write(must(json.Marshal(value)))
		}
	}
	switch {
	case words[0] == "nnrf-nfm" && r.Method == "PUT":
		var profile any
		json.Unmarshal(body, &profile)
		answer(201, path, profile)
	case words[0] == "nnrf-disc":
		found := map[string]map[string]any{
			"UDM": service("UDM", "nudm-sdm"),
			"PCF": service("PCF", "npcf-smpolicycontrol"),
			"AMF": service("AMF", "namf-comm"),
			"CHF": service("CHF", "nchf-convergedcharging"),
		}[r.URL.Query().Get("target-nf-type")]
		result := map[string]any{"validityPeriod": 100, "nfInstances": []any{}}
		if found != nil {
			result["nfInstances"] = []any{found}
		}
		answer(200, "", result)
	case words[0] == "nudm-sdm" && strings.HasSuffix(path, "/sm-data"):
		answer(200, "", []any{map[string]any{
			"singleNssai": map[string]any{"sst": 1, "sd": "010203"},
			"dnnConfigurations": map[string]any{"internet": map[string]any{
				"pduSessionTypes": map[string]any{"defaultSessionType": "IPV4", "allowedSessionTypes": []string{"IPV4"}},
				"sscModes":        map[string]any{"defaultSscMode": "SSC_MODE_1", "allowedSscModes": []string{"SSC_MODE_1"}},
				"5gQosProfile":    map[string]any{"5qi": 9, "arp": arp, "priorityLevel": 8},
				"sessionAmbr":     map[string]any{"uplink": "100 Mbps", "downlink": "200 Mbps"},
			}},
		}})
	case words[0] == "nudm-sdm" && r.Method == "POST":
		answer(201, path+"/1", json.RawMessage(body))
	case words[0] == "npcf-smpolicycontrol" && words[len(words)-1] == "sm-policies":
		// A rule for all traffic, and a guaranteed flow for one server's port (TS 29.512, 5.6.2.4).
		everything := map[string]any{"pccRuleId": "PccRule-1", "precedence": 255, "refQosData": []string{"QoS-1"}, "refChgData": []string{"Chg-1"},
			"flowInfos": []any{map[string]any{"flowDescription": "permit out ip from any to assigned", "flowDirection": "BIDIRECTIONAL", "packetFilterUsage": true}}}
		voice := map[string]any{"pccRuleId": "PccRule-2", "precedence": 100, "refQosData": []string{"QoS-2"}, "refChgData": []string{"Chg-2"},
			"flowInfos": []any{map[string]any{"flowDescription": "permit out 17 from 192.0.2.1 5004 to assigned", "flowDirection": "BIDIRECTIONAL", "packetFilterUsage": true}}}
		answer(201, path+"/1", map[string]any{
			"sessRules": map[string]any{"SessRule-1": map[string]any{
				"sessRuleId": "SessRule-1", "authSessAmbr": map[string]any{"uplink": "100 Mbps", "downlink": "200 Mbps"},
				"authDefQos": map[string]any{"5qi": 9, "arp": arp, "priorityLevel": 8},
			}},
			"pccRules": map[string]any{"PccRule-1": everything, "PccRule-2": voice},
			"qosDecs": map[string]any{
				"QoS-1": map[string]any{"qosId": "QoS-1", "5qi": 9, "arp": arp, "maxbrUl": "50 Mbps", "maxbrDl": "80 Mbps"},
				"QoS-2": map[string]any{"qosId": "QoS-2", "5qi": 1, "arp": arp, "gbrUl": "1 Mbps", "gbrDl": "2 Mbps", "maxbrUl": "2 Mbps", "maxbrDl": "4 Mbps"},
			},
			"chgDecs": map[string]any{
				"Chg-1": map[string]any{"chgId": "Chg-1", "ratingGroup": 1, "online": false, "offline": true},
				"Chg-2": map[string]any{"chgId": "Chg-2", "ratingGroup": 2, "online": false, "offline": true},
			},
			"suppFeat": "000f",
		})
	case words[0] == "npcf-smpolicycontrol":
		answer(204, "", nil)
	case words[0] == "nchf-convergedcharging":
		c.charge(body)
		answer(201, path+"/1", map[string]any{"invocationTimeStamp": time.Now().Format(time.RFC3339), "invocationSequenceNumber": 1})
	case words[0] == "namf-comm" && strings.HasSuffix(path, "/n1-n2-messages"):
		_, params, _ := strings.Cut(r.Header.Get("Content-Type"), "boundary=")
		parts := multipart.NewReader(bytes.NewReader(body), strings.Trim(params, `"`))
		for {
			part, err := parts.NextPart()
			if err != nil {
				break
			}
			content := must(io.ReadAll(part))
			if part.Header.Get("Content-Type") == "application/vnd.3gpp.ngap" {
				c.setups <- setup{words[3], content}
			}
		}
		answer(200, "", map[string]any{"cause": "N1_N2_TRANSFER_INITIATED"})
	default:
		answer(204, "", nil)
	}
}

// charge adds up what a request says was used.
func (c *Core) charge(body []byte) {
	var request struct {
		MultipleUnitUsage []struct {
			UsedUnitContainer []struct{ UplinkVolume, DownlinkVolume float64 }
		}
	}
	json.Unmarshal(body, &request)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, group := range request.MultipleUnitUsage {
		for _, used := range group.UsedUnitContainer {
			c.charged[0] += used.UplinkVolume
			c.charged[1] += used.DownlinkVolume
		}
	}
}

var client = func() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: protocols}, Timeout: wait}
}()

// post sends JSON, with binary parts of other types where there are any; what came back.
func post(url string, value any, parts ...[3]string) (int, http.Header, []byte) {
	body, kind := new(bytes.Buffer), "application/json"
	text := must(json.Marshal(value))
	if len(parts) == 0 {
		body.Write(text)
	} else {
		mixed := multipart.NewWriter(body)
		must(mixed.CreatePart(textproto.MIMEHeader{"Content-Type": {kind}})).Write(text)
		for _, part := range parts {
			header := textproto.MIMEHeader{"Content-Type": {part[0]}, "Content-Id": {part[1]}}
			must(mixed.CreatePart(header)).Write([]byte(part[2]))
		}
		mixed.Close()
		kind = "multipart/related; boundary=\"" + mixed.Boundary() + "\""
	}
	answer := must(client.Post(url, kind, body))
	defer answer.Body.Close()
	return answer.StatusCode, answer.Header, must(io.ReadAll(answer.Body))
}

func supi(k int) string { return fmt.Sprintf("imsi-00101%010d", k) }

// request asks for a PDU session (TS 29.502, 5.2.2.2); where its context is.
func request(k int) string {
	// TS 24.501, 8.3.1: PDU session 1, procedure 1, establishment request, full data rate, IPv4.
	nas := string([]byte{0x2e, 1, 1, 0xc1, 0xff, 0xff, 0x91})
	plmn := map[string]any{"mcc": "001", "mnc": "01"}
	code, header, body := post("http://"+smf+":8000/nsmf-pdusession/v1/sm-contexts", map[string]any{
		"supi": supi(k), "pduSessionId": 1, "dnn": "internet", "sNssai": map[string]any{"sst": 1, "sd": "010203"},
		"servingNfId": "00000000-0000-4000-8000-000000000009", "guami": map[string]any{"plmnId": plmn, "amfId": "cafe00"},
		"servingNetwork": plmn, "requestType": "INITIAL_REQUEST", "n1SmMsg": map[string]any{"contentId": "n1"}, "anType": "3GPP_ACCESS",
		"ratType": "NR", "smContextStatusUri": "http://" + self + "/namf-callback/v1/smContextStatus/" + supi(k) + "/1",
	}, [3]string{"application/vnd.3gpp.5gnas", "n1", nas})
	check(code == 201, "the SMF answered %d: %s", code, body)
	at := header.Get("Location")
	// free5GC's SMF names the context by its URN, without which it finds none.
	return "urn:uuid:" + at[strings.LastIndex(at, "/")+1:]
}

// change tells the SMF what the base station did (TS 29.502, 5.2.2.3).
func change(context string, value map[string]any, parts ...[3]string) {
	code, _, body := post("http://"+smf+":8000/nsmf-pdusession/v1/sm-contexts/"+context+"/modify", value, parts...)
	check(code == 200 || code == 204, "the SMF answered %d: %s", code, body)
}

// ready tells it the base station's end of the tunnel: a setup response transfer (TS 38.413, 9.3.4.2) of QFI 1.
func ready(context string, teid uint32) {
	transfer := append([]byte{0, 3, 0xe0}, net.ParseIP(gnb).To4()...)
	transfer = binary.BigEndian.AppendUint32(transfer, teid)
	transfer = append(transfer, 0, 1)
	change(context, map[string]any{"n2SmInfo": map[string]any{"contentId": "n2"}, "n2SmInfoType": "PDU_RES_SETUP_RSP"},
		[3]string{"application/vnd.3gpp.ngap", "n2", string(transfer)})
}

// tunnel is the TEID at the function's address in a session resource: the address, then the TEID (TS 38.413, 9.3.2.2).
func tunnel(n2 []byte) uint32 {
	at := bytes.Index(n2, net.ParseIP(upf).To4())
	check(at >= 0 && len(n2) >= at+8, "no tunnel in % x", n2)
	return binary.BigEndian.Uint32(n2[at+4:])
}

func get(path string) []byte {
	answer := must(http.Get("http://127.0.0.1:9805" + path))
	defer answer.Body.Close()
	return must(io.ReadAll(answer.Body))
}

// until repeats a look at the function.
func until(what string, holds func() bool) {
	for end := time.Now().Add(wait); !holds(); time.Sleep(50 * time.Millisecond) {
		check(time.Now().Before(end), "%s did not come; the function has %s %s", what, get("/status"), get("/sessions"))
	}
}

func sessions() []map[string]any {
	var found []map[string]any
	check(json.Unmarshal(get("/sessions"), &found) == nil, "no sessions")
	return found
}

// start runs a program until `ready` is in a line that it writes to standard error.
func start(log string, sign string, words ...string) *exec.Cmd {
	run := exec.Command(words[0], words[1:]...)
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	file := must(os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
	if sign == "" {
		run.Stdout, run.Stderr = file, file
		if err := run.Start(); err != nil {
			fail("%v", err)
		}
		return run
	}
	said := must(run.StderrPipe())
	if err := run.Start(); err != nil {
		fail("%v", err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		fmt.Fprintln(file, lines.Text())
		if strings.Contains(lines.Text(), sign) {
			go io.Copy(file, said)
			return run
		}
	}
	fail("%s ended before it was ready", words[0])
	return nil
}

// gPDU is a packet of a UE in a G-PDU with an uplink container (TS 29.281, 5.1; TS 38.415, 5.5.2.2).
func gPDU(teid uint32, qfi byte, packet []byte) []byte {
	rest := append([]byte{0, 0, 0, 0x85, 1, 0x10, qfi, 0}, packet...)
	out := []byte{0x34, 255}
	out = binary.BigEndian.AppendUint16(out, uint16(len(rest)))
	out = binary.BigEndian.AppendUint32(out, teid)
	return append(out, rest...)
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

// opened is the tunnel, the QFI and the packet of a G-PDU with a container.
func opened(m []byte) (uint32, byte, []byte) {
	check(m[1] == 255 && m[0]&4 != 0 && m[11] == 0x85, "no G-PDU with a container: % x", m)
	return binary.BigEndian.Uint32(m[4:]), m[14] & 0x3f, m[12+4*int(m[12]):]
}

func main() {
	program, command, config := os.Args[1], os.Args[2], os.Args[3]
	must(exec.Command("ip", "link", "set", "lo", "up").CombinedOutput())
	core := &Core{requests: map[string]int{}, setups: make(chan setup, 1000)}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP1(true)
	listener := must(net.Listen("tcp", self))
	go (&http.Server{Handler: core, Protocols: protocols}).Serve(listener)
	n3 := must(net.ListenPacket("udp", gnb+":2152"))
	found := map[string]any{}

	function := start("upf.log", "listening", command, "upf", "--config", config)
	os.WriteFile("smfcfg.yaml", []byte(smfConfig), 0o600)
	os.WriteFile("uerouting.yaml", []byte(routing), 0o600)
	manager := func() *exec.Cmd {
		return start("smf.log", "", program, "-c", "smfcfg.yaml", "-u", "uerouting.yaml")
	}
	running := manager()
	associated := func() bool {
		return strings.Contains(string(get("/status")), `"peer":"127.0.0.3`) || bytes.Contains(must(os.ReadFile("smf.log")), []byte("setup association"))
	}
	until("an association", associated)
	until("the SMF's interface", func() bool {
		line, err := net.Dial("tcp", smf+":8000")
		if err == nil {
			line.Close()
		}
		return err == nil
	})

	contexts := make([]string, ues)
	uplinks := map[string]uint32{}
	for k := range ues {
		contexts[k] = request(k)
		select {
		case s := <-core.setups:
			uplinks[s.supi] = tunnel(s.n2)
		case <-time.After(wait):
			fail("no session resources for UE %d", k)
		}
		ready(contexts[k], downlink+uint32(k))
	}
	until("all sessions", func() bool { return len(sessions()) == ues })
	found["sessions"] = sessions()

	// Down and up again, to each UE: from a server that no rule names, and from the one of the guaranteed flow.
	arrives := func() []byte {
		buf := make([]byte, 2000)
		n3.SetReadDeadline(time.Now().Add(wait))
		n, _, err := n3.ReadFrom(buf)
		check(err == nil, "nothing came down: %v; %s", err, get("/status"))
		return buf[:n]
	}
	good, qfis := 0, map[string]int{}
	for _, port := range []string{"5000", "5004"} {
		server := must(net.ListenPacket("udp", "192.0.2.1:"+port))
		for k := range ues {
			payload := bytes.Repeat([]byte{byte(k)}, 1000)
			must(server.WriteTo(payload, &net.UDPAddr{IP: net.IPv4(10, 60, 0, byte(k+1)), Port: 7000}))
			teid, qfi, packet := opened(arrives())
			qfis[port+"/"+fmt.Sprint(qfi)]++
			up := uplinks[supi(int(teid-downlink))]
			must(n3.WriteTo(gPDU(up, qfi, turned(packet)), must(net.ResolveUDPAddr("udp", upf+":2152"))))
			buf := make([]byte, 2000)
			server.SetReadDeadline(time.Now().Add(wait))
			n, _, err := server.ReadFrom(buf)
			check(err == nil, "nothing came up from UE %d: %v; %s", k, err, get("/status"))
			if bytes.Equal(buf[:n], payload) {
				good++
			}
		}
		server.Close()
	}
	found["good"], found["qfis"] = good, qfis

	// A UE that is idle: a packet waits, the SMF has the UE paged, and the packet arrives (TS 23.502, 4.2.3.3).
	change(contexts[0], map[string]any{"upCnxState": "DEACTIVATED"})
	server := must(net.ListenPacket("udp", "192.0.2.1:5000"))
	must(server.WriteTo([]byte("wake up"), &net.UDPAddr{IP: net.IPv4(10, 60, 0, 1), Port: 7000}))
	select {
	case s := <-core.setups:
		found["paged"] = s.supi
	case <-time.After(wait):
		fail("the SMF did not hear of the packet for an idle UE; %s", get("/status"))
	}
	change(contexts[0], map[string]any{"upCnxState": "ACTIVATING"})
	ready(contexts[0], downlink)
	_, _, woken := opened(arrives())
	found["woken"] = string(woken[28:])

	for k := range ues / 2 {
		code, _, body := post("http://"+smf+":8000/nsmf-pdusession/v1/sm-contexts/"+contexts[k]+"/release", map[string]any{})
		check(code == 200 || code == 204, "the SMF answered %d: %s", code, body)
	}
	until("the end of half of the sessions", func() bool { return len(sessions()) == ues-ues/2 })
	found["charged"] = core.charged

	// An SMF that starts again has no sessions, and the function drops those of before (TS 23.527, 4.2).
	running.Process.Kill()
	running.Wait()
	running = manager()
	until("the loss of the sessions", func() bool { return len(sessions()) == 0 })

	found["requests"] = core.requests
	found["overview"] = json.RawMessage(get("/status"))
	running.Process.Kill()
	function.Process.Signal(syscall.SIGTERM)
	function.Wait()
	found["code"] = function.ProcessState.ExitCode()
	os.Stdout.Write(must(json.Marshal(found)))
}
