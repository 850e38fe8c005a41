/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * XRC on the kernel's TCP: a congestion control (struct_ops) and a program that reads the agent's option on ACKs
 * (sockops). The algorithm is xrc_core.h; here is what the kernel leaves to a congestion control: what an event says.
 *
 * Needs a kernel of 6.10 or newer: `cong_control` has had the ACK and its flags since then.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "recovery.h"
#include "scope.h"
#include "xrc_core.h"

/* RFC 6994, 3: kind 253 with an experiment identifier; "XR" in ASCII is this project's (crates/wire/src/report). */
#define OPTION_KIND 253
#define OPTION_EXID 0x5852
#define OPTION_LEN 12

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader before the programs are loaded: the paper's profile instead of the default. */
const volatile u8 paper = 0;
/* Read as memory: copied from a constant that clang 14 keeps on the stack, the number of rounds arrived as zero. */
const volatile struct xrc_params profiles[2] = { XRC_PARAMS_DEFAULT, XRC_PARAMS_PAPER };

/* Options read, options refused, and connections; the loader prints them. */
u64 options_read = 0;
u64 options_refused = 0;
u64 connections = 0;
/* ACKs by the mode that they found the sender in, by the codes of enum xrc_mode. */
u64 acks_in_mode[16] = {};
/* The last sender that heard an ACK and has reports. */
struct xrc last = {};

struct xrc_sock {
	struct xrc x;
	/* Payload acknowledged before this ACK. */
	u64 una;
	u64 prr_delivered;
	/* Difference of the peer's and our time stamp of the first sample, ms. */
	u32 owd_origin;
	u8 has_origin;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct xrc_sock);
} socks SEC(".maps");

static __always_inline u64 now_us(void)
{
	return bpf_ktime_get_ns() / 1000;
}

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline u8 ca_state(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state);
}

static __always_inline void view(const struct tcp_sock *tp, struct xrc_path *path)
{
	u32 min_rtt = tp->rtt_min.s[0].v;

	path->srtt_us = tp->srtt_us >> 3;
	path->min_rtt_us = min_rtt == ~0U ? 0 : min_rtt;
	path->mss = tp->mss_cache;
	/* IPv4 without options; IPv6 adds 20 bytes in 1,500. */
	path->wire = tp->mss_cache + tp->tcp_header_len + 20;
	path->in_flight = (u64)packets_in_flight(tp) * tp->mss_cache;
}

static __always_inline u64 next_byte(const struct tcp_sock *tp)
{
	return tp->bytes_acked + (u32)(tp->snd_nxt - tp->snd_una);
}

static __always_inline void set_window(struct tcp_sock *tp, u32 window)
{
	tp->snd_cwnd = window < 1 ? 1 : window < tp->snd_cwnd_clamp ? window : tp->snd_cwnd_clamp;
}

static __always_inline void set_pacing(struct sock *sk, const struct xrc *x)
{
	/* The kernel paces payload. */
	u64 rate = x->pacing_bps / 8 * x->mss / (x->wire ? x->wire : 1);

	sk->sk_pacing_rate = rate ? rate : ~0UL;
}

/* One-way delay from time stamps (RFC 7323), us up to a constant. */
static __always_inline u64 one_way(struct xrc_sock *st, const struct tcp_sock *tp)
{
	u32 difference;

	if (!BPF_CORE_READ_BITFIELD(tp, rx_opt.saw_tstamp) || !tp->rx_opt.rcv_tsecr)
		return XRC_NONE;
	difference = tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr;
	if (!st->has_origin) {
		st->has_origin = 1;
		/* The first sample is half the circle's quarter: later ones may be smaller. */
		st->owd_origin = difference - (1U << 30);
	}
	return (u64)(u32)(difference - st->owd_origin) * 1000;
}

SEC("struct_ops")
void BPF_PROG(xrc_begin, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct xrc_sock *st;

	st = bpf_sk_storage_get(&socks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!st)
		return;
	__builtin_memset(st, 0, sizeof(*st));
	xrc_init(&st->x, (const struct xrc_params *)&profiles[paper & 1], tp->mss_cache, tp->snd_cwnd);
	st->una = tp->bytes_acked;
	sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_pacing_rate = ~0UL;
}

SEC("struct_ops")
u32 BPF_PROG(xrc_ssthresh, struct sock *sk)
{
	/* What a loss asks for is decided where the kernel says which kind it was: xrc_state. */
	u32 half = tcp_sk(sk)->snd_cwnd / 2;

	return half < 2 ? 2 : half;
}

SEC("struct_ops")
void BPF_PROG(xrc_state, struct sock *sk, u8 new_state)
{
	struct xrc_sock *st = bpf_sk_storage_get(&socks, sk, 0, 0);
	struct tcp_sock *tp = tcp_sk(sk);
	struct xrc_path path;
	u8 kind, before;

	if (!st)
		return;
	before = ca_state(tp);
	if (new_state < TCP_CA_CWR) {
		if (before >= TCP_CA_CWR)
			xrc_on_recovered(&st->x);
		return;
	}
	if (new_state <= before)
		return;
	kind = new_state == TCP_CA_Loss ? XRC_LOSS_TIMEOUT : new_state == TCP_CA_CWR ? XRC_LOSS_ECN : XRC_LOSS_FAST;
	view(tp, &path);
	xrc_on_loss(&st->x, now_us(), &path, kind, next_byte(tp));
	st->prr_delivered = 0;
	tp->snd_ssthresh = xrc_threshold(&st->x);
	if (st->x.ssthresh < XRC_MAX_WINDOW)
		tp->snd_ssthresh = (st->x.ssthresh + 64) >> 16;
	set_pacing(sk, &st->x);
}

