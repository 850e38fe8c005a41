/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the kernel does with the order of an `ebb` sender in user space (control::phy::ebb::Order): no kernel call, no float.
 * The includer defines u8, u32, u64 and bool.
 */
#ifndef SLACKWATER_EBB_CORE_H
#define SLACKWATER_EBB_CORE_H

/* An order that is older counts for nothing: its process is gone, or does not run. A process that runs renews it within 80 ms. */
#define EBB_STALE_NS 300000000ULL
/* The most segments of a window, as for XRC. */
#define EBB_MAX_WINDOW (1ULL << 20)

/* The layout is that of live::split::event::write. */
struct ebb_order {
	/* Payload bytes that may have been sent in all when it was made, those that were sent again included. */
	u64 limit;
	/* Payload bytes per second. */
	u64 pace;
	/* When it was made, of bpf_ktime_get_ns(). */
	u64 at_ns;
	/* Segments that CUBIC begins with. */
	u32 window;
	/* The radio steers, and not CUBIC. */
	u32 steers;
	/* The limit grows by the pace for so long, us. */
	u32 grows_us;
	u32 unused;
};

/* An order's bound grows for so long at most, whatever it says: a second, so that the product below fits. */
#define EBB_GROWS_NS 1000000000ULL
/* It grows by so many bytes per second at most, 100 Gbit/s. */
#define EBB_MAX_PACE 12500000000ULL

/* One of a moment that is yet to come is new: clocks of processors may differ. */
static inline u64 ebb_age(const struct ebb_order *o, u64 now_ns)
{
	return now_ns > o->at_ns ? now_ns - o->at_ns : 0;
}

static inline bool ebb_fresh(const struct ebb_order *o, u64 now_ns)
{
	return ebb_age(o, now_ns) < EBB_STALE_NS;
}

static inline u32 ebb_clamp(u64 window, u32 least)
{
	if (window < least)
		return least;
	return window > EBB_MAX_WINDOW ? EBB_MAX_WINDOW : window;
}

/* The window in segments of `mss` bytes, where the order is `age_ns` old and `sent` payload bytes were sent in all. */
static inline u32 ebb_window(const struct ebb_order *o, u64 age_ns, u64 sent, u32 in_flight, u32 mss)
{
	u64 most = 1000ULL * o->grows_us < EBB_GROWS_NS ? 1000ULL * o->grows_us : EBB_GROWS_NS;
	u64 age = age_ns < most ? age_ns : most;
	u64 pace = o->pace < EBB_MAX_PACE ? o->pace : EBB_MAX_PACE;
	u64 grown = pace * age / 1000000000ULL;
	u64 limit = o->limit + grown < o->limit ? ~0ULL : o->limit + grown;
	u64 room = limit > sent ? (limit - sent) / (mss ? mss : 1) : 0;

	return ebb_clamp(in_flight + room, 1);
}

/*
 * The window that CUBIC begins with: that of the order. Without a fresh one it is what is in flight, which no old order bounds
 * any longer.
 */
static inline u32 ebb_left(const struct ebb_order *o, bool fresh, u32 in_flight)
{
	return ebb_clamp(fresh && o->window ? o->window : in_flight, 2);
}

#endif
