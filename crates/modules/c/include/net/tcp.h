/* A connection, as congestion controls of Linux see it.
 *
 * Names are those of Linux 6; only what congestion controls use is there. The functions are written from what
 * the kernel documents of them and from RFCs. ../bridge.c keeps the connection's fields up to date. */
#ifndef LASTHOP_NET_TCP_H
#define LASTHOP_NET_TCP_H

#include <linux/btf_ids.h>
#include <linux/inet_diag.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/win_minmax.h>

#define LINUX_VERSION_CODE LASTHOP_KERNEL
#define KERNEL_VERSION(version, patch, sub) (((version) << 16) + ((patch) << 8) + (sub))

struct list_head {
	struct list_head *next, *prev;
};

struct sk_buff {
	u32 len;
};

struct net {
	struct {
		int sysctl_tcp_slow_start_after_idle;
		int sysctl_tcp_reordering;
		int sysctl_tcp_ecn;
		int sysctl_tcp_pacing_ss_ratio;
		int sysctl_tcp_pacing_ca_ratio;
		int sysctl_tcp_min_rtt_wlen;
	} ipv4;
};

enum sk_pacing {
	SK_PACING_NONE = 0,
	SK_PACING_NEEDED = 1,
	SK_PACING_FQ = 2,
};

struct sock {
	u8 sk_state;
	u8 sk_pacing_shift;
	u32 sk_pacing_status;
	u32 sk_gso_max_size;
	u32 sk_sndbuf;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7
#define TCP_LISTEN 10

struct net *lasthop_net(void);
#define sock_net(sk) ((void)(sk), lasthop_net())
/* Counters of /proc/net/netstat: there are none. */
#define NET_INC_STATS(net, counter) ((void)(net))
#define NET_ADD_STATS(net, counter, number) ((void)(net), (void)(number))
#define __NET_INC_STATS NET_INC_STATS
#define sk_pacing_shift_update(sk, value) ((sk)->sk_pacing_shift = (value))
#define INET_ECN_xmit(sk) ((void)(sk))
#define INET_ECN_dontxmit(sk) ((void)(sk))

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

#define TCPF_CA_Open (1 << TCP_CA_Open)
#define TCPF_CA_Disorder (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss (1 << TCP_CA_Loss)

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1 << 0,
	CA_ACK_WIN_UPDATE = 1 << 1,
	CA_ACK_ECE = 1 << 2,
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

#define TCP_CA_NAME_MAX 16
#define TCP_CONG_NON_RESTRICTED BIT(0)
#define TCP_CONG_NEEDS_ECN BIT(1)
#define TCP_CONG_MASK (TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN)

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	u32 (*tso_segs)(struct sock *sk, u32 mss_now);
	/* Linux 6.10 gave it the ACK and its flags. */
#if LASTHOP_KERNEL >= KERNEL_VERSION(6, 10, 0)
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
#else
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
#endif
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
	struct list_head list;
	u32 key;
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

/* For state of the algorithm's own. */
#define ICSK_CA_PRIV_SIZE (18 * sizeof(u64))

struct inet_connection_sock {
	struct sock sk;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state : 5, icsk_ca_initialized : 1, icsk_ca_setsockopt : 1;
	u8 icsk_retransmits;
	u32 icsk_rto;
	struct {
		u8 pending;
		u8 quick;
	} icsk_ack;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

#define TCP_ECN_OK 1
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_SEEN 8
#define ICSK_ACK_SCHED 1
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_PUSHED 4
#define ICSK_ACK_NOW 16

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u8 saw_tstamp : 1, tstamp_ok : 1, sack_ok : 4;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	/* Numbers of segments. */
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_used;
	u32 snd_cwnd_stamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u32 reordering;
	u32 total_retrans;
	/* Sequence numbers. */
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 high_seq;
	u32 cwnd_usage_seq;
	u32 undo_marker;
	u32 rcv_nxt;
	/* Bytes. */
	u32 mss_cache;
	u32 advmss;
	u32 snd_wnd;
	u64 bytes_acked;
	u64 bytes_sent;
	/* Times: srtt_us is eight times the smoothed round trip. */
	u32 srtt_us;
	u32 mdev_us;
	u32 rttvar_us;
	struct minmax rtt_min;
	u64 tcp_mstamp;
	u64 tcp_clock_cache;
	u64 tcp_wstamp_ns;
	u64 delivered_mstamp;
	u64 first_tx_mstamp;
	u32 lsndtime;
	struct tcp_options_received rx_opt;
	u8 ecn_flags;
	bool is_cwnd_limited;
};

#define inet_csk(sk) ((struct inet_connection_sock *)(sk))
#define inet_csk_ca(sk) ((void *)inet_csk(sk)->icsk_ca_priv)
#define tcp_sk(sk) ((struct tcp_sock *)(sk))

#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_TS_HZ 1000
#define MAX_TCP_HEADER 320
#define GSO_LEGACY_MAX_SIZE 65536U
#define GSO_MAX_SIZE GSO_LEGACY_MAX_SIZE
#define tcp_jiffies32 ((u32)jiffies)

static inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}
#define after(a, b) before(b, a)