SEC("struct_ops")
void BPF_PROG(xrc_event, struct sock *sk, int ev)
{
	struct xrc_sock *st;
	struct xrc_path path;

	if (ev != CA_EVENT_TX_START)
		return;
	st = bpf_sk_storage_get(&socks, sk, 0, 0);
	if (!st)
		return;
	view(tcp_sk(sk), &path);
	/* The last packet left at the last ACK or before: an idle time is seen up to an RTT too short. */
	if (st->x.last_sent)
		xrc_on_restart(&st->x, now_us(), &path);
	xrc_on_sent(&st->x, now_us());
	set_window(tcp_sk(sk), xrc_window(&st->x));
}

SEC("struct_ops")
u32 BPF_PROG(xrc_undo, struct sock *sk)
{
	struct xrc_sock *st = bpf_sk_storage_get(&socks, sk, 0, 0);

	if (!st)
		return tcp_sk(sk)->snd_cwnd;
	xrc_on_undo(&st->x);
	return xrc_window(&st->x);
}

SEC("struct_ops")
void BPF_PROG(xrc_ack_in, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct xrc_sock *st = bpf_sk_storage_get(&socks, sk, 0, 0);
	struct tcp_sock *tp = tcp_sk(sk);
	struct xrc_ack ack = {};
	struct xrc_path path;
	u64 now = now_us();
	u8 state;

	if (!st)
		return;
	view(tp, &path);
	state = ca_state(tp);
	ack.rtt_us = rs->rtt_us > 0 ? (u64)rs->rtt_us : XRC_NONE;
	ack.owd_us = one_way(st, tp);
	ack.newly_acked = (u64)rs->acked_sacked * tp->mss_cache;
	ack.delivered = (u64)tp->delivered * tp->mss_cache;
	ack.una = tp->bytes_acked;
	ack.next = next_byte(tp);
	ack.advanced = tp->bytes_acked > st->una;
	ack.in_recovery = state == TCP_CA_CWR || state == TCP_CA_Recovery;
	ack.app_limited = tp->app_limited != 0;
	/* tcp_is_cwnd_limited() */
	ack.cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) ||
			   (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
	st->una = tp->bytes_acked;
	xrc_on_ack(&st->x, now, &path, &ack);
	st->x.last_sent = now;
	acks_in_mode[st->x.mode & 15]++;
	if (st->x.seen)
		last = st->x;
	if (ack.in_recovery) {
		set_window(tp, prr_window(tp, rs, xrc_window(&st->x), &st->prr_delivered));
	} else {
		set_window(tp, xrc_window(&st->x));
		tp->snd_ssthresh = xrc_threshold(&st->x);
	}
	set_pacing(sk, &st->x);
}

/* A link: the kernel takes the controller back when the loader ends, however it ends. */
SEC(".struct_ops.link")
struct tcp_congestion_ops xrc = {
	.init = (void *)xrc_begin,
	.ssthresh = (void *)xrc_ssthresh,
	.set_state = (void *)xrc_state,
	.cwnd_event = (void *)xrc_event,
	.undo_cwnd = (void *)xrc_undo,
	.cong_control = (void *)xrc_ack_in,
	.name = "xrc",
};

SEC("sockops")
int xrc_options(struct bpf_sock_ops *ops)
{
	char name[] = "xrc";
	u8 option[OPTION_LEN] = { OPTION_KIND, 4, OPTION_EXID >> 8, OPTION_EXID & 0xff };
	struct xrc_report report = {};
	struct xrc_sock *st;
	struct bpf_sock *sk;

	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		if (!given(ops, name))
			break;
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
		__sync_fetch_and_add(&connections, 1);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		/* The verifier wants one read and a test. */
		sk = ops->sk;
		if (!sk)
			break;
		st = bpf_sk_storage_get(&socks, sk, 0, 0);
		if (!st || bpf_load_hdr_opt(ops, option, sizeof(option), 0) != OPTION_LEN)
			break;
		/* Bytes 4-11 are the body of crates/signal/src/body.rs; bit 0 says that it is valid. */
		if (!(option[4] & 1)) {
			__sync_fetch_and_add(&options_refused, 1);
			break;
		}
		report.shared = option[4] >> 1 & 1;
		report.hol_us = ((u64)(option[4] >> 2) << 8 | option[5]) * 500;
		report.rate_bps = ((u64)option[6] << 24 | (u64)option[7] << 16 | (u64)option[8] << 8 | option[9]) * 1000;
		report.seq = (u16)option[10] << 8 | option[11];
		if (xrc_on_report(&st->x, now_us(), ops->srtt_us >> 3, &report))
			__sync_fetch_and_add(&options_read, 1);
		else
			__sync_fetch_and_add(&options_refused, 1);
		break;
	}
	return 1;
}
