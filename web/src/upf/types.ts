/** What a user plane function reports by HTTP; crates/upf has the definitions. */

export interface Way {
  bytes: number;
  refused: number;
}

export interface Session {
  seid: string;
  ue: { v4: string | null; v6: string | null } | null;
  down: Way;
  up: Way;
  vaqm: { rtt_ms: number | null; path_ms: number | null; target_ms: number | null; backlog_bytes: number; state: string } | null;
}

export interface Histogram {
  /** Packets in each bucket; the last has no upper end. */
  buckets: { le_s: number | null; count: number }[];
}

export interface Status {
  interface: string;
  uptime_s: number;
  sessions: number;
  held_bytes: number;
  dropped: Record<string, number>;
  marks: Record<string, number>;
  queue_delay: { down: Histogram };
}

export interface Answer {
  status: Status;
  sessions: Session[];
}
