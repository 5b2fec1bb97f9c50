/* What crosses between lasthop and a plug-in. src/interface.rs has the same, field for field. */
#ifndef LASTHOP_BRIDGE_H
#define LASTHOP_BRIDGE_H

#include <linux/kernel.h>

/* Changes with everything in this file, and with what a plug-in expects of its host. */
#define LASTHOP_BRIDGE 2

enum lasthop_kind {
	LASTHOP_START,
	LASTHOP_HANDSHAKE,
	LASTHOP_OBSERVE,
	LASTHOP_ACK,
	LASTHOP_DELIVERY,
	LASTHOP_SENT,
	LASTHOP_LOSS,
	LASTHOP_MARK,
	LASTHOP_TIMEOUT,
	LASTHOP_RECOVERED,
	LASTHOP_RESTORE,
	LASTHOP_RELEASE,
};

enum lasthop_phase {
	LASTHOP_OPEN,
	LASTHOP_FAST_RECOVERY,
	LASTHOP_AFTER_TIMEOUT,
};

/* An event, with the fields that its kind has: times in nanoseconds (negative: none), sizes in bytes. */
struct lasthop_event {
	u32 kind;
	u32 phase;
	u32 una;
	u32 nxt;
	u64 now;
	u64 size;
	u64 flight;
	u64 marked;
	u64 cwnd;
	u64 ssthresh;
	s64 rtt;
	s64 newest_rtt;
	s64 rto;
	u64 seed;
	/* The last of the segments sent before this event that have no event of their own: with its time, and the flight
	 * that it makes; no flight where there is none. */
	u64 sent_flight;
	u64 sent_at;
	/* Of LASTHOP_DELIVERY. */
	u64 in_flight;
	u64 prior_in_flight;
	u64 delivered;
	u64 lost;
	u64 newly_lost;
	u64 rate_delivered;
	u64 rate_prior_delivered;
	s64 rate_interval;
	u32 segments;
	s32 one_way;
	u8 has_one_way;
	u8 has_rate;
	u8 rate_limited;
	u8 rate_retransmitted;
	u8 maybe_delayed;
	u8 application_limited;
	u8 retransmission;
	u8 repeated;
};

/* What follows from an event. */
struct lasthop_answer {
	u32 cwnd;
	u32 ssthresh;
	/* Bytes per second; ULONG_MAX where the module does not pace. */
	u64 pacing_rate;
	u32 quantum;
	u32 state;
};

struct lasthop_connection;

#endif