/* Whether `low` <= `number` <= `high`, around the circle of sequence numbers. */
static inline bool between(u32 number, u32 low, u32 high)
{
	return number - low <= high - low;
}

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 segments)
{
	tp->snd_cwnd = segments;
}

static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh > tp->snd_cwnd;
}

static inline bool tcp_in_initial_slowstart(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}

static inline bool tcp_in_cwnd_reduction(const struct sock *sk)
{
	const u8 state = inet_csk(sk)->icsk_ca_state;

	return state == TCP_CA_CWR || state == TCP_CA_Recovery;
}

/* The threshold that a restart may return to: three quarters of the window, if it has grown beyond. */
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const u32 grown = tp->snd_cwnd / 2 + tp->snd_cwnd / 4;

	return tcp_in_cwnd_reduction(sk) || grown < tp->snd_ssthresh ? tp->snd_ssthresh : grown;
}

static inline u32 tcp_left_out(const struct tcp_sock *tp)
{
	return tp->sacked_out + tp->lost_out;
}

static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out + tp->retrans_out - tcp_left_out(tp);
}

/* Whether the window held the sender back: a slow start may double what was used, nothing else may grow unused. */
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->is_cwnd_limited || (tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
}

static inline bool tcp_is_sack(const struct tcp_sock *tp)
{
	return tp->rx_opt.sack_ok;
}
#define tcp_is_reno(tp) (!tcp_is_sack(tp))

static inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return minmax_get(&tp->rtt_min);
}

static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier)
{
	return later > earlier ? later - earlier : 0;
}

static inline u32 tcp_time_stamp(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / (USEC_PER_SEC / TCP_TS_HZ);
}
#define tcp_time_stamp_ms(tp) tcp_time_stamp(tp)
#define tcp_time_stamp_ts(tp) tcp_time_stamp(tp)

static inline u64 tcp_clock_ns(void)
{
	return lasthop_clock;
}

static inline u64 tcp_clock_us(void)
{
	return lasthop_clock / NSEC_PER_USEC;
}

static inline bool tcp_ca_needs_ecn(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_ops->flags & TCP_CONG_NEEDS_ECN;
}

static inline void tcp_ca_event(struct sock *sk, enum tcp_ca_event event)
{
	if (inet_csk(sk)->icsk_ca_ops->cwnd_event)
		inet_csk(sk)->icsk_ca_ops->cwnd_event(sk, event);
}

static inline void tcp_set_ca_state(struct sock *sk, u8 state)
{
	if (inet_csk(sk)->icsk_ca_ops->set_state)
		inet_csk(sk)->icsk_ca_ops->set_state(sk, state);
	inet_csk(sk)->icsk_ca_state = state;
}

/* Acknowledgments are the receiver's business, which lasthop's own endpoint sees to. */
#define __tcp_send_ack(sk, number) ((void)(sk), (void)(number))
#define tcp_enter_quickack_mode(sk, number) ((void)(sk), (void)(number))

int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);
#define tcp_update_congestion_control(ops, earlier) tcp_register_congestion_control(ops)

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per_segment, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
void tcp_enter_cwr(struct sock *sk);
u32 tcp_tso_autosize(const struct sock *sk, unsigned int mss, int least);

#endif
