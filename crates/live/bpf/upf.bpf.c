/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The path in the kernel of a user plane function (docs/design/0104): packets of sessions that no function holds.
 *
 * Each interface has a pair of programs. The filter of the function's ring decides, once a packet: it leaves a note and keeps the
 * packet from the ring, or lets the ring have it. The program at tcx, which the kernel calls next for the same packet on the same
 * processor, does what the note orders. So a packet is never taken by both, and never by none, whatever changes in the maps.
 *
 * Where N6 is a TUN device, the program at its egress has each packet before the device's queue, and decides and sends alone.
 *
 * Where a queue management measures a session that it lets pass, the function gets each packet's headers and the time.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Of the kernel's packet (include/linux/skbuff.h). */
struct sk_buff {
	__u8 ip_summed : 2;
} KERNEL_TYPE;

#define CHECKSUM_UNNECESSARY 1
#define CHECKSUM_PARTIAL 3

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

#define ETHERNET 14
#define TYPE_IPV4 0x0800
/* An IPv4 header without options, and what of its fragment field is zero in a whole packet (RFC 791, 3.1). */
#define PLAIN_IPV4 0x45
#define FRAGMENT 0x3fff
#define DONT_FRAGMENT 0x4000
/* TS 29.281, 5.1: version 1, protocol type GTP, with or without extension headers; message type G-PDU. */
#define GTP_PLAIN 0x30
#define GTP_EXTENDED 0x34
#define G_PDU 255
#define GTP_PORT 2152
/* TS 29.281, 5.2.1; TS 38.415, 5.5.2: a container of four octets that states a QoS flow alone. */
#define CONTAINER 0x85
#define UPLINK_TYPE 0x10
#define REFLECTIVE 0x40
#define AF_INET 2
/* Sessions at most; each has a place among the counters. */
#define SESSIONS 16384
/* Places of a table of sessions, found by the last bits of a session's key; a power of two. */
#define PLACES (8 * SESSIONS)
/* Octets of a packet that the function gets: an IPv4 header, and the longest of TCP (RFC 9293, 3.1). */
#define HEAD 80
/* Octets of those that the function has not read yet; a power of two. */
#define UNREAD (1 << 21)

/* Set by the loader before the programs are loaded; addresses and ports in network byte order. */
const volatile __be32 own = 0;
const volatile __be16 port = 0;
const volatile __be32 gateway = 0;
const volatile u8 ttl = 64;
const volatile u8 dont_fragment = 1;
const volatile u32 n3_index = 0;
const volatile u32 n6_index = 0;
const volatile u32 n6_mtu = 1500;
/* N6 is a TUN device, whose packets have no Ethernet header. */
const volatile u8 n6_is_tun = 0;

/*
 * Where downlink packets of a UE go. The loader writes the first eight octets at once, and last: the key, which is zero where nothing
 * is, makes the rest valid.
 */
struct down {
	__be32 ue;
	__be32 peer;
	__be32 teid;
	__be32 next_hop;
	u32 slot;
	/* The longest packet that is taken. */
	u16 most;
	u8 dscp;
	/* Its packets have a container. */
	u8 contained;
	/* QFI and RQI as the container has them. */
	u8 flow;
	/* The function is to get its headers. */
	u8 watched;
	u8 unused[6];
};

/* Which uplink packets of a tunnel are taken; see struct down. */
struct up {
	__be32 teid;
	__be32 ue;
	/* A bit for each QoS flow. */
	u64 flows;
	u32 slot;
	/* Packets of every flow, and those that name none. */
	u8 every;
	/* See struct down. */
	u8 watched;
	u8 unused[10];
};

/* A packet that was forwarded, for the function. */
struct passed {
	/* Nanoseconds of CLOCK_MONOTONIC. */
	u64 at;
	u32 slot;
	/* 0 down, 1 up. */
	u8 direction;
	/* Octets of head. */
	u8 length;
	u8 unused[2];
	u8 head[HEAD];
};

