/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The bottleneck beyond the radio: what `control::phy::xrc::product::internet` and `cubic` do, in integers. A queue that
 * reports do not show is a suspicion; one cut of the window says whose queue it is (docs/design/0032).
 *
 * Included by xrc_core.h alone, which defines the helpers. Units are those of xrc_core.h.
 */
#ifndef SLACKWATER_XRC_INTERNET_H
#define SLACKWATER_XRC_INTERNET_H

/* A confirmed verdict counts for ten seconds, unless the target is reached before. */
#define XRC_MEMORY_US 10000000
/* Windows of data from a cut to its judgement. */
#define XRC_JUDGED 2
/* Below 0.6 of the reported rate a loss speaks for a bottleneck beyond the radio; three of them confirm one. */
#define XRC_LOSS_SHARE_Q16 39322
#define XRC_STRIKES 3
/* What is left of the belief in a single rival after a loss among others: 0.92. */
#define XRC_FADES_Q16 60293
/* Among others, a look whether they are gone each ten seconds, and not within fifty RTTs. */
#define XRC_LOOK_US 10000000
#define XRC_LOOK_RTTS 50
/* CUBIC's decrease, 0.7 (RFC 9438, 4.6), and the cut of a look. */
#define XRC_BETA_Q16 45875

enum xrc_found { XRC_FOUND_NOTHING, XRC_FOUND_OWN, XRC_FOUND_SHARED, XRC_FOUND_LONGER };
enum xrc_among { XRC_AMONG_STAY, XRC_AMONG_LOOK, XRC_AMONG_LEAVE };

/* CUBIC's congestion avoidance (RFC 9438). Windows are q16 segments. */
struct xrc_cubic {
	u64 w_max;
	u64 prior;
	u64 start;  /* of the epoch, us */
	u64 k_us;   /* until the window is w_max again */
	u64 origin; /* where the curve is flat */
	u64 reno;   /* W_est */
	u8 running; /* an epoch is */
};

/* What is known of a bottleneck beyond the radio. */
struct xrc_internet {
	u64 until;
	u64 probe; /* q16 segments per RTT */
	u64 alone; /* the rate that it served to this flow alone, payload bytes per second */
	u64 verdicts;
	/* The cut under way. */
	u64 before_us;
	u64 expected_us;
	u64 window;
	/* CUBIC among others. */
	struct xrc_cubic cubic;
	u64 restore;
	u64 look;
	u64 fair;
	u64 belief; /* q16 */
	u32 run;
	u32 judged;
	u32 confirmed;
	u32 strikes;
	u32 calm;
	u32 radio;
	u8 cut;
	u8 rivals;
	u8 doubt;
	u8 intact;
};

/* The cube root, rounded down: a digit of two at a time, without a branch, for each would be two paths to verify. */
static __always_inline u64 xrc_cbrt(u64 v)
{
	u64 root = 0;
	int shift;

	for (shift = 63; shift >= 0; shift -= 3) {
		u64 bit, fits;

		root <<= 1;
		bit = 3 * root * (root + 1) + 1;
		/* Both are below 2^63: the sign of their difference. */
		fits = ~((v >> shift) - bit) >> 63;
		v -= (bit << shift) * fits;
		root += fits;
	}
	return root;
}

/* RFC 9438, 4.6 and 4.7: a loss at a window of `cwnd`. */
static __always_inline void xrc_cubic_lost(struct xrc_cubic *c, u64 cwnd)
{
	c->w_max = cwnd < c->w_max ? cwnd * 17 / 20 : cwnd;
	c->prior = cwnd;
	c->running = 0;
}

/* 0.4 t^3 segments (RFC 9438, 5) after `us`. */
static __always_inline u64 xrc_cubic_curve(u64 us)
{
	/* Beyond 100 s a target of one and a half windows binds long before. */
	u64 t = xrc_min(us, 100000000);

	/* 0.4 * 65536 is 26214.4. */
	return t * t / 1000000 * t / 1000000 * 26214 / 1000000;
}

/* The window after `acked` of it were acknowledged. */
static __always_inline u64 xrc_cubic_grow(struct xrc_cubic *c, u64 now, u64 cwnd, u64 acked, u64 srtt_us)
{
	u64 part, t, target;

	cwnd = xrc_max(cwnd, XRC_ONE);
	if (!c->running) {
		c->running = 1;
		c->start = now;
		/* RFC 9438, 4.2, eq. 2, in eighths of a millisecond: 8000^3 / (0.4 * 65536) is 19531250. */
		c->k_us = xrc_cbrt(xrc_min(xrc_sub(c->w_max, cwnd), XRC_MAX_WINDOW) * 19531250) * 125;
		c->origin = xrc_max(c->w_max, cwnd);
		c->reno = cwnd;
	}
	/* RFC 9438, 4.3: 9/17 of a segment per RTT up to the window before the decrease, then one. */
	part = ((acked << 16) + cwnd / 2) / cwnd;
	c->reno += c->reno < c->prior ? part * 9 / 17 : part;
	t = xrc_sub(now, c->start) + srtt_us;
	target = t >= c->k_us ? c->origin + xrc_cubic_curve(t - c->k_us) :
				xrc_sub(c->origin, xrc_cubic_curve(c->k_us - t));
	/* RFC 9438, 4.2: between the window and one and a half of it. */
	target = xrc_clamp(target, cwnd, cwnd + cwnd / 2);
	return xrc_max(cwnd + ((target - cwnd) * acked + cwnd / 2) / cwnd, c->reno);
}

