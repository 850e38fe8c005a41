/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Proportional rate reduction (RFC 9937, 6): a congestion control that sets the window itself has to do it. Includes nothing; the
 * includer has kernel.h.
 */
#ifndef SLACKWATER_BPF_RECOVERY_H
#define SLACKWATER_BPF_RECOVERY_H

static __always_inline u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* The window of an ACK in recovery towards `ssthresh`; `delivered` holds what this recovery delivered. */
static __always_inline u32 prr_window(const struct tcp_sock *tp, const struct rate_sample *rs, u64 ssthresh, u64 *delivered)
{
	u64 prior = tp->prior_cwnd ? tp->prior_cwnd : 1;
	u64 pipe = packets_in_flight(tp), out = tp->prr_out, count;

	*delivered += rs->acked_sacked;
	if (pipe > ssthresh) {
		u64 due = (*delivered * ssthresh + prior - 1) / prior;

		count = due > out ? due - out : 0;
	} else {
		u64 limit = *delivered > out ? *delivered - out : 0;

		if (limit < rs->acked_sacked)
			limit = rs->acked_sacked;
		/* No new loss: one more, as in slow start. */
		if (!rs->losses)
			limit++;
		count = ssthresh - pipe < limit ? ssthresh - pipe : limit;
	}
	/* The first retransmission leaves at once. */
	if (!out && !count)
		count = 1;
	return pipe + count;
}

#endif
