/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Gives the table of orders (ebb_vectors.txt) to the kernel's half of ebb on the host, and looks at what the table leaves out: old
 * orders, and what CUBIC begins with.
 *
 *	cc -O2 -Wall -Wextra -o replay ebb_replay.c && ./replay < ebb_vectors.txt
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef uint32_t u32;
typedef uint64_t u64;

#include "../ebb_core.h"

static int old_orders_count_for_nothing(void)
{
	const struct ebb_order order = { .at_ns = 1000000000, .window = 7, .steers = 1 };
	const struct ebb_order none = { 0 };

	return ebb_fresh(&order, order.at_ns) && ebb_fresh(&order, order.at_ns - 1) &&
	       ebb_fresh(&order, order.at_ns + EBB_STALE_NS - 1) && !ebb_fresh(&order, order.at_ns + EBB_STALE_NS) &&
	       /* CUBIC begins with what is ordered, or with what is in flight, and with two segments at least. */
	       ebb_left(&order, true, 40) == 7 && ebb_left(&order, false, 40) == 40 && ebb_left(&none, true, 40) == 40 &&
	       ebb_left(&none, false, 0) == 2;
}

int main(void)
{
	unsigned long long limit, pace, age, sent;
	unsigned int grows;
	unsigned int in_flight, mss, window, rows = 0;

	while (scanf("%llu %llu %u %llu %llu %u %u : %u", &limit, &pace, &grows, &age, &sent, &in_flight, &mss, &window) == 8) {
		struct ebb_order order = { .limit = limit, .pace = pace, .grows_us = grows, .steers = 1 };
		u32 got = ebb_window(&order, age * 1000, sent, in_flight, mss);

		rows++;
		if (got != window) {
			fprintf(stderr, "row %u: window %u, the table has %u\n", rows, got, window);
			return 1;
		}
	}
	if (!old_orders_count_for_nothing()) {
		fprintf(stderr, "an old order counts, or CUBIC begins with another window\n");
		return 1;
	}
	printf("%u rows agree\n", rows);
	return rows ? 0 : 2;
}
