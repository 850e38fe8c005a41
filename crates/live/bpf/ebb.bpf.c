/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * ebb on the kernel's TCP. Its state machine is a process beside the kernel (live::bpf::ebb), as Narayan et al. split congestion
 * control (SIGCOMM 2018): samples of each connection leave here by a ring buffer, its orders come by a map. An order bounds all that was
 * sent, so what it says stays true until the next report, whenever it is applied: the process wakes at reports alone. A report makes no
 * connection send, only an ACK or a timer does: so the bound grows with its age, and the pace decides until the next order.
 *
 * Where the radio does not steer, and where the process is gone, CUBIC does: the kernel's own.
 *
 * Needs a kernel of 6.10 or newer: `cong_control` has had the ACK and its flags since then.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "ebb_core.h"
#include "recovery.h"
#include "scope.h"

/* Samples of one connection are so far apart at least. */
#define SAMPLE_NS 250000
/* Without a radio the kernel's ratios of pacing, percent (ip-sysctl, tcp_pacing_ss_ratio and tcp_pacing_ca_ratio). */
#define PACING_SS 200
#define PACING_CA 120
/* IPv4 without options; IPv6 has 20 bytes more. */
#define IPV4 20
#define IPV6 40
#define AF_INET6 10

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The kernel's CUBIC (tcp_cubic.c offers it to struct_ops); its state is the connection's private area, which ebb leaves alone. */
extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* Connections; ACKs that found the radio steering, and CUBIC; times that CUBIC took over, and those without an order of its process;
 * samples for which the ring had no room. The loader prints them. */
u64 connections = 0;
u64 radio_acks = 0;
u64 cubic_acks = 0;
u64 taken_over = 0;
u64 stale = 0;
u64 lost = 0;

enum ebb_kind { EBB_SAMPLE, EBB_OPEN, EBB_CLOSE };

/* A sample of a connection. The layout is that of live::split::event::Event::read. */
struct ebb_event {
	/* The connection. */
	u64 cookie;
	u64 now_ns;
	/* When the last of what was sent had left. */
	u64 sent_at_ns;
	/* Payload bytes that were sent in all, in so many segments. */
	u64 sent;
	u64 segments;
	/* Payload bytes that arrived, selectively or cumulatively. */
	u64 arrived;
	u32 in_flight;
	u32 srtt_us;
	u32 min_rtt_us;
	u32 mss;
	/* Bytes of a full packet with its headers. */
	u32 wire;
	/* Retransmission timeouts. */
	u32 timeouts;
	u32 kind;
	/* Ports and addresses of EBB_OPEN, in host order and as on the wire; an IPv4 address stands last in 16 bytes, mapped. */
	u16 local_port;
	u16 remote_port;
	u32 local[4];
	u32 remote[4];
	/* Payload bytes that may leave before the next sample: what waits, within the window. Nothing is called after a transmission. */
	u32 ready;
	u32 unused;
};

struct ebb_sock {
	u64 cookie;
	/* When packets could leave last. What is sent leaves then. */
	u64 called_ns;
	/* When the last sample left. */
	u64 sampled_ns;
	u64 prr_delivered;
	u32 timeouts;
	/* Headers of a packet beyond those of TCP. */
	u32 ip;
	/* The radio steers. */
	u8 radio;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ebb_sock);
} socks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, struct ebb_order);
} orders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} events SEC(".maps");

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline u8 ca_state(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state);
}

static __always_inline void set_window(struct tcp_sock *tp, u32 window)
{
	tp->snd_cwnd = window < tp->snd_cwnd_clamp ? window : tp->snd_cwnd_clamp;
}

/* A sample to the process, which reads it when the next report comes: it wakes nobody. The window is that of the transmission after it. */
static __always_inline void sample(struct ebb_sock *st, const struct tcp_sock *tp, u64 now)
{
	u64 sent_at = st->called_ns;
	struct ebb_event *e;
	u32 min_rtt = tp->rtt_min.s[0].v;
	u32 waits = tp->write_seq - tp->snd_nxt;
	u64 window = (u64)tp->snd_cwnd * tp->mss_cache;

	st->called_ns = now;
	if (!st->cookie || now - st->sampled_ns < SAMPLE_NS)
		return;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&lost, 1);
		return;
	}
	st->sampled_ns = now;
	__builtin_memset(e, 0, sizeof(*e));
	e->kind = EBB_SAMPLE;
	e->cookie = st->cookie;
	e->now_ns = now;
	e->sent_at_ns = sent_at ? sent_at : now;
	e->sent = tp->bytes_sent;
	e->segments = tp->data_segs_out;
	e->arrived = tp->bytes_acked + (u64)tp->sacked_out * tp->mss_cache;
	e->in_flight = packets_in_flight(tp);
	e->srtt_us = tp->srtt_us >> 3;
	e->min_rtt_us = min_rtt == ~0U ? 0 : min_rtt;
	e->mss = tp->mss_cache;
	e->wire = tp->mss_cache + tp->tcp_header_len + st->ip;
	e->timeouts = st->timeouts;
	e->ready = waits < window ? waits : window;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/* The order of a connection; NULL without one that counts. */
