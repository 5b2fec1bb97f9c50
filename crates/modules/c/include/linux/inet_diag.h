/* What `ss -i` reports of a congestion control. */
#ifndef LASTHOP_LINUX_INET_DIAG_H
#define LASTHOP_LINUX_INET_DIAG_H

#include <linux/kernel.h>

enum {
	INET_DIAG_NONE,
	INET_DIAG_MEMINFO,
	INET_DIAG_INFO,
	INET_DIAG_VEGASINFO,
	INET_DIAG_CONG,
	INET_DIAG_TOS,
	INET_DIAG_TCLASS,
	INET_DIAG_SKMEMINFO,
	INET_DIAG_SHUTDOWN,
	INET_DIAG_DCTCPINFO,
	INET_DIAG_PROTOCOL,
	INET_DIAG_SKV6ONLY,
	INET_DIAG_LOCALS,
	INET_DIAG_PEERS,
	INET_DIAG_PAD,
	INET_DIAG_MARK,
	INET_DIAG_BBRINFO,
};

struct tcpvegas_info {
	u32 tcpv_enabled;
	u32 tcpv_rttcnt;
	u32 tcpv_rtt;
	u32 tcpv_minrtt;
};

struct tcp_dctcp_info {
	u16 dctcp_enabled;
	u16 dctcp_ce_state;
	u32 dctcp_alpha;
	u32 dctcp_ab_ecn;
	u32 dctcp_ab_tot;
};

struct tcp_bbr_info {
	u32 bbr_bw_lo;
	u32 bbr_bw_hi;
	u32 bbr_min_rtt;
	u32 bbr_pacing_gain;
	u32 bbr_cwnd_gain;
};

union tcp_cc_info {
	struct tcpvegas_info vegas;
	struct tcp_dctcp_info dctcp;
	struct tcp_bbr_info bbr;
};

#endif
