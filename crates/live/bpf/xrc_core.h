/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * XRC's sender (Kheirkhah, Kassem, Fairhurst, Marina: "XRC: An Explicit Rate Control for Future Cellular Networks",
 * ICC 2022, section III-B) in integers: the state machine of `control::phy::xrc` for a place without floats.
 *
 * No call of the kernel, no global, and one loop of 22 turns: the BPF program and a test on the host compile the same lines. One
 * table of events (tests/xrc_vectors.txt) drives this file and the Rust one.
 *
 * Units: times in microseconds, windows in 1/65536 segment (`q16`), rates of reports in bit/s of IP bytes, delivered
 * rates in payload bytes per second. The includer defines u8, u16, u32, u64 and bool.
 */
#ifndef SLACKWATER_XRC_CORE_H
#define SLACKWATER_XRC_CORE_H

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/*
 * The kernel's verifier walks every path through a program and gives up after a million instructions. It checks a
 * global function once, apart from its callers: parts that many paths lead to are such functions there. They take five
 * values at most, have to look at their pointers, and return a number.
 */
#ifdef __bpf__
#define XRC_PART __attribute__((noinline))
#else
#define XRC_PART static inline
#endif

#define XRC_ONE (1ULL << 16)
#define XRC_MIN_WINDOW (2 * XRC_ONE)
/* 2^20 segments: products of windows stay within 64 bits. */
#define XRC_MAX_WINDOW (XRC_ONE << 20)
/* No threshold yet. */
#define XRC_INFINITE (~0ULL)
/* No sample in this event. */
#define XRC_NONE (~0ULL)

enum xrc_mode {
	XRC_NO_FEEDBACK,
	XRC_START,
	XRC_FAST,
	XRC_PROBE,
	XRC_RESET,
	XRC_SLOW,
	XRC_UNFAIR,
	XRC_INTERNET,
	XRC_INTERNET_PROBE,
	XRC_RECOVERY,
	XRC_SLOW_START,
	XRC_COMPETE,
};

enum xrc_alpha { XRC_ALPHA_TARGET, XRC_ALPHA_HALF, XRC_ALPHA_QUARTER, XRC_ALPHA_SRTT };
enum xrc_post { XRC_POST_TARGET, XRC_POST_HALF };
enum xrc_verdict { XRC_VERDICT_LATEST, XRC_VERDICT_MEAN, XRC_VERDICT_LEAST };
enum xrc_loss { XRC_LOSS_FAST, XRC_LOSS_ECN, XRC_LOSS_TIMEOUT };

/* What can be chosen; see `Params` in params.rs for each. */
struct xrc_params {
	u64 lambda_us;
	u64 least_q16;
	u64 theta_us;
	u64 jitter_us;
	u64 gamma_q16;
	u64 fast_gain_q16;
	u64 pace_q16;
	u64 clamp_q16;
	u64 spread_q16;
	u32 rounds;
	u8 start;
	u8 guard;
	u8 gate;
	u8 alpha;
	u8 post;
	u8 verdict;
	u8 owd;
	u8 restart;
	u8 resume;
	u8 drain;
};

/* `Params::DEFAULT`. */
#define XRC_PARAMS_DEFAULT                                                                                             \
	{                                                                                                              \
		.lambda_us = 9000, .least_q16 = 3 * XRC_ONE, .theta_us = 3000, .jitter_us = 8000, .gamma_q16 = XRC_ONE, \
		.fast_gain_q16 = XRC_ONE, .pace_q16 = 78643, .clamp_q16 = 4 * XRC_ONE, .spread_q16 = 72090,       \
		.rounds = 10,                                                                                          \
		.start = 1, .guard = 1, .gate = 1, .alpha = XRC_ALPHA_TARGET, .post = XRC_POST_TARGET,                 \
		.verdict = XRC_VERDICT_LEAST, .owd = 1, .restart = 1, .resume = 1, .drain = 1,                         \
	}

/* `Params::PAPER`. */
#define XRC_PARAMS_PAPER                                                                                               \
	{                                                                                                              \
		.lambda_us = 10000, .least_q16 = 0, .theta_us = 0, .jitter_us = 0, .gamma_q16 = XRC_ONE,               \
		.fast_gain_q16 = 0, .pace_q16 = 0, .clamp_q16 = 10 * XRC_ONE, .spread_q16 = 0, .rounds = 10,           \
		.start = 0, .guard = 0, .gate = 0, .alpha = XRC_ALPHA_TARGET, .post = XRC_POST_TARGET,                 \
		.verdict = XRC_VERDICT_LATEST, .owd = 0, .restart = 0, .resume = 0, .drain = 0,                        \
	}

/* The connection as an event finds it (`PathView`). */
struct xrc_path {
	u64 srtt_us;
	u64 min_rtt_us;
	u64 in_flight; /* payload bytes */
	u32 mss;       /* payload bytes */
	u32 wire;      /* IP bytes of a full packet */
};

/* An ACK (`Ack`). Positions and totals are payload bytes. */
struct xrc_ack {
	u64 rtt_us; /* XRC_NONE without a sample */
	u64 owd_us; /* up to a constant; XRC_NONE without a sample */
	u64 newly_acked;
	u64 delivered;
	u64 una;
	u64 next;
	u8 advanced; /* the cumulative acknowledgement moved */
	u8 in_recovery;
	u8 cwnd_limited;
	u8 app_limited;
};

/* The agent's report (`PathReport::Share`). */
struct xrc_report {
	u64 rate_bps;
	u64 hol_us;
	u16 seq;
	u8 shared;
};

/* What a window of data showed, us, and what was sent. */
struct xrc_seen {
	u64 mean_hol;
	u64 excess; /* delay that a queue explains */
	u64 least;  /* least delay */
	u64 budget;
	u64 share;  /* delivered over reported rate, q16 */
	u64 flight; /* q16 segments */
};

static __always_inline u64 xrc_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static __always_inline u64 xrc_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static __always_inline u64 xrc_clamp(u64 v, u64 low, u64 high)
{
	return xrc_min(xrc_max(v, low), high);
}