static __always_inline struct ebb_order *order_of(const struct ebb_sock *st, u64 now)
{
	u64 cookie = st->cookie;
	struct ebb_order *o = bpf_map_lookup_elem(&orders, &cookie);

	return o && ebb_fresh(o, now) ? o : (void *)0;
}

/* CUBIC takes over, with what the order leaves it at most. */
static __always_inline void take_over(struct sock *sk, struct ebb_sock *st, const struct ebb_order *o)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ebb_order none = {};
	u32 window = ebb_left(o ? o : &none, o != (void *)0, packets_in_flight(tp));

	st->radio = 0;
	__sync_fetch_and_add(&taken_over, 1);
	if (!o)
		__sync_fetch_and_add(&stale, 1);
	cubictcp_init(sk);
	set_window(tp, window);
	tp->snd_ssthresh = window;
}

/* Applies the order: true where the radio steers. */
static __always_inline bool obey(struct sock *sk, struct ebb_sock *st, u64 now)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ebb_order *o = order_of(st, now);

	if (!o || !o->steers) {
		if (st->radio)
			take_over(sk, st, o);
		return false;
	}
	st->radio = 1;
	set_window(tp, ebb_window(o, ebb_age(o, now), tp->bytes_sent, packets_in_flight(tp), tp->mss_cache));
	sk->sk_pacing_rate = o->pace ? o->pace : ~0UL;
	return true;
}

/* tcp_update_pacing_rate() */
static __always_inline void pace(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 window = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd : tp->packets_out;
	u64 rate = window * tp->mss_cache * (8 * 1000000ULL / 100);

	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? PACING_SS : PACING_CA;
	sk->sk_pacing_rate = tp->srtt_us ? rate / tp->srtt_us : ~0UL;
}

