/** WebRTC with the command: the page receives what the command sends, or sends to it. */

import { byId, el } from "../shared/dom";

/** Which end the page is: the command writes it into the page. */
const end = document.documentElement.dataset["end"];

declare global {
  interface Window {
    /** For tests: the connection, and what the browser last counted. */
    peer: RTCPeerConnection;
    seen: Counters;
  }
}

type Counters = Record<string, unknown>;

const peer = new RTCPeerConnection();
window.peer = peer;

/** How long candidates are waited for, in milliseconds: on a loopback they are there at once. */
const GATHERING = 1000;

/** What is shown of the browser's statistics. */
const STREAM = [
  "framesDecoded", "framesEncoded", "framesPerSecond", "freezeCount", "packetsReceived", "packetsLost", "packetsSent",
  "packetsReceivedWithCe", "packetsReceivedWithEct1", "nackCount", "retransmittedPacketsReceived", "retransmittedPacketsSent",
  "targetBitrate", "frameWidth", "packetsSentWithEct1",
  "bytesSent", "headerBytesSent", "qualityLimitationReason",
];
const SHOWN: Record<string, string[]> = {
  "inbound-rtp": STREAM,
  "outbound-rtp": STREAM,
  transport: ["ccfbMessagesSent", "ccfbMessagesReceived"],
  "candidate-pair": ["availableOutgoingBitrate"],
};

/** A picture that an encoder has work with: confetti and a number. */
function moving(canvas: HTMLCanvasElement): MediaStream {
  const draw = canvas.getContext("2d");
  if (draw === null) throw new Error("this browser draws on no canvas");
  let n = 0;
  setInterval(() => {
    n += 1;
    for (let i = 0; i < 400; i += 1) {
      draw.fillStyle = `hsl(${Math.random() * 360} 80% 50%)`;
      draw.fillRect(Math.random() * canvas.width, Math.random() * canvas.height, 24, 24);
    }
    draw.fillStyle = "#000";
    draw.fillText(String(n), 10, 20);
  }, 33);
  return canvas.captureStream(30);
}

function show(values: Counters): void {
  const text = (value: unknown) => String(typeof value === "number" ? Math.round(value * 100) / 100 : value);
  byId("rows").replaceChildren(...Object.entries(values).map(([key, value]) => el("tr", {}, el("td", {}, key), el("td", {}, text(value)))));
}

function receive(video: HTMLVideoElement): void {
  peer.addTransceiver("video", { direction: "recvonly" });
  peer.ontrack = (event) => {
    video.srcObject = new MediaStream([event.track]);
  };
}

async function send(video: HTMLVideoElement): Promise<void> {
  const stream = moving(byId<HTMLCanvasElement>("canvas"));
  const [track] = stream.getVideoTracks();
  if (track === undefined) throw new Error("the canvas gives no track");
  video.srcObject = stream;
  const sender = peer.addTransceiver(track, { direction: "sendonly", streams: [stream] });
  const address = new URLSearchParams(location.search);
  // "?codec=H264" sends that alone, where both ends have it; otherwise the browser's first choice is taken.
  const wanted = address.get("codec");
  if (wanted !== null) {
    const codecs = RTCRtpSender.getCapabilities("video")?.codecs ?? [];
    // Without "rtx" in the list nothing is sent again.
    sender.setCodecPreferences(codecs.filter((c) => [`video/${wanted}`, "video/rtx"].includes(c.mimeType)));
  }
  // "?most=8" sets the encoder's greatest rate in Mbit/s; a browser has one of its own for each size of picture.
  const most = Number(address.get("most"));
  if (most > 0) {
    const parameters = sender.sender.getParameters();
    for (const encoding of parameters.encodings) encoding.maxBitrate = most * 1e6;
    await sender.sender.setParameters(parameters);
  }
}

/** Resolves once all candidates are known, or after a while. */
const gathered = () =>
  new Promise<void>((done) => {
    const look = () => {
      if (peer.iceGatheringState === "complete") done();
    };
    look();
    peer.onicegatheringstatechange = look;
    setTimeout(done, GATHERING);
  });

async function count(): Promise<void> {
  const values: Counters = {};
  for (const report of ((await peer.getStats()) as unknown as Map<string, Counters>).values()) {
    for (const key of SHOWN[String(report["type"])] ?? []) if (report[key] !== undefined) values[key] = report[key];
  }
  window.seen = values;
  // A browser without a window prints it where it is started (--enable-logging=stderr).
  console.info(`slackwater ${JSON.stringify(values)}`);
  const ours = await fetch("/stats")
    .then((r) => r.json() as Promise<Counters>)
    .catch(() => ({}));
  show({ ...values, ...ours });
}

async function start(): Promise<void> {
  const video = byId<HTMLVideoElement>("video");
  if (end === "receive") receive(video);
  else await send(video);
  peer.onconnectionstatechange = () => {
    byId("state").textContent = `Connection: ${peer.connectionState}.`;
  };
  await peer.setLocalDescription(await peer.createOffer());
  await gathered();
  const answer = await fetch("/offer", {
    method: "POST",
    headers: { "Content-Type": "application/sdp" },
    body: peer.localDescription?.sdp ?? "",
  });
  if (!answer.ok) throw new Error(await answer.text());
  await peer.setRemoteDescription({ type: "answer", sdp: await answer.text() });
  setInterval(() => void count(), 1000);
}

start().catch((e: unknown) => {
  byId("state").textContent = `Failed: ${e instanceof Error ? e.message : String(e)}`;
});
