/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the programs of XRC and ebb touch of the kernel, and nothing more: the loader finds the offsets in the running kernel's BTF,
 * so no generated vmlinux.h is needed. Names are the kernel's (include/net/tcp.h, include/linux/tcp.h,
 * include/net/inet_connection_sock.h).
 */
#ifndef SLACKWATER_BPF_KERNEL_H
#define SLACKWATER_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct sock_common {
	unsigned char skc_state;
} KERNEL_TYPE;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
} KERNEL_TYPE;

struct inet_sock {
	struct sock sk;
} KERNEL_TYPE;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5, icsk_ca_initialized : 1, icsk_ca_setsockopt : 1, icsk_ca_dst_locked : 1;
} KERNEL_TYPE;

struct minmax_sample {
	u32 t;
	u32 v;
} KERNEL_TYPE;

struct minmax {
	struct minmax_sample s[3];
} KERNEL_TYPE;

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u16 saw_tstamp : 1;
} KERNEL_TYPE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 srtt_us;
	u32 mss_cache;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 data_segs_out;
	u32 max_packets_out;
	u32 prior_cwnd;
	u32 prr_out;
	u32 delivered;
	u32 app_limited;
	u16 tcp_header_len;
	u64 bytes_sent;
	u64 bytes_acked;
	u64 tcp_mstamp;
	struct minmax rtt_min;
	struct tcp_options_received rx_opt;
	u8 is_cwnd_limited : 1;
} KERNEL_TYPE;

struct rate_sample {
	long rtt_us;
	u32 losses;
	u32 acked_sacked;
	bool is_app_limited;
} KERNEL_TYPE;

struct ack_sample {
	u32 pkts_acked;
} KERNEL_TYPE;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, int ev);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	void (*init)(struct sock *sk);
	char name[16];
	u32 flags;
} KERNEL_TYPE;

enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
};

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
#define SOL_TCP 6
#define TCP_CONGESTION 13

#endif