/* a - b, zero where b is larger. */
static __always_inline u64 xrc_sub(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static __always_inline u64 xrc_mul_q16(u64 a, u64 b_q16)
{
	return (a * b_q16) >> 16;
}

#include "xrc_internet.h"

struct xrc_least {
	u64 now_us;    /* XRC_NONE before the first */
	u64 before_us; /* XRC_NONE before the first */
	u64 since_us;
};

struct xrc_prior {
	u64 cwnd;
	u64 ssthresh;
	u64 gamma;
	u8 slow_start;
	u8 start;
};

struct xrc {
	struct xrc_params p;
	u32 mss;
	u32 wire;
	u64 initial; /* q16 */
	u64 cwnd;    /* q16 */
	u64 ssthresh;
	u64 twnd;
	u64 gamma; /* q16 */
	/* Growth of the round. */
	u64 alpha;
	u64 step; /* q16 per segment */
	u64 left;
	/* EWMAs in 1/256 us. */
	u64 jitter_q8;
	u64 back_q8;
	/* The reported rate at the end of the last round, its mean change from round to round, and the last two changes. */
	u64 rate_last;
	u64 rate_change;
	u64 rate_change_one;
	u64 rate_change_two;
	struct xrc_least least_owd;
	u64 last_hol_us;
	u64 sigma_us;
	u64 min_rtt_us;
	/* Feedback. */
	u64 rate_bps;
	u64 hol_us;
	u64 report_at;
	u64 accepted;
	u64 refused;
	/* Peak. */
	u64 peak;
	u64 peak_since;
	u64 peak_delivered;
	/* Round. */
	u64 end;
	u64 since;
	u64 delivered;
	u64 rtt_sum;
	u64 rtts;
	u64 rtt_least; /* XRC_NONE without */
	u64 owd_sum;
	u64 owds;
	u64 owd_least; /* XRC_NONE without */
	u64 hol_sum;
	u64 hols;
	u64 hol_least; /* XRC_NONE without */
	u64 hol_max;
	u64 round_rate;
	u64 round_before; /* the rate before that one */
	u64 rounds;
	struct xrc_internet internet;
	/* The least RTT since the path became longer, where no one-way delay tells; zero where it did not. */
	u64 longer_us;
	/* By how much the path was found longer, and the windows of data for which that stays in doubt. */
	u64 rise_us;
	u32 rise_doubt;
	/* Doubt: the last ACK with an RTT (XRC_NONE before), the largest RTT and reported rate of this window and the last. */
	u64 acked_at;
	u64 rtt_most;
	u64 rtt_most_before;
	u64 rate_most;
	u64 rate_most_before;
	u64 doubt_since;
	/* The least head-of-line delay and RTT of this run of ten windows and of the last (XRC_NONE without), and the run's windows. */
	u64 hol_stood;
	u64 hol_stood_before;
	u64 rtt_stood;
	u64 rtt_stood_before;
	u32 stood;
	/* The last contradiction of reports that are refuted, if they are. */
	u64 refuted_at;
	u32 doubt_windows;
	u32 doubt_times;
	u32 heard;
	u32 older;
	/* Episode. */
	u64 high;
	u64 una;
	struct xrc_prior prior;
	u64 pacing_bps; /* of IP bytes; zero for none */
	u64 paced_until;
	u64 last_sent;
	u64 lost_at;
	u32 hi;
	u16 report_seq;
	u8 mode;
	u8 start;
	u8 slow_start;
	u8 explicit_;
	u8 shared;
	u8 seen;
	u8 open;
	u8 timeout;
	u8 undo;
	u8 refuted;
};

/* Payload bytes as q16 segments. */
static __always_inline u64 xrc_bytes_q16(const struct xrc *x, u64 bytes)
{
	return (xrc_min(bytes, 1ULL << 40) << 16) / xrc_max(x->mss, 1);
}

/* q16 segments that `bps` bits of IP bytes per second fill in `us`. */
static __always_inline u64 xrc_segments(const struct xrc *x, u64 bps, u64 us)
{
	/* 65536 / 8e6 is 1024 / (125 * 1000). */
	u64 product = xrc_min(bps, 80000000000ULL) * xrc_min(us, 2000000) / 125;

	return product * 1024 / (1000ULL * xrc_max(x->wire, 1));
}

/* Payload bytes per second as bit/s of IP bytes. */
static __always_inline u64 xrc_ip_rate(const struct xrc *x, u64 bytes_per_s)
{
	return xrc_min(bytes_per_s, 1ULL << 40) * 8 * x->wire / xrc_max(x->mss, 1);
}

/* The reported rate as far as it is believed, bit/s (`Params::clamp`). */
static __always_inline u64 xrc_rate(const struct xrc *x)
{
	u64 peak;

	if (!x->p.clamp_q16 || !x->peak)
		return x->rate_bps;
	peak = xrc_ip_rate(x, x->peak);
	return xrc_min(x->rate_bps, (peak >> 8) * x->p.clamp_q16 >> 8);
}

/* A window of data ended with `bps` reported. A step is over in two rounds: the least change of three is what goes on. */
static __always_inline void xrc_reported(struct xrc *x, u64 bps)
{
	u64 change = xrc_max(bps, x->rate_last) - xrc_min(bps, x->rate_last);
	u64 lasting;

	/* The rate of a shared queue changes as flows come and go. */
	if (!x->rate_last || x->shared)
		change = 0;
	lasting = xrc_min(change, xrc_min(x->rate_change_one, x->rate_change_two));
	x->rate_change_two = x->rate_change_one;
	x->rate_change_one = change;
	x->rate_last = bps;
	if (lasting >= x->rate_change)
		x->rate_change += (lasting - x->rate_change) / 4;
	else
		x->rate_change -= (x->rate_change - lasting) / 4;
}

/* What a varying rate adds to target and budget, in 1/256 us. */
static __always_inline u64 xrc_spread_q8(const struct xrc *x)
{
	u64 part = xrc_min((x->rate_change << 16) / xrc_max(x->rate_last, 1), XRC_ONE);

	return (part * x->p.spread_q16 >> 16) * xrc_min(x->min_rtt_us, 1ULL << 32) >> 8;
}

/* q16 segments that `bps` fills on the way there and back: the least RTT, the slack and the way back, and `more`. */
static __always_inline u64 xrc_reach(const struct xrc *x, u64 bps, u64 more_us)
{
	u64 reach = x->min_rtt_us + x->p.theta_us + (x->back_q8 >> 8) + more_us;

	return xrc_clamp(xrc_segments(x, bps, reach), XRC_MIN_WINDOW, XRC_MAX_WINDOW);
}

/* XRC, eq. 2, times gamma, with slack for a queue that is never quite empty. */
static __always_inline void xrc_retarget(struct xrc *x)
{
	u64 reach = x->min_rtt_us + x->p.theta_us + ((x->jitter_q8 + x->back_q8 + xrc_spread_q8(x)) >> 8);
	u64 segments = xrc_min(xrc_segments(x, xrc_rate(x), reach), XRC_MAX_WINDOW);

	x->twnd = xrc_clamp(xrc_mul_q16(segments, x->gamma), XRC_MIN_WINDOW, XRC_MAX_WINDOW);
}

/* The control threshold, us: a slow flow's packet alone may last longer than lambda. */
static __always_inline u64 xrc_budget(const struct xrc *x)
{
	u64 bits = x->p.least_q16 * x->wire * 8 >> 16;
	u64 us = bits * 1000000 / xrc_max(xrc_rate(x), 1);

	/* The queue that the target window keeps for a rate that varies is no excess, up to 25 ms. */
	u64 slack = xrc_min(xrc_spread_q8(x) >> 8, 25000);

	return xrc_max(x->p.lambda_us + slack, xrc_min(us, 1000000));
}

static __always_inline bool xrc_is_fresh(const struct xrc *x, u64 now, u64 srtt_us)
{
	u64 since = xrc_sub(now, x->report_at);

	/* 200 ms, or four smoothed RTTs where that is longer. */
	return x->seen && (since <= 200000 || since <= srtt_us * 4);
}

static __always_inline void xrc_enter(struct xrc *x, u8 mode, u64 alpha)
{
	x->mode = mode;
	x->alpha = alpha;
	x->step = (alpha << 16) / xrc_max(x->cwnd, XRC_ONE);
	x->left = alpha;
}

/* To the target in one RTT of ACKs; `flight` q16 segments are acknowledged in the round. */
static __always_inline void xrc_fast(struct xrc *x, u64 now, const struct xrc_path *path, u64 flight, u8 mode)
{
	xrc_enter(x, mode, xrc_sub(x->twnd, x->cwnd));
	x->step = (x->alpha << 16) / xrc_clamp(flight, XRC_ONE, xrc_max(x->cwnd, XRC_ONE));
	if (x->p.fast_gain_q16)
		x->paced_until = now + path->srtt_us;
}

/* Reports began, came back or ceased. */
static __always_inline void xrc_turn(struct xrc *x, bool explicit_)
{
	x->explicit_ = explicit_;
	x->hi = 0;
	x->end = 0;
	if (!explicit_) {
		/* The target of reports that were refuted says nothing (RFC 5681, 3.1). */
		x->ssthresh = x->refuted ? XRC_INFINITE : xrc_max(x->twnd, XRC_MIN_WINDOW);
		x->paced_until = 0;
	}
}

XRC_PART int xrc_grow(struct xrc *x, u64 now, u64 srtt_us, const struct xrc_ack *ack)
{
	u64 acked, step, bound;
	bool fast;

	if (!x || !ack)
		return 0;
	acked = xrc_min(xrc_bytes_q16(x, ack->newly_acked), XRC_ONE << 10);
	fast = x->mode == XRC_START || x->mode == XRC_FAST;

	if (x->slow_start || (!x->explicit_ && x->cwnd < x->ssthresh)) {
		if (!ack->cwnd_limited)
			return 0;
		x->cwnd = xrc_min(xrc_min(x->cwnd + acked, x->ssthresh), XRC_MAX_WINDOW);
		if (x->cwnd >= x->ssthresh && x->slow_start) {
			x->slow_start = 0;
			x->end = 0;
		}
		return 0;
	}
	if (x->mode == XRC_COMPETE) {
		/* Back to where a look around began, then as CUBIC. */
		if (x->internet.cut || !x->internet.rivals || !ack->cwnd_limited)
			return 0;
		if (x->cwnd < x->internet.restore)
			x->cwnd = xrc_min(x->cwnd + acked, x->internet.restore);
		else
			x->cwnd = xrc_min(xrc_cubic_grow(&x->internet.cubic, now, x->cwnd, acked, srtt_us),
					  XRC_MAX_WINDOW);
		return 0;
	}
	/* A paced sender does not use up its window, and FAST's end does not depend on use. */
	if (!(ack->cwnd_limited || (fast && !ack->app_limited)))
		return 0;
	if (fast && x->p.guard && !x->shared && x->hol_us > x->p.lambda_us && x->hol_us > xrc_budget(x)) {
		x->left = 0;
		x->start = 0;
		return 0;
	}
	if (x->mode == XRC_START) {
		/* The believed rate rises within the round as data arrives. */
		u64 gap = xrc_sub(x->twnd, x->cwnd);

		if (gap > x->alpha) {
			x->alpha = gap;
			x->step = (gap << 16) / xrc_max(x->cwnd, XRC_ONE);
		}
		x->left = gap;
	}
	step = xrc_min(xrc_mul_q16(x->step, acked), x->left);
	x->left -= step;
	bound = fast || x->mode == XRC_INTERNET_PROBE ? xrc_max(x->twnd, x->cwnd) : XRC_MAX_WINDOW;
	x->cwnd = xrc_min(x->cwnd + step, bound);
	/* START ends at nine tenths of the target. */
	if (x->start && x->cwnd * 10 >= x->twnd * 9)
		x->start = 0;
	return 0;
}

/* Reports that are believed steer the window, nobody else fills the queue, and the window is more than two initial ones. */
static __always_inline bool xrc_is_paced(const struct xrc *x)
{
	return x->p.pace_q16 && x->explicit_ && !x->slow_start && xrc_rate(x) >= x->rate_bps &&
	       !x->shared && !x->internet.rivals && x->cwnd > 2 * x->initial;
}

static __always_inline void xrc_pace(struct xrc *x, u64 now, const struct xrc_path *path)
{
	u64 segments;

	if (now < x->paced_until)
		segments = xrc_mul_q16(x->twnd, x->p.fast_gain_q16);
	else if (xrc_is_paced(x))
		segments = xrc_mul_q16(x->cwnd, x->p.pace_q16);
	else {
		x->pacing_bps = 0;
		return;
	}
	/* Eight bits a byte, 65536 parts a segment. */
	x->pacing_bps = path->srtt_us ? xrc_max((segments * x->wire >> 13) * 1000000 / path->srtt_us, 1) : 0;
}

/* A delivered rate over the reported one. */
static __always_inline u64 xrc_share_q16(const struct xrc *x, u64 delivered)
{
	return (xrc_min(xrc_ip_rate(x, delivered), 1ULL << 44) << 16) / xrc_max(xrc_rate(x), 1);
}

/* The target window's factor becomes what arrives of the reported rate; not below a quarter. */
static __always_inline void xrc_shrink(struct xrc *x, u64 delivered)
{
	x->gamma = xrc_max(xrc_min(x->gamma, xrc_share_q16(x, delivered)), XRC_ONE / 4);
	xrc_retarget(x);
}

/* The path is longer by `rise` us: no queue explains that. */
static __always_inline void xrc_lengthen(struct xrc *x, u64 now, u64 rise_us)
{
	u64 origin = xrc_min(x->least_owd.now_us, x->least_owd.before_us);

	if (x->p.owd && origin != XRC_NONE) {
		x->least_owd.now_us = origin + rise_us;
		x->least_owd.before_us = XRC_NONE;
		x->least_owd.since_us = now;
		/* The target window covers it at once. */
		x->back_q8 += rise_us << 8;
	} else {
		x->min_rtt_us += rise_us;
		x->longer_us = x->min_rtt_us;
	}
	x->rise_us = rise_us;
	x->rise_doubt = x->p.rounds;
	xrc_retarget(x);
}

/* It was not longer after all. */
static __always_inline void xrc_fall(struct xrc *x, u64 now)
{
	u64 origin = xrc_min(x->least_owd.now_us, x->least_owd.before_us);

	if (x->p.owd && origin != XRC_NONE) {
		x->least_owd.now_us = xrc_sub(origin, x->rise_us);
		x->least_owd.before_us = XRC_NONE;
		x->least_owd.since_us = now;
		x->back_q8 = xrc_sub(x->back_q8, x->rise_us << 8);
	} else {
		x->longer_us = 0;
	}
	x->rise_us = 0;
	x->rise_doubt = 0;
	xrc_retarget(x);
}

/* Cuts the window to `to` where that can show whose queue delays data by `least_us`. */
static __always_inline void xrc_cut(struct xrc *x, const struct xrc_seen *w, u64 least_us, u64 to)
{
	struct xrc_internet *i = &x->internet;
	u64 flight = w->flight;

	to = xrc_max(to, XRC_MIN_WINDOW);
	if (flight * 10 > to * 11 && x->round_rate) {
		/* What is in flight above the cut is what the queue loses, at the rate at which it is served. */
		u64 bytes = xrc_min(flight - to, XRC_MAX_WINDOW) * x->mss >> 16;

		i->expected_us = xrc_min(bytes * 1000000 / x->round_rate, xrc_max(least_us, w->budget / 2));
		i->before_us = least_us;
		i->window = x->cwnd;
		i->judged = 0;
		i->cut = 1;
	}
	x->cwnd = xrc_min(x->cwnd, to);
}

/* What the cut under way, if one is, has shown; one where the path is longer. */
XRC_PART int xrc_found(struct xrc *x, u64 now, u64 srtt_us, const struct xrc_seen *w)
{
	struct xrc_internet *i;
	u8 found;

	if (!x || !w)
		return 0;
	i = &x->internet;
	found = xrc_judge(i, now, w->least);
	if (found == XRC_FOUND_NOTHING)
		return 0;
	if (found == XRC_FOUND_LONGER) {
		xrc_lengthen(x, now, w->least);
		i->run = 0;
		return 1;
	}
	if (found == XRC_FOUND_SHARED) {
		if (i->rivals)
			xrc_looked(i, now, srtt_us, i->window, 0);
		else
			xrc_join(i, now, i->window);
		return 0;
	}
	if (i->rivals && !i->doubt) {
		xrc_looked(i, now, srtt_us, x->cwnd, 1);
		return 0;
	}
	xrc_confirm(i, now);
	i->alone = xrc_max(x->round_rate, x->round_before);
	/* What the cut left is no queue of this flow's. */
	if (w->least <= w->budget)
		return 0;
	xrc_lengthen(x, now, w->least);
	return 1;
}

/* A window of data among others at a bottleneck beyond the radio; false where it is over. */
XRC_PART int xrc_among(struct xrc *x, u64 now, u64 srtt_us, const struct xrc_seen *w)
{
	struct xrc_internet *i;
	u64 fair, to;
	u8 among;

	if (!x || !w)
		return 0;
	i = &x->internet;
	x->hi = 0;
	if (!i->cut) {
		fair = xrc_reach(x, xrc_ip_rate(x, i->alone) / 2, w->excess);
		among = xrc_among_others(i, now, fair, w->excess <= w->budget, w->mean_hol >= w->budget, x->p.rounds);
		if (among == XRC_AMONG_LEAVE) {
			xrc_confirm(i, now);
			return 0;
		}
		if (among == XRC_AMONG_LOOK) {
			if (i->doubt)
				to = xrc_reach(x, xrc_ip_rate(x, x->round_rate), 0);
			else
				to = xrc_mul_q16(x->cwnd, XRC_BETA_Q16);
			xrc_cut(x, w, w->excess, to);
			if (!i->cut)
				xrc_looked(i, now, srtt_us, x->cwnd, 0);
		}
	}
	xrc_enter(x, XRC_COMPETE, 0);
	return 1;
}

/* A queue that reports do not show. */
XRC_PART int xrc_beyond(struct xrc *x, const struct xrc_seen *w)
{
	struct xrc_internet *i;

	if (!x || !w)
		return 0;
	i = &x->internet;
	x->hi = 0;
	if (!x->p.drain) {
		/*
		 * "similar to standard TCP (alpha=1)", then "a steady rate" (XRC, section III-B). Steps that were rounded
		 * down leave the window a thousandth below the target.
		 */
		i->verdicts++;
		xrc_enter(x, XRC_INTERNET, x->cwnd + 64 < x->twnd ? XRC_ONE : 0);
		return 0;
	}
	i->verdicts++;
	i->run++;
	/* One window may be jitter where the reported rate arrives. */
	if ((i->run > 1 || w->share < XRC_LOSS_SHARE_Q16) && !i->cut)
		xrc_cut(x, w, w->least, xrc_reach(x, xrc_ip_rate(x, x->round_rate), 0));
	xrc_enter(x, XRC_INTERNET, 0);
	return 0;
}

XRC_PART int xrc_within_budget(struct xrc *x, u64 now, const struct xrc_path *path, const struct xrc_seen *w)
{
	struct xrc_internet *i;
	bool brief;

	if (!x || !path || !w)
		return 0;
	i = &x->internet;
	brief = w->excess <= w->budget / 2;
	x->hi = 0;
	i->run = 0;
	/* Each window with a short queue that delivers what the factor leaves heals it by a hundredth. */
	if (x->gamma < x->p.gamma_q16 && x->sigma_us <= w->budget / 2 && w->share * 10 >= x->gamma * 9)
		x->gamma = xrc_min(x->gamma + 655, x->p.gamma_q16);
	if (x->mode == XRC_UNFAIR)
		x->cwnd = xrc_min(x->cwnd, x->twnd);
	/* Packets are whole: less than a segment below the target is at it. */
	if (x->cwnd + XRC_ONE > x->twnd) {
		/* A target that was only reached because packets were lost on the way says nothing. */
		if (brief && !i->cut && w->share >= XRC_LOSS_SHARE_Q16)
			xrc_internet_forget(i);
		xrc_enter(x, XRC_PROBE, XRC_ONE);
	} else if (i->cut) {
		/* The delay is gone; the next window of data says whether the cut did it. */
		xrc_enter(x, XRC_INTERNET_PROBE, 0);
	} else if (x->p.drain && xrc_is_remembered(i, now)) {
		xrc_enter(x, XRC_INTERNET_PROBE, xrc_probe(i, x->cwnd, brief));
	} else {
		xrc_fast(x, now, path, w->flight, XRC_FAST);
	}
	return 0;
}

static __always_inline u64 xrc_unfair_alpha(const struct xrc *x, const struct xrc_path *path)
{
	if (x->p.alpha == XRC_ALPHA_HALF)
		return x->twnd / 2;
	if (x->p.alpha == XRC_ALPHA_QUARTER)
		return x->twnd / 4;
	if (x->p.alpha == XRC_ALPHA_SRTT)
		return xrc_clamp(xrc_segments(x, xrc_rate(x), path->srtt_us), x->twnd, XRC_MAX_WINDOW);
	return x->twnd;
}

XRC_PART int xrc_cellular(struct xrc *x, const struct xrc_path *path, u64 delivered, u64 mean_hol)
{
	bool falls;

	if (!x || !path)
		return 0;
	/* A queue drains where its mean delay falls below nine tenths of the last round's. */
	falls = mean_hol * 10 < x->last_hol_us * 9;
	xrc_internet_forget(&x->internet);
	x->hi++;
	x->last_hol_us = mean_hol;
	if (x->p.gate && x->mode != XRC_UNFAIR && falls && x->hi > x->p.rounds + 1)
		x->hi = x->p.rounds + 1;
	if (x->hi > x->p.rounds + 1) {
		if (!x->p.gate || x->shared) {
			xrc_enter(x, XRC_UNFAIR, xrc_unfair_alpha(x, path));
			return 0;
		}
		if (mean_hol > xrc_budget(x))
			xrc_shrink(x, delivered);
		x->hi = 1;
	}
	if (x->hi == 1) {
		/* "resets the CWND to the estimated target window" (XRC, section III-B). */
		x->cwnd = xrc_min(x->cwnd, x->twnd);
		xrc_enter(x, XRC_RESET, 0);
	} else {
		x->cwnd = xrc_min(x->cwnd, x->twnd + (x->hi - 1) * XRC_ONE);
		xrc_enter(x, XRC_SLOW, XRC_ONE);
	}
	return 0;
}

static __always_inline void xrc_least_see(struct xrc_least *l, u64 now, u64 us, u64 window_us)
{
	if (xrc_sub(now, l->since_us) >= window_us / 2) {
		l->before_us = l->now_us;
		l->now_us = XRC_NONE;
		l->since_us = now;
	}
	l->now_us = xrc_min(l->now_us, us);
}

/* What the window of data showed; returns its mean delay, us. */
XRC_PART u64 xrc_measured(struct xrc *x, u64 srtt_us, struct xrc_seen *w)
{
	u64 mean_rtt, mean, origin;

	if (!x || !w)
		return 0;
	w->mean_hol = x->hols ? x->hol_sum / x->hols : x->hol_us;
	mean_rtt = x->rtts ? x->rtt_sum / x->rtts : srtt_us;
	mean = xrc_sub(mean_rtt, x->min_rtt_us);
	w->least = xrc_sub(x->rtts ? x->rtt_least : mean_rtt, x->min_rtt_us);
	origin = xrc_min(x->least_owd.now_us, x->least_owd.before_us);
	/* Delay on the way back goes into the target window. */
	if (x->p.owd && x->owds && origin != XRC_NONE) {
		u64 forward = xrc_min(xrc_sub(x->owd_sum / x->owds, origin), mean);
		u64 back = (mean - forward) << 8;

		w->least = xrc_min(xrc_sub(x->owd_least, origin), mean);
		mean = forward;
		if (back < x->back_q8)
			x->back_q8 = back;
		else
			x->back_q8 += (back - x->back_q8) / 4;
	}
	xrc_reported(x, xrc_rate(x));
	w->budget = xrc_budget(x);
	/* One window may hold a wait for a block that is sent again; two do not. */
	w->share = xrc_share_q16(x, xrc_max(x->round_rate, x->round_before));
	w->excess = mean;
	if (x->p.verdict == XRC_VERDICT_LEAST && w->mean_hol < w->budget) {
		/* Eight samples can tell a queue from jitter. */
		if (x->rtts < 8)
			w->excess = xrc_min(mean, w->mean_hol);
		else if (w->least <= w->budget)
			w->excess = xrc_min(mean, xrc_max(w->least, w->mean_hol));
	}
	return mean;
}

/* The decision of each window of data (XRC, section III-B). */
XRC_PART int xrc_steer(struct xrc *x, u64 now, const struct xrc_path *path)
{
	struct xrc_seen w = {};
	u64 mean, seen;
	bool beyond;

	if (!x || !path)
		return 0;
	w.flight = xrc_bytes_q16(x, path->in_flight);
	mean = xrc_measured(x, path->srtt_us, &w);
	x->rise_doubt -= x->rise_doubt > 0;
	if (w.share >= XRC_LOSS_SHARE_Q16)
		x->internet.strikes = 0;
	if (xrc_found(x, now, path->srtt_us, &w))
		w.excess = xrc_sub(w.excess, w.least);
	/* XRC, eq. 3. */
	x->sigma_us = xrc_max(w.excess, x->hol_us);

	if (x->start && x->cwnd * 10 >= x->twnd * 9)
		x->start = 0;
	if (x->start) {
		xrc_fast(x, now, path, w.flight, XRC_START);
		return 0;
	}
	if (x->internet.rivals && xrc_among(x, now, path->srtt_us, &w))
		return 0;
	seen = x->p.verdict == XRC_VERDICT_LATEST ? x->hol_us : w.mean_hol;
	beyond = seen < w.budget && w.excess > seen + w.budget;
	if (x->mode != XRC_FAST && x->mode != XRC_START && x->mode != XRC_RECOVERY && !beyond && x->p.jitter_us) {
		u64 sample = xrc_min(xrc_sub(mean, w.mean_hol), x->p.jitter_us) << 8;

		if (sample >= x->jitter_q8)
			x->jitter_q8 += (sample - x->jitter_q8) / 8;
		else
			x->jitter_q8 -= (x->jitter_q8 - sample) / 8;
	}
	if (x->sigma_us <= w.budget)
		return xrc_within_budget(x, now, path, &w);
	if (beyond)
		return xrc_beyond(x, &w);
	return xrc_cellular(x, path, xrc_max(x->round_rate, x->round_before), w.mean_hol);
}

/* Forgets what was measured in the present window. */
static __always_inline void xrc_round_forget(struct xrc *x)
{
	x->rtt_sum = 0;
	x->rtts = 0;
	x->rtt_least = XRC_NONE;
	x->owd_sum = 0;
	x->owds = 0;
	x->owd_least = XRC_NONE;
	x->hol_sum = 0;
	x->hols = 0;
	x->hol_least = XRC_NONE;
	x->hol_max = 0;
}

/* A queue stood that the least RTT does not show. */
static __always_inline bool xrc_unseen(const struct xrc *x, u64 hol_us, u64 rtt_us)
{
	return hol_us >= x->p.lambda_us && rtt_us != XRC_NONE && xrc_sub(rtt_us, x->min_rtt_us) * 2 < hol_us;
}

/*
 * What speaks against reports at the end of a window of data (doubt.rs): a head of the queue that is older than what was
 * acknowledged last, less than half of what arrives (an eighth among others), and a queue that delays nothing, in this window
 * or in a run of ten to twenty.
 */
XRC_PART int xrc_doubt(struct xrc *x, u64 now, u64 srtt_us)
{
	u64 reported, carried, again, least, rtt;
	bool absurd, more, unseen;

	if (!x)
		return 0;
	reported = xrc_max(x->rate_most, x->rate_most_before);
	absurd = x->older * 10 > x->heard;
	x->rate_most_before = x->rate_most;
	x->rate_most = 0;
	x->rtt_most_before = x->rtt_most;
	x->rtt_most = 0;
	x->older = 0;
	x->heard = 0;
	if (!xrc_is_fresh(x, now, srtt_us))
		return 0;
	carried = xrc_ip_rate(x, x->round_rate);
	more = carried > (x->shared ? 8 : 2) * reported;
	least = x->hol_least == XRC_NONE ? 0 : x->hol_least;
	rtt = x->rtts ? x->rtt_least : XRC_NONE;
	unseen = xrc_unseen(x, least, rtt);
	if (x->stood == 10) {
		x->hol_stood_before = x->hol_stood;
		x->rtt_stood_before = x->rtt_stood;
		x->hol_stood = XRC_NONE;
		x->rtt_stood = XRC_NONE;
		x->stood = 0;
	}
	x->stood++;
	x->hol_stood = xrc_min(x->hol_stood, least);
	x->rtt_stood = xrc_min(x->rtt_stood, rtt);
	unseen |= xrc_unseen(x, xrc_min(x->hol_stood, x->hol_stood_before), xrc_min(x->rtt_stood, x->rtt_stood_before));
	if (absurd || more || (!x->shared && unseen)) {
		if (!x->doubt_windows)
			x->doubt_since = now;
		x->doubt_windows = xrc_min(x->doubt_windows + 1, 20);
		if (x->doubt_windows >= 10 && xrc_sub(now, x->doubt_since) >= 1000000) {
			x->doubt_times += !x->refuted;
			x->refuted = 1;
			x->refuted_at = now;
		}
	} else if (x->doubt_windows) {
		x->doubt_windows--;
	}
	/* Believed again after 2 s without a contradiction, the next time after twice that, up to 64 s. */
	again = 2000000ULL << (x->doubt_times > 1 ? xrc_min(x->doubt_times - 1, 5) : 0);
	if (x->refuted && xrc_sub(now, x->refuted_at) >= again) {
		x->refuted = 0;
		x->doubt_windows = 0;
	}
	return 0;
}

static __always_inline void xrc_decide(struct xrc *x, u64 now, const struct xrc_path *path, const struct xrc_ack *ack)
{
	u64 passed = xrc_sub(now, x->since);

	/* A window shorter than half of the least RTT gives no rate; the last one stands. */
	if (passed && passed >= x->min_rtt_us / 2) {
		x->round_before = x->round_rate;
		x->round_rate = xrc_min(xrc_sub(ack->delivered, x->delivered), 1ULL << 40) * 1000000 / passed;
	}
	/* A peak fades by 2 % a round. */
	x->peak = x->peak * 98 / 100;
	xrc_doubt(x, now, path->srtt_us);
	if (!x->explicit_)
		xrc_enter(x, XRC_NO_FEEDBACK, XRC_ONE);
	else if (x->slow_start)
		xrc_enter(x, XRC_SLOW_START, 0);
	else
		xrc_steer(x, now, path);
	x->end = ack->next;
	x->since = now;
	x->delivered = ack->delivered;
	x->rounds++;
	xrc_round_forget(x);
}

static __always_inline void xrc_view(struct xrc *x, const struct xrc_path *path)
{
	if (path->mss) {
		x->mss = path->mss;
		x->wire = path->wire > path->mss ? path->wire : path->mss;
	}
}

/* The largest rate that the path delivered. */
static __always_inline void xrc_peak_ack(struct xrc *x, u64 now, u64 delivered)
{
	u64 span = xrc_max(x->min_rtt_us / 4, 5000);
	u64 passed = xrc_sub(now, x->peak_since);

	if (!x->peak) {
		if (!x->min_rtt_us)
			return;
		x->peak = (x->initial >> 16) * x->mss * 1000000 / span;
	} else if (passed >= span) {
		u64 gained = xrc_min(xrc_sub(delivered, x->peak_delivered), 1ULL << 40);

		x->peak = xrc_max(x->peak, gained * 1000000 / passed);
	} else {
		return;
	}
	x->peak_since = now;
	x->peak_delivered = delivered;
}

/* Makes a sender of an initial window of `initial` segments; `p` is copied. `x` is zero. */
static __always_inline void xrc_init(struct xrc *x, const struct xrc_params *p, u32 mss, u32 initial)
{
	x->p = *p;
	x->mss = mss ? mss : 1;
	x->wire = x->mss;
	x->initial = xrc_clamp((u64)initial << 16, XRC_ONE, XRC_MAX_WINDOW);
	x->cwnd = x->initial;
	x->ssthresh = XRC_INFINITE;
	x->gamma = p->gamma_q16;
	x->start = p->start;
	x->least_owd.now_us = XRC_NONE;
	x->least_owd.before_us = XRC_NONE;
	x->acked_at = XRC_NONE;
	x->hol_stood = XRC_NONE;
	x->rtt_stood = XRC_NONE;
	x->hol_stood_before = XRC_NONE;
	x->rtt_stood_before = XRC_NONE;
	x->internet.probe = XRC_ONE;
	xrc_round_forget(x);
}

/* Takes a report if it can be believed; false otherwise. */
static __always_inline bool xrc_on_report(struct xrc *x, u64 now, u64 srtt_us, const struct xrc_report *r)
{
	/* What waits at the head of a queue in order came after the packet that was acknowledged last. */
	if (x->acked_at != XRC_NONE &&
	    r->hol_us > xrc_sub(now, x->acked_at) + xrc_max(x->rtt_most, x->rtt_most_before)) {
		x->heard++;
		x->older++;
		x->refused++;
		return 0;
	}
	/* No single UE is told more than 20 Gbit/s (ITU-R M.2410, 4.1); a longer delay saturated its field. */
	if ((!r->rate_bps && !r->hol_us) || r->rate_bps > 20000000000ULL || r->hol_us >= 8190000) {
		x->refused++;
		return 0;
	}
	if (xrc_is_fresh(x, now, srtt_us)) {
		/* Half of the counter's circle lies behind (RFC 1982, 3.2); a slot lasts 62.5 us at least. */
		u16 ahead = r->seq - x->report_seq;
		u64 possible = xrc_sub(now, x->report_at) * 10 / 625 + 1024;

		if (ahead >= 1 << 15 || ahead > possible) {
			x->refused++;
			return 0;
		}
	}
	x->rate_bps = r->rate_bps;
	x->hol_us = r->hol_us;
	x->shared = !!r->shared;
	x->report_seq = r->seq;
	x->report_at = now;
	x->seen = 1;
	x->accepted++;
	x->hol_sum += r->hol_us;
	x->hols++;
	x->hol_least = xrc_min(x->hol_least, r->hol_us);
	x->hol_max = xrc_max(x->hol_max, r->hol_us);
	x->rate_most = xrc_max(x->rate_most, r->rate_bps);
	x->heard++;
	return 1;
}

static __always_inline void xrc_on_ack(struct xrc *x, u64 now, const struct xrc_path *path, const struct xrc_ack *ack)
{
	bool explicit_;

	xrc_view(x, path);
	x->una = xrc_max(x->una, ack->una);
	if (ack->rtt_us != XRC_NONE) {
		x->rtt_sum += ack->rtt_us;
		x->rtts++;
		x->rtt_least = xrc_min(x->rtt_least, ack->rtt_us);
		x->acked_at = now;
		x->rtt_most = xrc_max(x->rtt_most, ack->rtt_us);
	}
	if (ack->owd_us != XRC_NONE) {
		x->owd_sum += ack->owd_us;
		x->owds++;
		x->owd_least = xrc_min(x->owd_least, ack->owd_us);
		/* The least one-way delay is that of a minute: clocks drift. */
		xrc_least_see(&x->least_owd, now, ack->owd_us, 60000000);
	}
	x->min_rtt_us = path->min_rtt_us;
	if (x->longer_us) {
		if (ack->rtt_us != XRC_NONE)
			x->longer_us = xrc_min(x->longer_us, ack->rtt_us);
		if (x->longer_us > x->min_rtt_us)
			x->min_rtt_us = x->longer_us;
		else
			x->longer_us = 0;
	}
	if (x->p.resume && x->slow_start && x->report_at > x->lost_at && xrc_is_fresh(x, now, x->min_rtt_us) &&
	    !xrc_is_remembered(&x->internet, now)) {
		/* The radio is there again and says what it carries. */
		x->slow_start = 0;
		x->end = 0;
	}
	xrc_peak_ack(x, now, ack->delivered);
	explicit_ = xrc_is_fresh(x, now, path->srtt_us) && !x->refuted;
	if (explicit_)
		xrc_retarget(x);
	if (explicit_ != x->explicit_)
		xrc_turn(x, explicit_);
	if (ack->in_recovery) {
		x->mode = XRC_RECOVERY;
	} else {
		if (ack->una >= x->end)
			xrc_decide(x, now, path, ack);
		if (ack->advanced)
			xrc_grow(x, now, path->srtt_us, ack);
	}
	xrc_pace(x, now, path);
}

/* A loss beside reports: what it says of the Internet, and of the reported rate. */
XRC_PART int xrc_loss_judged(struct xrc *x, u64 now)
{
	u64 budget, mean_hol, rate;
	bool quiet;

	if (!x)
		return 0;
	budget = xrc_budget(x);
	mean_hol = x->hols ? x->hol_sum / x->hols : x->hol_us;
	rate = xrc_max(x->round_rate, x->round_before);
	quiet = xrc_max(x->hol_max, x->hol_us) < budget;
	if (x->p.drain &&
	    xrc_internet_loss(&x->internet, now, x->cwnd, quiet, xrc_share_q16(x, rate), x->rise_doubt > 0))
		xrc_fall(x, now);
	if (x->p.gate && !x->shared && x->hi >= 3 && mean_hol > budget)
		/* The queue stood for three windows and overflows. */
		xrc_shrink(x, rate);
	return 0;
}

/* `next` is the position of the next new byte. */
static __always_inline void xrc_on_loss(struct xrc *x, u64 now, const struct xrc_path *path, u8 kind, u64 next)
{
	bool timeout = kind == XRC_LOSS_TIMEOUT;
	bool fresh = !x->open || x->una >= x->high || (x->timeout && !timeout);
	bool unfair = x->mode == XRC_UNFAIR;
	bool explicit_;

	xrc_view(x, path);
	explicit_ = x->explicit_ && xrc_is_fresh(x, now, path->srtt_us);
	if (fresh) {
		x->undo = kind != XRC_LOSS_ECN;
		x->high = next;
		x->prior.cwnd = x->cwnd;
		x->prior.ssthresh = x->ssthresh;
		x->prior.gamma = x->gamma;
		x->prior.slow_start = x->slow_start;
		x->prior.start = x->start;
	}
	x->open = 1;
	x->timeout = timeout;
	if (fresh && explicit_ && !unfair)
		xrc_loss_judged(x, now);
	if (timeout) {
		if (fresh)
			x->ssthresh = xrc_max(explicit_ ? x->twnd : x->cwnd / 2, XRC_MIN_WINDOW);
		x->cwnd = XRC_ONE;
		x->slow_start = 1;
		xrc_enter(x, XRC_SLOW_START, 0);
	} else {
		if (fresh) {
			if (x->internet.rivals)
				x->ssthresh = xrc_max(xrc_mul_q16(x->cwnd, XRC_BETA_Q16), XRC_MIN_WINDOW);
			else if (unfair && x->p.post == XRC_POST_TARGET)
				x->ssthresh = xrc_min(x->cwnd, x->twnd);
			else
				x->ssthresh = xrc_max(x->cwnd / 2, XRC_MIN_WINDOW);
			x->slow_start = 0;
		}
		x->cwnd = xrc_min(x->cwnd, x->ssthresh);
		xrc_enter(x, XRC_RECOVERY, 0);
	}
	x->lost_at = now;
	x->hi = 0;
	x->start = 0;
	x->paced_until = 0;
	xrc_pace(x, now, path);
	xrc_round_forget(x);
}

/* The loss was none (RFC 8985, 7.5; RFC 3708). */
static __always_inline void xrc_on_undo(struct xrc *x)
{
	if (!x->undo)
		return;
	x->undo = 0;
	x->open = 0;
	x->timeout = 0;
	x->cwnd = xrc_max(x->cwnd, x->prior.cwnd);
	x->ssthresh = xrc_max(x->ssthresh, x->prior.ssthresh);
	x->gamma = xrc_max(x->gamma, x->prior.gamma);
	x->slow_start = x->prior.slow_start;
	x->start = x->prior.start;
	x->end = 0;
}

static __always_inline void xrc_on_recovered(struct xrc *x)
{
	x->open = 0;
	x->timeout = 0;
}

/* Data leaves after a time without any in flight (RFC 2861, 3.1; RFC 5681, 4.1). */
static __always_inline void xrc_on_restart(struct xrc *x, u64 now, const struct xrc_path *path)
{
	u64 idle = xrc_sub(now, x->last_sent);
	/* Linux' TCP_RTO_MIN. */
	u64 rto = path->srtt_us + 200000;
	u64 floor = xrc_min(x->initial, x->cwnd);

	if (!x->p.restart || idle <= rto)
		return;
	if (x->ssthresh != XRC_INFINITE)
		x->ssthresh = xrc_max(x->ssthresh, x->cwnd * 3 / 4);
	x->cwnd = xrc_max(x->cwnd >> xrc_min(idle / rto, 31), floor);
	x->hi = 0;
	xrc_round_forget(x);
	x->end = 0;
}

static __always_inline void xrc_on_sent(struct xrc *x, u64 now)
{
	if (x->pacing_bps && now >= x->paced_until && !xrc_is_paced(x))
		x->pacing_bps = 0;
	x->last_sent = now;
}

/* The window in whole segments; rounds of truncation leave it a thousandth low at most. */
static __always_inline u32 xrc_window(const struct xrc *x)
{
	return (x->cwnd + 64) >> 16;
}

/* The threshold in whole segments; below its target the sender grows as in slow start. */
static __always_inline u32 xrc_threshold(const struct xrc *x)
{
	u64 threshold = x->explicit_ && !x->slow_start ? x->twnd : x->ssthresh;

	return threshold >= XRC_MAX_WINDOW ? 0x7fffffff : (u32)((threshold + 64) >> 16);
}

#endif