SEC("struct_ops")
void BPF_PROG(ebb_begin, struct sock *sk)
{
	struct ebb_sock *st = bpf_sk_storage_get(&socks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	cubictcp_init(sk);
	if (!st)
		return;
	/* A connection that chose ebb was announced before this. */
	st->radio = 0;
	sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_pacing_rate = ~0UL;
}

SEC("struct_ops")
u32 BPF_PROG(ebb_ssthresh, struct sock *sk)
{
	struct ebb_sock *st = bpf_sk_storage_get(&socks, sk, 0, 0);

	/* The radio drops nothing that it announced: a loss says nothing of the rate (docs/ebb.md). */
	return st && st->radio ? tcp_sk(sk)->snd_cwnd : cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(ebb_state, struct sock *sk, u8 new_state)
{
	struct ebb_sock *st = bpf_sk_storage_get(&socks, sk, 0, 0);
	struct tcp_sock *tp = tcp_sk(sk);
	u8 before = ca_state(tp);

	if (!st)
		return;
	if (new_state == TCP_CA_Loss && before != TCP_CA_Loss)
		st->timeouts++;
	if (new_state >= TCP_CA_CWR && new_state > before)
		st->prr_delivered = 0;
	if (st->radio)
		return;
	/* The kernel leaves the end of a reduction to a congestion control that sets the window (tcp_end_cwnd_reduction). */
	if (new_state < TCP_CA_CWR && (before == TCP_CA_CWR || before == TCP_CA_Recovery))
		set_window(tp, ebb_clamp(tp->snd_ssthresh, 2));
	cubictcp_state(sk, new_state);
}

SEC("struct_ops")
void BPF_PROG(ebb_cwnd_event, struct sock *sk, int event)
{
	struct ebb_sock *st = bpf_sk_storage_get(&socks, sk, 0, 0);

	if (st && !st->radio)
		cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops")
u32 BPF_PROG(ebb_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops")
void BPF_PROG(ebb_acked, struct sock *sk, const struct ack_sample *acked)
{
	struct ebb_sock *st = bpf_sk_storage_get(&socks, sk, 0, 0);

	if (st && !st->radio)
		cubictcp_acked(sk, acked);
}

/* Before each transmission: what an order opened since the last ACK may leave, and what it closed may not. */
SEC("struct_ops")
u32 BPF_PROG(ebb_segments, struct sock *sk)
{
	struct ebb_sock *st = bpf_sk_storage_get(&socks, sk, 0, 0);
	u64 now = bpf_ktime_get_ns();
	bool radio = st && obey(sk, st, now);

	if (st)
		sample(st, tcp_sk(sk), now);
	/* ip-sysctl, tcp_min_tso_segs */
	return radio ? 1 : 2;
}

SEC("struct_ops")
void BPF_PROG(ebb_ack_in, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct ebb_sock *st = bpf_sk_storage_get(&socks, sk, 0, 0);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now = bpf_ktime_get_ns();
	u8 state = ca_state(tp);

	if (!st) {
		/* There was no memory for it: CUBIC alone. */
		cubictcp_cong_avoid(sk, ack, rs->acked_sacked);
		return;
	}
	if (obey(sk, st, now)) {
		sample(st, tp, now);
		__sync_fetch_and_add(&radio_acks, 1);
		return;
	}
	__sync_fetch_and_add(&cubic_acks, 1);
	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		set_window(tp, prr_window(tp, rs, tp->snd_ssthresh, &st->prr_delivered));
	else if (rs->acked_sacked)
		cubictcp_cong_avoid(sk, ack, rs->acked_sacked);
	pace(sk);
	sample(st, tp, now);
}

/* A link: the kernel takes the controller back when the loader ends, however it ends. */
SEC(".struct_ops.link")
struct tcp_congestion_ops ebb = {
	.init = (void *)ebb_begin,
	.ssthresh = (void *)ebb_ssthresh,
	.set_state = (void *)ebb_state,
	.cwnd_event = (void *)ebb_cwnd_event,
	.undo_cwnd = (void *)ebb_undo,
	.pkts_acked = (void *)ebb_acked,
	.min_tso_segs = (void *)ebb_segments,
	.cong_control = (void *)ebb_ack_in,
	.name = "ebb",
};

/* A connection begins or ends. */
static __always_inline void announce(struct bpf_sock_ops *ops, u64 cookie, u32 kind)
{
	struct ebb_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	u32 local, remote;
	bool v6;

	if (!e) {
		__sync_fetch_and_add(&lost, 1);
		return;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->cookie = cookie;
	e->now_ns = bpf_ktime_get_ns();
	e->local_port = ops->local_port;
	e->remote_port = bpf_ntohl(ops->remote_port);
	/* The verifier wants each read at an offset of its own: no branch around them. */
	v6 = ops->family == AF_INET6;
	e->local[0] = ops->local_ip6[0];
	e->local[1] = ops->local_ip6[1];
	e->local[2] = ops->local_ip6[2];
	e->local[3] = ops->local_ip6[3];
	e->remote[0] = ops->remote_ip6[0];
	e->remote[1] = ops->remote_ip6[1];
	e->remote[2] = ops->remote_ip6[2];
	e->remote[3] = ops->remote_ip6[3];
	local = ops->local_ip4;
	remote = ops->remote_ip4;
	if (!v6) {
		/* RFC 4291, 2.5.5.2 */
		e->local[0] = e->local[1] = e->remote[0] = e->remote[1] = 0;
		e->local[2] = e->remote[2] = bpf_htonl(0xffff);
		e->local[3] = local;
		e->remote[3] = remote;
	}
	bpf_ringbuf_submit(e, 0);
}

SEC("sockops")
int ebb_connections(struct bpf_sock_ops *ops)
{
	char name[] = "ebb";
	struct ebb_sock *st;
	struct bpf_sock *sk = ops->sk;
	u64 cookie = bpf_get_socket_cookie(ops);

	if (!sk)
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		if (!given(ops, name))
			break;
		st = bpf_sk_storage_get(&socks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!st)
			break;
		st->cookie = cookie;
		st->ip = ops->family == AF_INET6 && ops->local_ip6[2] != bpf_htonl(0xffff) ? IPV6 : IPV4;
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_STATE_CB_FLAG);
		__sync_fetch_and_add(&connections, 1);
		announce(ops, cookie, EBB_OPEN);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		st = bpf_sk_storage_get(&socks, sk, 0, 0);
		if (st && st->cookie && ops->args[1] == BPF_TCP_CLOSE) {
			announce(ops, cookie, EBB_CLOSE);
			bpf_map_delete_elem(&orders, &cookie);
		}
		break;
	}
	return 1;
}
