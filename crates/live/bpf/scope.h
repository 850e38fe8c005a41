/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Whose connections get a controller of ours. Included by a program with sockops, after the headers of libbpf.
 */
#ifndef SLACKWATER_BPF_SCOPE_H
#define SLACKWATER_BPF_SCOPE_H

/* Set by the loader before the programs are loaded. */
/* Cookie of the network namespace whose connections get the controller; zero for all under the cgroup. */
const volatile u64 netns = 0;
/* Connections keep the controller that they chose: ours is for those that chose it. */
const volatile u8 chosen = 0;

/* Gives the controller of three letters to a connection that is in the scope; true where it has it then. */
static __always_inline bool given(struct bpf_sock_ops *ops, char *name)
{
	char own[16] = {};

	if (netns && bpf_get_netns_cookie(ops) != netns)
		return false;
	if (!chosen)
		return !bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, 4);
	if (bpf_getsockopt(ops, SOL_TCP, TCP_CONGESTION, own, sizeof(own)))
		return false;
	return own[0] == name[0] && own[1] == name[1] && own[2] == name[2] && !own[3];
}

#endif