/* On a cache line of its own. */
struct counts {
	u64 down_packets;
	u64 down_bytes;
	u64 up_packets;
	u64 up_bytes;
	/* The kernel had no room for a header. */
	u64 lost;
	u64 unused[3];
};

struct note {
	u8 taken;
	/* Uplink: octets of the outer headers. Downlink: the type of service that the outer header gets. */
	u8 outer;
	/* Uplink: the type of service of the inner header, as it is to be. */
	u8 tos;
	u8 unused;
	/* Octets of the frame; what is behind them is padding. */
	u32 frame;
	/* Octets of the user's packet. */
	u32 length;
	u32 slot;
	struct down down;
};

/* A session lies at its place. One whose place another has is among the others, which cost twice the memory accesses. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PLACES);
	__type(key, u32);
	__type(value, struct down);
} downs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PLACES);
	__type(key, u32);
	__type(value, struct up);
} ups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SESSIONS);
	__type(key, __be32);
	__type(value, struct down);
} other_downs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SESSIONS);
	__type(key, __be32);
	__type(value, struct up);
} other_ups SEC(".maps");

/* SESSIONS for each processor; the loader knows how many there are. The function reads them where they lie, without a call. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SESSIONS);
	__type(key, u32);
	__type(value, struct counts);
} counters SEC(".maps");

/* Of N6 and of N3. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct note);
} notes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, UNREAD);
} unread SEC(".maps");

static __always_inline struct note *note_of(u32 which)
{
	return bpf_map_lookup_elem(&notes, &which);
}

static __always_inline struct down *down_of(__be32 ue)
{
	u32 place = bpf_ntohl(ue) & (PLACES - 1);
	struct down *down = bpf_map_lookup_elem(&downs, &place);

	if (down && ue && down->ue == ue)
		return down;
	return bpf_map_lookup_elem(&other_downs, &ue);
}

static __always_inline struct up *up_of(__be32 teid)
{
	u32 place = bpf_ntohl(teid) & (PLACES - 1);
	struct up *up = bpf_map_lookup_elem(&ups, &place);

	if (up && teid && up->teid == teid)
		return up;
	return bpf_map_lookup_elem(&other_ups, &teid);
}

/* Of a session's place, on this processor. */
static __always_inline struct counts *counts_of(u32 slot)
{
	u32 place = bpf_get_smp_processor_id() * SESSIONS + slot;

	return bpf_map_lookup_elem(&counters, &place);
}

/* A frame to this host, as it came by the line. A super-packet is the function's to cut. */
static __always_inline bool is_plain(const struct __sk_buff *skb)
{
	return skb->pkt_type == 0 && !skb->vlan_present && skb->gso_size == 0;
}

static __always_inline bool is_whole(const struct iphdr *ip)
{
	return *(const u8 *)ip == PLAIN_IPV4 && !(ip->frag_off & bpf_htons(FRAGMENT));
}

