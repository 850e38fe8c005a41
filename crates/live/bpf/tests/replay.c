/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Replays the table of events (xrc_vectors.txt) through the kernel's sender on the host.
 *
 *	cc -O2 -Wall -Wextra -o replay replay.c && ./replay < xrc_vectors.txt
 *
 * Prints a line for each scenario and exits with 1 where the mode differs, or a window by more than a fiftieth of a
 * segment and a thousandth of itself: integers truncate.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#include "../xrc_core.h"

static const double Q16 = 65536.0;

struct said {
	int mode;
	double cwnd, twnd, ssthresh, gamma, pacing;
};

static bool near(double ours, double theirs)
{
	return fabs(ours - theirs) <= 0.02 + 0.001 * fabs(theirs);
}

/* The expected state behind " : ". */
static bool expected(const char *line, struct said *e)
{
	const char *at = strstr(line, " : ");

	return at && sscanf(at + 3, "%d %lf %lf %lf %lf %lf", &e->mode, &e->cwnd, &e->twnd, &e->ssthresh, &e->gamma,
			    &e->pacing) == 6;
}

static bool agrees(const struct xrc *x, const struct said *e)
{
	double ssthresh = x->ssthresh == XRC_INFINITE ? -1 : x->ssthresh / Q16;

	return x->mode == e->mode && near(x->cwnd / Q16, e->cwnd) && near(x->twnd / Q16, e->twnd) &&
	       near(ssthresh, e->ssthresh) && near(x->gamma / Q16, e->gamma) &&
	       fabs(x->pacing_bps / 1000.0 - e->pacing) <= 2 + 0.002 * e->pacing;
}

int main(void)
{
	static const struct xrc_params defaults = XRC_PARAMS_DEFAULT, paper = XRC_PARAMS_PAPER;
	struct xrc_path path = { .wire = 1500 };
	struct xrc x;
	char line[512], name[64] = "", profile[64];
	unsigned long at = 0, events = 0, wrong = 0, all_wrong = 0, total = 0;
	double worst = 0;

	memset(&x, 0, sizeof(x));
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long long n[11];
		struct said e;
		u32 mss, initial;

		at++;
		switch (line[0]) {
		case 'S':
			if (events)
				printf("%-16s %6lu events, %lu differ, window off by %.4f at most\n", name, events, wrong, worst);
			events = wrong = 0;
			worst = 0;
			if (sscanf(line, "S %63s %63s %u %u", name, profile, &mss, &initial) != 4)
				return 2;
			memset(&x, 0, sizeof(x));
			xrc_init(&x, strcmp(profile, "paper") ? &defaults : &paper, mss, initial);
			path.mss = mss;
			path.srtt_us = path.min_rtt_us = path.in_flight = 0;
			continue;
		case 'R': {
			struct xrc_report r;

			if (sscanf(line, "R %llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]) != 6)
				return 2;
			r = (struct xrc_report){ .rate_bps = n[2], .hol_us = n[3], .seq = n[4], .shared = n[5] };
			xrc_on_report(&x, n[0], n[1], &r);
			continue;
		}
		case 'V':
			xrc_on_recovered(&x);
			continue;
		case 'A': {
			struct xrc_ack ack = { 0 };
			long long owd;

			/* The smoothed RTT of a report is that before its ACK, as in a host. */
			if (sscanf(line, "A %llu %llu %llu %llu %llu %lld %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3],
				   &n[4], &owd, &n[5], &n[6], &n[7], &n[8], &n[9]) != 11)
				return 2;
			path.srtt_us = n[1];
			path.min_rtt_us = n[2];
			path.in_flight = n[3];
			ack.rtt_us = n[4];
			ack.owd_us = owd < 0 ? XRC_NONE : (u64)owd;
			ack.newly_acked = n[5];
			ack.delivered = n[6];
			ack.una = n[7];
			ack.next = n[8];
			ack.advanced = n[9] & 1;
			ack.in_recovery = n[9] >> 1 & 1;
			ack.cwnd_limited = n[9] >> 2 & 1;
			ack.app_limited = n[9] >> 3 & 1;
			xrc_on_ack(&x, n[0], &path, &ack);
			/* A host calls this for each packet that the ACK releases. */
			x.last_sent = n[0];
			break;
		}
		case 'L':
			if (sscanf(line, "L %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3]) != 4)
				return 2;
			path.srtt_us = n[1];
			xrc_on_loss(&x, n[0], &path, n[2], n[3]);
			break;
		case 'U':
			xrc_on_undo(&x);
			break;
		case 'T':
			if (sscanf(line, "T %llu %llu", &n[0], &n[1]) != 2)
				return 2;
			path.srtt_us = n[1];
			xrc_on_restart(&x, n[0], &path);
			xrc_on_sent(&x, n[0]);
			break;
		default:
			fprintf(stderr, "line %lu: no event starts with '%c'\n", at, line[0]);
			return 2;
		}
		if (!expected(line, &e)) {
			fprintf(stderr, "line %lu: no state behind ' : '\n", at);
			return 2;
		}
		events++;
		total++;
		worst = fmax(worst, fabs(x.cwnd / Q16 - e.cwnd));
		if (!agrees(&x, &e)) {
			if (!wrong)
				fprintf(stderr,
					"%s, line %lu: mode %d cwnd %.3f twnd %.3f ssthresh %.3f gamma %.3f pacing %.0f; table: %s",
					name, at, x.mode, x.cwnd / Q16, x.twnd / Q16,
					x.ssthresh == XRC_INFINITE ? -1 : x.ssthresh / Q16, x.gamma / Q16, x.pacing_bps / 1000.0,
					strstr(line, " : ") + 3);
			wrong++;
			all_wrong++;
		}
	}
	if (events)
		printf("%-16s %6lu events, %lu differ, window off by %.4f at most\n", name, events, wrong, worst);
	if (!total) {
		fprintf(stderr, "no events on standard input\n");
		return 2;
	}
	return all_wrong ? 1 : 0;
}