static __always_inline bool xrc_is_remembered(const struct xrc_internet *i, u64 now)
{
	return now < i->until || i->rivals;
}

/* The queue is elsewhere, or gone. */
static __always_inline void xrc_internet_forget(struct xrc_internet *i)
{
	i->until = 0;
	i->probe = XRC_ONE;
	i->alone = 0;
	i->run = 0;
	i->confirmed = 0;
	i->strikes = 0;
	i->cut = 0;
	i->rivals = 0;
}

/* The bottleneck is there, and this flow alone fills it. */
static __always_inline void xrc_confirm(struct xrc_internet *i, u64 now)
{
	i->until = now + XRC_MEMORY_US;
	i->confirmed++;
	i->probe = XRC_ONE;
	i->strikes = 0;
	i->rivals = 0;
}

/* Others fill the queue as well. */
static __always_inline void xrc_join(struct xrc_internet *i, u64 now, u64 window)
{
	xrc_confirm(i, now);
	i->cut = 0;
	i->cubic.w_max = 0;
	xrc_cubic_lost(&i->cubic, window);
	i->rivals = 1;
	i->restore = xrc_mul_q16(window, XRC_BETA_Q16);
	i->look = now + XRC_LOOK_US;
	i->doubt = 0;
	i->calm = 0;
	i->radio = 0;
	i->intact = 1;
	i->fair = 0;
	i->belief = XRC_ONE;
}

/* A look found others, or is to be followed by a deeper one: back to `window`. */
static __always_inline void xrc_looked(struct xrc_internet *i, u64 now, u64 srtt_us, u64 window, bool doubt)
{
	if (!i->rivals)
		return;
	i->restore = window;
	i->doubt = doubt;
	i->look = now + (doubt ? 0 : xrc_max(XRC_LOOK_US, srtt_us * XRC_LOOK_RTTS));
	i->cubic.running = 0;
}

/* A window of data ended with the least delay `least`: what the cut under way has shown. */
static __always_inline u8 xrc_judge(struct xrc_internet *i, u64 now, u64 least)
{
	u64 gone = xrc_sub(i->before_us, least);

	if (!i->cut || ++i->judged < XRC_JUDGED)
		return XRC_FOUND_NOTHING;
	i->cut = 0;
	/* Three quarters of what should have gone; a quarter. */
	if (gone * 4 >= i->expected_us * 3)
		return XRC_FOUND_OWN;
	if (gone * 4 < i->expected_us && !xrc_is_remembered(i, now))
		return XRC_FOUND_LONGER;
	return XRC_FOUND_SHARED;
}

/* A window of data among others: `fair` is half of the bottleneck. */
static __always_inline u8 xrc_among_others(struct xrc_internet *i, u64 now, u64 fair, bool brief, bool radio, u32 rounds)
{
	i->fair = fair;
	if (i->intact)
		i->restore = xrc_max(i->restore, fair);
	i->until = now + XRC_MEMORY_US;
	i->calm = brief ? i->calm + 1 : 0;
	i->radio = radio ? i->radio + 1 : 0;
	if (i->calm > rounds || i->radio > 1)
		return XRC_AMONG_LEAVE;
	return now >= i->look ? XRC_AMONG_LOOK : XRC_AMONG_STAY;
}

/* A loss outside of the unfairness mode: true where a longer path that was found just now is none. */
static __always_inline bool xrc_internet_loss(struct xrc_internet *i, u64 now, u64 cwnd, bool quiet, u64 share_q16,
					      bool probation)
{
	i->run = 0;
	i->probe = XRC_ONE;
	if (i->rivals) {
		i->cut = 0;
		i->restore = 0;
		i->doubt = 0;
		i->intact = 0;
		xrc_cubic_lost(&i->cubic, xrc_max(cwnd, xrc_mul_q16(i->fair, i->belief)));
		i->belief = xrc_mul_q16(i->belief, XRC_FADES_Q16);
		return 0;
	}
	if (!quiet || share_q16 >= XRC_LOSS_SHARE_Q16)
		return 0;
	if (probation) {
		xrc_join(i, now, cwnd);
		return 1;
	}
	i->strikes++;
	if (i->strikes >= XRC_STRIKES)
		xrc_confirm(i, now);
	else if (now < i->until)
		i->until = now + XRC_MEMORY_US;
	return 0;
}

/* Growth while a verdict is remembered: it doubles each round while the queue is `calm`. */
static __always_inline u64 xrc_probe(struct xrc_internet *i, u64 cwnd, bool calm)
{
	u64 alpha = calm ? i->probe : XRC_ONE;
	/* A first probe by a quarter of the window per RTT at most, later ones by a sixteenth. */
	u64 bound = xrc_max(cwnd / (i->confirmed > 1 ? 16 : 4), XRC_ONE);

	i->probe = xrc_min(alpha, bound) * 2;
	return xrc_min(alpha, bound);
}

#endif