static __always_inline u16 folded(u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

static __always_inline u32 header_sum(const struct iphdr *ip)
{
	const u16 *words = (const u16 *)ip;
	u32 sum = 0;

#pragma unroll
	for (int k = 0; k < 10; k++)
		sum += words[k];
	return sum;
}

/* Hands the headers of the packet of `length` octets behind `start` to the function; false where it has no room for them. */
static __always_inline bool handed(const struct __sk_buff *skb, u32 start, u32 length, u32 slot, u8 direction)
{
	struct passed *passed = bpf_ringbuf_reserve(&unread, sizeof(*passed), 0);

	if (!passed)
		return false;
	if (length > HEAD)
		length = HEAD;
	/* Every packet has an IPv4 header; the verifier does not remember. */
	if (length < sizeof(struct iphdr) || bpf_skb_load_bytes(skb, start, passed->head, length)) {
		bpf_ringbuf_discard(passed, 0);
		return false;
	}
	passed->at = bpf_ktime_get_ns();
	passed->slot = slot;
	passed->direction = direction;
	passed->length = length;
	bpf_ringbuf_submit(passed, 0);
	return true;
}

/* What a ring's filter returns: nothing of the packet, or all of it. */
#define KEEP_FROM_RING 0
#define GIVE_TO_RING -1

SEC("socket")
int decide_down(struct __sk_buff *skb)
{
	struct {
		u8 pad[2];
		u8 addresses[12];
		__be16 type;
		struct iphdr ip;
	} head;
	struct note *note = note_of(0);
	struct down *down;
	u32 length;

	if (!note)
		return GIVE_TO_RING;
	note->taken = 0;
	if (!is_plain(skb) || bpf_skb_load_bytes(skb, 0, head.addresses, sizeof(head) - 2))
		return GIVE_TO_RING;
	length = bpf_ntohs(head.ip.tot_len);
	if (head.type != bpf_htons(TYPE_IPV4) || !is_whole(&head.ip) || length < sizeof(head.ip) ||
	    ETHERNET + length > skb->len)
		return GIVE_TO_RING;
	down = down_of(head.ip.daddr);
	if (!down || length > down->most)
		return GIVE_TO_RING;
	if (down->watched && !handed(skb, ETHERNET, length, down->slot, 0))
		return GIVE_TO_RING;
	note->down = *down;
	note->slot = down->slot;
	note->outer = down->dscp | (head.ip.tos & 3);
	note->frame = ETHERNET + length;
	note->length = length;
	note->taken = 1;
	return KEEP_FROM_RING;
}

static __always_inline bool trimmed(struct __sk_buff *skb, u32 frame)
{
	return skb->len == frame || !bpf_skb_change_tail(skb, frame, 0);
}

/* Puts the packet of `length` octets behind `front` octets into the tunnel, under this type of service. */
static __always_inline bool encapsulated(struct __sk_buff *skb, const struct down *down, u32 front, u32 length, u8 tos)
{
	struct {
		struct iphdr ip;
		struct udphdr udp;
		u8 flags;
		u8 type;
		__be16 length;
		__be32 teid;
		u8 optional[4];
		u8 container[4];
	} outer = {};
	u32 more = down->contained ? sizeof(outer) : sizeof(outer) - 8;

	outer.ip.version = 4;
	outer.ip.ihl = 5;
	outer.ip.tos = tos;
	outer.ip.tot_len = bpf_htons(more + length);
	outer.ip.frag_off = dont_fragment ? bpf_htons(DONT_FRAGMENT) : 0;
	outer.ip.ttl = ttl;
	outer.ip.protocol = IPPROTO_UDP;
	outer.ip.saddr = own;
	outer.ip.daddr = down->peer;
	outer.ip.check = ~folded(header_sum(&outer.ip));
	outer.udp.source = port;
	outer.udp.dest = bpf_htons(GTP_PORT);
	outer.udp.len = bpf_htons(more - sizeof(outer.ip) + length);
	outer.type = G_PDU;
	outer.length = bpf_htons(more - sizeof(outer.ip) - sizeof(outer.udp) - 8 + length);
	outer.teid = down->teid;
	outer.flags = GTP_PLAIN;
	if (down->contained) {
		outer.flags = GTP_EXTENDED;
		outer.optional[3] = CONTAINER;
		outer.container[0] = 1;
		outer.container[2] = down->flow;
	}
	if (!trimmed(skb, front + length) || bpf_skb_adjust_room(skb, more, BPF_ADJ_ROOM_MAC,
								 BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L4_UDP))
		return false;
	return down->contained ? !bpf_skb_store_bytes(skb, front, &outer, sizeof(outer), 0) :
				 !bpf_skb_store_bytes(skb, front, &outer, sizeof(outer) - 8, 0);
}

SEC("tcx/ingress")
int send_down(struct __sk_buff *skb)
{
	struct bpf_redir_neigh hop = { .nh_family = AF_INET };
	struct note *note = note_of(0);
	struct counts *counts;

	if (!note || !note->taken)
		return TC_ACT_UNSPEC;
	note->taken = 0;
	counts = counts_of(note->slot);
	if (!counts)
		return TC_ACT_SHOT;
	if (!encapsulated(skb, &note->down, ETHERNET, note->length, note->outer)) {
		counts->lost++;
		return TC_ACT_SHOT;
	}
	counts->down_packets++;
	counts->down_bytes += note->length;
	hop.ipv4_nh = note->down.next_hop;
	return bpf_redirect_neigh(n3_index, &hop, sizeof(hop), 0);
}

SEC("tcx/egress")
int send_from_tun(struct __sk_buff *skb)
{
	struct bpf_redir_neigh hop = { .nh_family = AF_INET };
	struct counts *counts;
	struct down down, *found;
	struct iphdr ip;
	u32 length;

	if (skb->protocol != bpf_htons(TYPE_IPV4) || skb->vlan_present || skb->gso_size ||
	    bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return TC_ACT_UNSPEC;
	length = bpf_ntohs(ip.tot_len);
	if (!is_whole(&ip) || length < sizeof(ip) || length > skb->len)
		return TC_ACT_UNSPEC;
	found = down_of(ip.daddr);
	if (!found || length > found->most)
		return TC_ACT_UNSPEC;
	down = *found;
	counts = counts_of(down.slot);
	if (!counts || (down.watched && !handed(skb, 0, length, down.slot, 0)))
		return TC_ACT_UNSPEC;
	/* The way to a neighbour begins with a frame. */
	if (!encapsulated(skb, &down, 0, length, down.dscp | (ip.tos & 3)) || bpf_skb_change_head(skb, ETHERNET, 0)) {
		counts->lost++;
		return TC_ACT_SHOT;
	}
	counts->down_packets++;
	counts->down_bytes += length;
	hop.ipv4_nh = down.next_hop;
	return bpf_redirect_neigh(n3_index, &hop, sizeof(hop), 0);
}

/* The sum of a datagram holds, as far as that is known without reading it (RFC 768: zero is none). */
static __always_inline bool is_summed(struct __sk_buff *skb, const struct udphdr *udp)
{
	struct sk_buff *kernels;
	u8 summed;

	if (!udp->check)
		return true;
	kernels = bpf_cast_to_kern_ctx(skb);
	summed = BPF_CORE_READ_BITFIELD(kernels, ip_summed);
	return summed == CHECKSUM_UNNECESSARY || summed == CHECKSUM_PARTIAL;
}

/* A host that a reply could go to (RFC 1122, 3.2.1.3). */
static __always_inline bool is_host(__be32 address)
{
	u8 first = bpf_ntohl(address) >> 24;

	return address && first != 127 && first >> 4 != 14;
}

/* RFC 6040, 4.2, figure 4; negative for a packet that is to be dropped. */
static __always_inline int decapsulated(u8 inner, u8 outer)
{
	if (outer == 3)
		return inner ? 3 : -1;
	return inner == 2 && outer == 1 ? 1 : inner;
}

SEC("socket")
int decide_up(struct __sk_buff *skb)
{
	struct {
		u8 pad[2];
		u8 addresses[12];
		__be16 type;
		struct iphdr ip;
		struct udphdr udp;
		u8 flags;
		u8 message;
		__be16 length;
		__be32 teid;
		u8 rest[8 + sizeof(struct iphdr)];
	} head;
	struct note *note = note_of(1);
	struct iphdr inner;
	u32 octets, outer;
	struct up *up;
	int field;

	if (!note)
		return GIVE_TO_RING;
	note->taken = 0;
	if (!is_plain(skb) || bpf_skb_load_bytes(skb, 0, head.addresses, sizeof(head) - 2))
		return GIVE_TO_RING;
	octets = bpf_ntohs(head.ip.tot_len);
	if (head.type != bpf_htons(TYPE_IPV4) || !is_whole(&head.ip) || head.ip.protocol != IPPROTO_UDP ||
	    head.ip.daddr != own || head.udp.dest != port || ETHERNET + octets > skb->len ||
	    bpf_ntohs(head.udp.len) + sizeof(head.ip) != octets || folded(header_sum(&head.ip)) != 0xffff ||
	    !is_host(head.ip.saddr) || !is_summed(skb, &head.udp))
		return GIVE_TO_RING;
	outer = sizeof(head.ip) + sizeof(head.udp) + 8;
	if (head.message != G_PDU || bpf_ntohs(head.length) + outer != octets)
		return GIVE_TO_RING;
	up = up_of(head.teid);
	if (!up)
		return GIVE_TO_RING;
	if (head.flags == GTP_EXTENDED) {
		u8 flow = head.rest[6];

		if (head.rest[3] != CONTAINER || head.rest[4] != 1 || head.rest[5] != UPLINK_TYPE || flow > 0x3f ||
		    head.rest[7] || !(up->every || up->flows >> flow & 1))
			return GIVE_TO_RING;
		outer += 8;
		__builtin_memcpy(&inner, head.rest + 8, sizeof(inner));
	} else if (head.flags == GTP_PLAIN && up->every) {
		__builtin_memcpy(&inner, head.rest, sizeof(inner));
	} else {
		return GIVE_TO_RING;
	}
	field = decapsulated(inner.tos & 3, head.ip.tos & 3);
	if (!is_whole(&inner) || bpf_ntohs(inner.tot_len) + outer != octets || bpf_ntohs(inner.tot_len) < sizeof(inner) ||
	    bpf_ntohs(inner.tot_len) > n6_mtu || inner.saddr != up->ue || field < 0)
		return GIVE_TO_RING;
	if (up->watched && !handed(skb, ETHERNET + outer, octets - outer, up->slot, 1))
		return GIVE_TO_RING;
	note->outer = outer;
	note->tos = (inner.tos & ~3) | field;
	note->frame = ETHERNET + octets;
	note->length = octets - outer;
	note->slot = up->slot;
	note->taken = 1;
	return KEEP_FROM_RING;
}

SEC("tcx/ingress")
int send_up(struct __sk_buff *skb)
{
	struct bpf_redir_neigh hop = { .nh_family = AF_INET, .ipv4_nh = gateway };
	struct note *note = note_of(1);
	struct counts *counts;
	u8 before[2], after[2];
	int done;

	if (!note || !note->taken)
		return TC_ACT_UNSPEC;
	note->taken = 0;
	counts = counts_of(note->slot);
	if (!counts)
		return TC_ACT_SHOT;
	done = trimmed(skb, note->frame) && !bpf_skb_adjust_room(skb, -(int)note->outer, BPF_ADJ_ROOM_MAC, 0) &&
	       !bpf_skb_load_bytes(skb, ETHERNET, before, sizeof(before));
	if (done && before[1] != note->tos) {
		after[0] = before[0];
		after[1] = note->tos;
		done = !bpf_l3_csum_replace(skb, ETHERNET + 10, *(u16 *)before, *(u16 *)after, 2) &&
		       !bpf_skb_store_bytes(skb, ETHERNET, after, sizeof(after), 0);
	}
	if (!done) {
		counts->lost++;
		return TC_ACT_SHOT;
	}
	counts->up_packets++;
	counts->up_bytes += note->length;
	/* The kernel takes it for a packet that came by the device, and routes it. */
	if (n6_is_tun)
		return bpf_redirect(n6_index, BPF_F_INGRESS);
	return bpf_redirect_neigh(n6_index, &hop, sizeof(hop), 0);
}
