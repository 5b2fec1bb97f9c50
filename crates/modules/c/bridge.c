/* The host of a module: it keeps the fields of a connection up to date, and calls the module as Linux' TCP would.
 *
 * Every event of the endpoint is one call of lasthop_event(). The order of the calls is that in which Linux handles an
 * ACK: in_ack_event and pkts_acked when data is acknowledged, ssthresh and set_state when a loss is found, and then
 * cong_avoid or cong_control. */
#include <net/tcp.h>
#include <setjmp.h>

#include "bridge.h"

#define EXPORTED __attribute__((visibility("default")))

struct lasthop_connection {
	struct tcp_sock tp;
	u64 random;
	/* What was delivered and marked so far, in bytes. */
	u64 delivered;
	u64 marked;
	/* 2^64 / mss_cache, rounded up: a number of bytes is divided by a product, which takes a tenth of the time. */
	u64 per_byte;
	u32 initial_cwnd;
	u32 first;
	u64 last_sent;
	bool began;
	bool initialized;
	/* The present ACK was reported to the module as one of new data. */
	bool observed;
};

#define BOOTED_BEFORE (1000 * NSEC_PER_SEC)
#define INTERVAL_OF_MIN_RTT (300 * HZ)

unsigned long jiffies = BOOTED_BEFORE / (NSEC_PER_SEC / HZ);
u64 lasthop_clock = BOOTED_BEFORE;

static struct tcp_congestion_ops *registered;
static struct kernel_param *parameters;
static struct lasthop_connection *current;
static jmp_buf before_call;
static struct net network = { { 1, 3, 2, 200, 120, 300 } };
static char bug[160];

/* Of the kernel */

struct net *lasthop_net(void)
{
	return &network;
}

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (!ops->ssthresh || !ops->undo_cwnd || !(ops->cong_avoid || ops->cong_control))
		return -EINVAL;
	registered = ops;
	return 0;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
	(void)ops;
}

/* RFC 5681 equation 2, up to the threshold; gives the rest, for congestion avoidance. */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	const u32 room = tp->snd_ssthresh > tp->snd_cwnd ? tp->snd_ssthresh - tp->snd_cwnd : 0;
	const u32 taken = min(room, acked);

	tp->snd_cwnd = min(tp->snd_cwnd + taken, tp->snd_cwnd_clamp);
	return acked - taken;
}

/* A segment more for each `per_segment` acknowledged ones. A count that was full before, for a larger number, gives one
 * segment and begins anew. */
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per_segment, u32 acked)
{
	u32 more = 0;

	if (tp->snd_cwnd_cnt >= per_segment) {
		tp->snd_cwnd_cnt = 0;
		more = 1;
	}
	tp->snd_cwnd_cnt += acked;
	more += tp->snd_cwnd_cnt / per_segment;
	tp->snd_cwnd_cnt %= per_segment;
	tp->snd_cwnd = min(tp->snd_cwnd + more, tp->snd_cwnd_clamp);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

u32 tcp_tso_autosize(const struct sock *sk, unsigned int mss, int least)
{
	const u64 bytes = min_t(u64, sk->sk_pacing_rate >> sk->sk_pacing_shift,
				sk->sk_gso_max_size - 1 - MAX_TCP_HEADER);

	return max_t(u32, bytes / mss, least);
}

/* Keeps the three best measurements in order of time. `better`: whether a measurement takes the place of another. */
static u32 running(struct minmax *kept, u32 window, u32 time, u32 measured, bool (*better)(u32, u32))
{
	const struct minmax_sample sample = { time, measured };
	struct minmax_sample *s = kept->s;

	/* The best of all, or the window has passed without any. */
	if (better(measured, s[0].v) || time - s[2].t > window)
		return minmax_reset(kept, time, measured);
	if (better(measured, s[1].v))
		s[1] = s[2] = sample;
	else if (better(measured, s[2].v))
		s[2] = sample;
	if (time - s[0].t > window) {
		/* The best is too old, and perhaps the second too. */
		for (int left = 2; left > 0 && time - s[0].t > window; left--) {
			s[0] = s[1];
			s[1] = s[2];
			s[2] = sample;
		}
	} else if (s[1].t == s[0].t && time - s[1].t > window / 4) {
		/* A quarter without a second best, or half without a third: this one. */
		s[1] = s[2] = sample;
	} else if (s[2].t == s[1].t && time - s[2].t > window / 2) {
		s[2] = sample;
	}
	return s[0].v;
}

static bool no_smaller(u32 a, u32 b)
{
	return a >= b;
}

static bool no_larger(u32 a, u32 b)
{
	return a <= b;
}

u32 minmax_running_max(struct minmax *kept, u32 window, u32 time, u32 measured)
{
	return running(kept, window, time, measured, no_smaller);
}

u32 minmax_running_min(struct minmax *kept, u32 window, u32 time, u32 measured)
{
	return running(kept, window, time, measured, no_larger);
}

u32 int_sqrt(unsigned long number)
{
	u32 root = 0;

	for (u32 bit = 1U << 31; bit; bit >>= 1)
		if ((u64)(root | bit) * (root | bit) <= number)
			root |= bit;
	return root;
}

/* SplitMix64 (Steele, Lea and Flood 2014). */
u64 get_random_u64(void)
{
	u64 mixed = current->random += 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
	return mixed ^ (mixed >> 31);
}

void get_random_bytes(void *to, size_t size)
{
	for (u8 *byte = to; size > 0; size--)
		*byte++ = get_random_u32();
}

int vsnprintf(char *to, size_t size, const char *text, __builtin_va_list arguments);
int dprintf(int file, const char *text, ...);

int lasthop_print(const char *text, ...)
{
	char line[256];
	__builtin_va_list arguments;

	__builtin_va_start(arguments, text);
	vsnprintf(line, sizeof(line), text, arguments);
	__builtin_va_end(arguments);
	return dprintf(2, "%s%s", line, line[0] && line[strlen(line) - 1] == '\n' ? "" : "\n");
}

void lasthop_bug(const char *file, int line, const char *condition)
{
	snprintf(bug, sizeof(bug), "%s:%d: BUG_ON(%s)", file, line, condition);
	longjmp(before_call, -1);
}

/* Parameters */

void lasthop_parameter(struct kernel_param *parameter)
{
	parameter->next = parameters;
	parameters = parameter;
}

struct description {
	const char *name;
	const char *text;
};
static struct description descriptions[64];
static unsigned int described;

void lasthop_describe_parameter(const char *name, const char *text)
{
	if (described < ARRAY_SIZE(descriptions))
		descriptions[described++] = (struct description){ name, text };
}

long long strtoll(const char *text, char **end, int base);

/* A whole number within limits, and nothing after it. */
static int whole(const char *text, s64 least, s64 most, s64 *value)
{
	char *end;

	*value = strtoll(text, &end, 0);
	if (end == text || (*end && *end != '\n'))
		return -EINVAL;
	return *value < least || *value > most ? -ERANGE : 0;
}

int kstrtoint(const char *text, unsigned int base, int *value)
{
	s64 read;
	const int failed = whole(text, INT_MIN, INT_MAX, &read);

	(void)base;
	if (!failed)
		*value = read;
	return failed;
}

int kstrtouint(const char *text, unsigned int base, unsigned int *value)
{
	s64 read;
	const int failed = whole(text, 0, UINT_MAX, &read);

	(void)base;
	if (!failed)
		*value = read;
	return failed;
}

#define PARAMETER(called, type, least, most)                                          \
	int param_set_##called(const char *text, const struct kernel_param *parameter) \
	{                                                                             \
		s64 value;                                                            \
		const int failed = whole(text, least, most, &value);                  \
		if (!failed)                                                          \
			*(type *)parameter->arg = value;                              \
		return failed;                                                        \
	}                                                                             \
	int param_get_##called(char *to, const struct kernel_param *parameter)        \
	{                                                                             \
		return snprintf(to, 32, "%lld", (s64)*(type *)parameter->arg);        \
	}                                                                             \
	const struct kernel_param_ops param_ops_##called = { .set = param_set_##called, .get = param_get_##called }
PARAMETER(byte, u8, 0, U8_MAX);
PARAMETER(short, s16, -32768, 32767);
PARAMETER(ushort, u16, 0, U16_MAX);
PARAMETER(int, int, INT_MIN, INT_MAX);
PARAMETER(uint, unsigned int, 0, UINT_MAX);
PARAMETER(long, long, -S64_MAX - 1, S64_MAX);
PARAMETER(ulong, unsigned long, 0, S64_MAX);
PARAMETER(ullong, u64, 0, S64_MAX);

int param_set_bool(const char *text, const struct kernel_param *parameter)
{
	const bool is_true = text[0] == '1' || text[0] == 'y' || text[0] == 'Y';

	if (!is_true && text[0] != '0' && text[0] != 'n' && text[0] != 'N')
		return -EINVAL;
	*(bool *)parameter->arg = is_true;
	return 0;
}

int param_get_bool(char *to, const struct kernel_param *parameter)
{
	return snprintf(to, 32, "%c", *(bool *)parameter->arg ? 'Y' : 'N');
}

const struct kernel_param_ops param_ops_bool = { .set = param_set_bool, .get = param_get_bool };

int param_set_uint_minmax(const char *text, const struct kernel_param *parameter, unsigned int least,
			  unsigned int most)
{
	s64 value;
	const int failed = whole(text, least, most, &value);

	if (!failed)
		*(unsigned int *)parameter->arg = value;
	return failed;
}

/* The fields of a connection */

/* Exact below 2^64 / mss_cache bytes (Granlund and Montgomery 1994, Division by invariant integers). */
static u32 segments_of(const struct lasthop_connection *c, u64 bytes)
{
#ifdef __SIZEOF_INT128__
	if (c->per_byte)
		return (unsigned __int128)bytes * c->per_byte >> 64;
#endif
	return bytes / c->tp.mss_cache;
}

static u32 segments_begun(const struct lasthop_connection *c, u64 bytes)
{
	return segments_of(c, bytes + c->tp.mss_cache - 1);
}

static void set_clock(struct lasthop_connection *c, u64 now)
{
	current = c;
	/* The events of an ACK have one time. */
	if (lasthop_clock == now + BOOTED_BEFORE && c->tp.tcp_clock_cache == lasthop_clock)
		return;
	lasthop_clock = now + BOOTED_BEFORE;
	jiffies = lasthop_clock / (NSEC_PER_SEC / HZ);
	c->tp.tcp_clock_cache = c->tp.tcp_wstamp_ns = lasthop_clock;
	c->tp.tcp_mstamp = lasthop_clock / NSEC_PER_USEC;
}

/* RFC 6298 §2, in eighths of a microsecond. */
static void on_round_trip(struct lasthop_connection *c, s64 rtt)
{
	const u32 microseconds = max_t(u32, rtt / NSEC_PER_USEC, 1);

	if (c->tp.srtt_us)
		c->tp.srtt_us += microseconds - (c->tp.srtt_us >> 3);
	else
		c->tp.srtt_us = microseconds << 3;
	minmax_running_min(&c->tp.rtt_min, INTERVAL_OF_MIN_RTT, tcp_jiffies32, microseconds);
}

/* Linux keeps a rate for every sender, whether or not it paces: its window over a round trip, doubled in slow start up
 * to half of the threshold, and a fifth more from there. HyStart takes the host's own delay of segments from it. It is
 * that of the ACK before, as in Linux, where a module sees an ACK before the rate is set anew. */
static void set_pacing_rate(struct tcp_sock *tp)
{
	struct sock *sk = &tp->inet_conn.sk;
	const bool is_early = tp->snd_cwnd < tp->snd_ssthresh / 2;
	const u64 percent = is_early ? network.ipv4.sysctl_tcp_pacing_ss_ratio : network.ipv4.sysctl_tcp_pacing_ca_ratio;
	const u64 window = (u64)tp->mss_cache * max(tp->snd_cwnd, tp->packets_out);

	if (tp->srtt_us)
		sk->sk_pacing_rate = min_t(u64, window * percent * (8 * USEC_PER_SEC / 100) / tp->srtt_us,
					   sk->sk_max_pacing_rate);
}

static void begin(struct lasthop_connection *c, const struct lasthop_event *e)
{
	struct tcp_sock *tp = &c->tp;
	struct inet_connection_sock *icsk = &tp->inet_conn;

	memset(tp, 0, sizeof(*tp));
	tp->mss_cache = tp->advmss = e->size;
	c->per_byte = e->size > 1 ? U64_MAX / e->size + 1 : 0;
	tp->snd_cwnd = c->initial_cwnd = max(segments_of(c, e->cwnd), 1U);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd_clamp = ~0U;
	tp->reordering = network.ipv4.sysctl_tcp_reordering;
	tp->rx_opt.sack_ok = tp->rx_opt.tstamp_ok = 1;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, ~0U);
	icsk->icsk_ca_ops = registered;
	icsk->icsk_rto = HZ;
	icsk->sk.sk_state = TCP_ESTABLISHED;
	icsk->sk.sk_pacing_shift = 10;
	icsk->sk.sk_gso_max_size = GSO_MAX_SIZE;
	icsk->sk.sk_pacing_rate = icsk->sk.sk_max_pacing_rate = ULONG_MAX;
	/* A host whose congestion control needs ECN asks for it. */
	tp->ecn_flags = registered->flags & TCP_CONG_NEEDS_ECN ? TCP_ECN_OK : 0;
	c->random = e->seed;
}

/* The module's part of an established connection: before its first event that has a time. */
static void initialize(struct lasthop_connection *c)
{
	struct inet_connection_sock *icsk = &c->tp.inet_conn;

	c->initialized = true;
	icsk->icsk_ca_initialized = 1;
	if (icsk->icsk_ca_ops->init)
		icsk->icsk_ca_ops->init(&icsk->sk);
	if (c->tp.ecn_flags & TCP_ECN_OK)
		INET_ECN_xmit(&icsk->sk);
}

/* Numbers of segments that are not acknowledged, and of those that SACKs have reported: what was delivered and is not
 * acknowledged. */
static void set_outstanding(struct lasthop_connection *c)
{
	struct tcp_sock *tp = &c->tp;
	const s32 sacked = (u32)c->delivered - (tp->snd_una - c->first);

	tp->packets_out = segments_begun(c, tp->snd_nxt - tp->snd_una);
	tp->sacked_out = min(segments_begun(c, max(sacked, 0)), tp->packets_out);
}

/* Lost segments are those that are missing from RFC 6675's pipe; what it has besides was sent again. */
static void set_in_flight(struct lasthop_connection *c, u64 in_flight)
{
	struct tcp_sock *tp = &c->tp;
	const s32 missing = tp->packets_out - tp->sacked_out - segments_begun(c, in_flight);

	tp->lost_out = max(missing, 0);
	tp->retrans_out = max(-missing, 0);
}

/* Events */

/* What Linux does once where a window is reduced, before the state changes. */
static void reduce(struct lasthop_connection *c)
{
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = &tp->inet_conn.sk;

	tp->prior_ssthresh = tcp_current_ssthresh(sk);
	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_cwnd_cnt = 0;
	tp->high_seq = tp->snd_nxt;
	tp->undo_marker = tp->snd_una;
	tp->snd_ssthresh = tp->inet_conn.icsk_ca_ops->ssthresh(sk);
}

/* Whether the present reduction covers a further sign of congestion. */
static bool is_reduced(const struct lasthop_connection *c)
{
	return c->tp.inet_conn.icsk_ca_state > TCP_CA_Disorder && before(c->tp.snd_una, c->tp.high_seq);
}

/* Recovery sets the window, unless the module has cong_control. */
static void take_threshold(struct tcp_sock *tp)
{
	if (!tp->inet_conn.icsk_ca_ops->cong_control)
		tp->snd_cwnd = max(min(tp->snd_cwnd, tp->snd_ssthresh), 1U);
}

void tcp_enter_cwr(struct sock *sk)
{
	struct lasthop_connection *c = (struct lasthop_connection *)sk;

	if (inet_csk(sk)->icsk_ca_state < TCP_CA_CWR) {
		reduce(c);
		tcp_set_ca_state(sk, TCP_CA_CWR);
		take_threshold(&c->tp);
	}
}

static void on_loss(struct lasthop_connection *c)
{
	struct sock *sk = &c->tp.inet_conn.sk;

	if (!is_reduced(c))
		reduce(c);
	if (inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		tcp_set_ca_state(sk, TCP_CA_Recovery);
	take_threshold(&c->tp);
}

static void on_timeout(struct lasthop_connection *c, const struct lasthop_event *e)
{
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = &tp->inet_conn.sk;
	const bool in_loss = inet_csk(sk)->icsk_ca_state == TCP_CA_Loss;

	if (!is_reduced(c) || (in_loss && !e->repeated)) {
		reduce(c);
		tcp_ca_event(sk, CA_EVENT_LOSS);
	}
	inet_csk(sk)->icsk_retransmits = e->repeated ? inet_csk(sk)->icsk_retransmits + 1 : 1;
	tp->snd_cwnd = 1;
	tp->snd_cwnd_cnt = 0;
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tcp_set_ca_state(sk, TCP_CA_Loss);
	tp->high_seq = tp->snd_nxt;
	/* Whatever was in the network counts as lost. */
	tp->lost_out = tp->packets_out - tp->sacked_out;
	tp->retrans_out = 0;
}

/* The module's view of an ACK that recovery has not judged. */
static void report_ack(struct lasthop_connection *c, const struct lasthop_event *e, u32 flags)
{
	struct sock *sk = &c->tp.inet_conn.sk;
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;

	if (ops->in_ack_event)
		ops->in_ack_event(sk, flags | (e->marked ? CA_ACK_ECE : 0));
	if (ops->pkts_acked) {
		const struct ack_sample sample = {
			.pkts_acked = e->segments,
			.rtt_us = e->newest_rtt < 0 ? -1 : (s32)(e->newest_rtt / NSEC_PER_USEC),
			.in_flight = e->flight,
		};
		ops->pkts_acked(sk, &sample);
	}
}

static void on_new_ack(struct lasthop_connection *c, const struct lasthop_event *e)
{
	struct tcp_sock *tp = &c->tp;
	const bool ordinary = tp->inet_conn.icsk_ca_state == TCP_CA_Open && !e->marked;

	if (!c->began) {
		/* Until now sequence numbers counted from zero. */
		c->began = true;
		c->first = e->una - e->size;
		tp->high_seq += c->first;
		tp->undo_marker += c->first;
		tp->cwnd_usage_seq += c->first;
	}
	if (!tp->inet_conn.icsk_ca_ops->cong_control)
		set_pacing_rate(tp);
	tp->snd_una = e->una;
	tp->snd_nxt = e->nxt;
	tp->bytes_acked += e->size;
	if (e->rtt >= 0)
		on_round_trip(c, e->rtt);
	if (e->has_one_way) {
		tp->rx_opt.rcv_tsecr = tcp_time_stamp(tp) - (e->rtt > 0 ? e->rtt / NSEC_PER_MSEC : 0);
		tp->rx_opt.rcv_tsval = tp->rx_opt.rcv_tsecr + e->one_way;
	}
	set_outstanding(c);
	report_ack(c, e, ordinary ? CA_ACK_WIN_UPDATE : CA_ACK_SLOWPATH | CA_ACK_WIN_UPDATE);
	c->observed = true;
}

static void grow(struct lasthop_connection *c, const struct lasthop_event *e)
{
	struct sock *sk = &c->tp.inet_conn.sk;
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;

	if (!ops->cong_control && !tcp_in_cwnd_reduction(sk)) {
		ops->cong_avoid(sk, e->una, segments_begun(c, e->size));
		c->tp.snd_cwnd_stamp = tcp_jiffies32;
	}
}

static void follow(struct lasthop_connection *c, u32 phase)
{
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = &tp->inet_conn.sk;
	const u8 present = tp->inet_conn.icsk_ca_state;
	u8 state = tp->sacked_out ? TCP_CA_Disorder : TCP_CA_Open;

	if (phase == LASTHOP_FAST_RECOVERY)
		state = TCP_CA_Recovery;
	else if (phase == LASTHOP_AFTER_TIMEOUT)
		state = TCP_CA_Loss;
	else if (present == TCP_CA_CWR && before(tp->snd_una, tp->high_seq))
		state = TCP_CA_CWR;
	if (state == present)
		return;
	if (present == TCP_CA_CWR || (present == TCP_CA_Recovery && state < TCP_CA_CWR))
		tcp_ca_event(sk, CA_EVENT_COMPLETE_CWR);
	tcp_set_ca_state(sk, state);
}

static void call_cong_control(struct lasthop_connection *c, const struct lasthop_event *e)
{
	struct sock *sk = &c->tp.inet_conn.sk;
	const bool known = e->has_rate && e->rate_interval > 0;
	const struct rate_sample rs = {
		.prior_mstamp = known ? c->tp.tcp_mstamp - e->rate_interval / NSEC_PER_USEC : 0,
		.prior_delivered = segments_of(c, e->rate_prior_delivered),
		.delivered = known ? (s32)(c->tp.delivered - segments_of(c, e->rate_prior_delivered)) : -1,
		.interval_us = known ? (long)(e->rate_interval / NSEC_PER_USEC) : -1,
		.rtt_us = e->rtt < 0 ? -1 : (long)(e->rtt / NSEC_PER_USEC),
		.losses = segments_begun(c, e->newly_lost),
		.acked_sacked = segments_begun(c, e->size),
		.prior_in_flight = segments_begun(c, e->prior_in_flight),
		.last_end_seq = c->tp.snd_una,
		.is_app_limited = e->rate_limited,
		.is_retrans = e->rate_retransmitted,
		.is_ack_delayed = e->maybe_delayed,
	};

#if LASTHOP_KERNEL >= KERNEL_VERSION(6, 10, 0)
	inet_csk(sk)->icsk_ca_ops->cong_control(sk, c->tp.snd_una, 0, &rs);
#else
	inet_csk(sk)->icsk_ca_ops->cong_control(sk, &rs);
#endif
}

static void on_delivery(struct lasthop_connection *c, const struct lasthop_event *e)
{
	struct tcp_sock *tp = &c->tp;

	if (!c->observed) {
		if (e->rtt >= 0)
			on_round_trip(c, e->rtt);
		report_ack(c, e, CA_ACK_SLOWPATH);
	}
	c->observed = false;
	c->delivered = e->delivered;
	c->marked += e->marked;
	tp->delivered = segments_of(c, e->delivered);
	tp->delivered_ce = segments_of(c, c->marked);
	tp->lost = segments_begun(c, e->lost);
	if (e->size)
		tp->delivered_mstamp = tp->tcp_mstamp;
	set_outstanding(c);
	set_in_flight(c, e->in_flight);
	tp->app_limited = e->application_limited ? max(tp->delivered + tcp_packets_in_flight(tp), 1U) : 0;
	if (e->phase == LASTHOP_OPEN)
		tp->inet_conn.icsk_retransmits = 0;
	follow(c, e->phase);
	if (tp->inet_conn.icsk_ca_ops->cong_control)
		call_cong_control(c, e);
}

/* After an idle time a window is halved for each timer's length of it, down to the first one (RFC 2861). */
static void restart(struct lasthop_connection *c, u64 idle, u64 rto)
{
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = &tp->inet_conn.sk;
	const u32 least = min(c->initial_cwnd, tp->snd_cwnd);

	tcp_ca_event(sk, CA_EVENT_CWND_RESTART);
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
	for (; idle > rto && tp->snd_cwnd > least; idle -= rto)
		tp->snd_cwnd /= 2;
	tp->snd_cwnd = max(tp->snd_cwnd, least);
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->snd_cwnd_used = 0;
}

/* The largest flight of a round trip shows whether the window was used. */
static void judge_use(struct tcp_sock *tp)
{
	const bool is_limited = tcp_packets_in_flight(tp) >= tp->snd_cwnd;

	if (is_limited || !before(tp->snd_una, tp->cwnd_usage_seq) ||
	    (!tp->is_cwnd_limited && tp->packets_out > tp->max_packets_out)) {
		tp->is_cwnd_limited = is_limited;
		tp->max_packets_out = tp->packets_out;
		tp->cwnd_usage_seq = tp->snd_nxt;
	}
}

/* Segments of new data have been sent, the last at this time of the run, and make this flight. */
static void have_sent(struct lasthop_connection *c, u64 flight, u64 at, s64 rto)
{
	struct tcp_sock *tp = &c->tp;

	tp->packets_out = segments_begun(c, flight);
	tp->snd_nxt = tp->snd_una + flight;
	c->last_sent = at + BOOTED_BEFORE;
	tp->lsndtime = c->last_sent / (NSEC_PER_SEC / HZ);
	tp->inet_conn.icsk_rto = max_t(u32, rto / (NSEC_PER_SEC / HZ), 1);
	judge_use(tp);
}

/* A segment that is sent again, or the first in flight: others are reported with the event that follows them. */
static void on_sent(struct lasthop_connection *c, const struct lasthop_event *e)
{
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = &tp->inet_conn.sk;
	const bool first = !e->retransmission && e->flight == e->size;

	if (first && c->last_sent) {
		const u64 idle = lasthop_clock - c->last_sent;

		if (idle > (u64)e->rto && !inet_csk(sk)->icsk_ca_ops->cong_control)
			restart(c, idle, e->rto);
	}
	if (e->retransmission) {
		tp->retrans_out++;
		c->last_sent = lasthop_clock;
		tp->lsndtime = tcp_jiffies32;
		judge_use(tp);
		return;
	}
	if (first) {
		tp->packets_out = tp->sacked_out = tp->lost_out = tp->retrans_out = 0;
		tp->app_limited = e->application_limited ? max(tp->delivered, 1U) : 0;
		tcp_ca_event(sk, CA_EVENT_TX_START);
	}
	have_sent(c, e->flight, e->now, e->rto);
}

/* Both windows come from outside. A window that rises in the course of a reduction is its undoing, of which the module
 * has the last word. */
static void on_restore(struct lasthop_connection *c, const struct lasthop_event *e)
{
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = &tp->inet_conn.sk;
	u32 restored;
	bool undoes;

	/* With a size the segments have changed, and the bytes of the windows have not. */
	if (e->size)
		tp->mss_cache = e->size;
	restored = max(segments_of(c, e->cwnd), 1U);
	undoes = !e->size && restored > tp->snd_cwnd && tp->inet_conn.icsk_ca_state >= TCP_CA_CWR;
	tp->snd_cwnd = undoes ? inet_csk(sk)->icsk_ca_ops->undo_cwnd(sk) : restored;
	tp->snd_ssthresh = e->ssthresh == U64_MAX ? TCP_INFINITE_SSTHRESH : segments_of(c, e->ssthresh);
}

static void dispatch(struct lasthop_connection *c, const struct lasthop_event *e)
{
	if (e->kind == LASTHOP_START)
		return begin(c, e);
	if (e->kind == LASTHOP_RELEASE) {
		if (c->initialized && c->tp.inet_conn.icsk_ca_ops->release)
			c->tp.inet_conn.icsk_ca_ops->release(&c->tp.inet_conn.sk);
		return;
	}
	if (e->sent_flight)
		have_sent(c, e->sent_flight, e->sent_at, e->rto);
	/* Some events have no time of their own, and happen at that of the last. */
	set_clock(c, e->now ? e->now : e->sent_flight ? e->sent_at : lasthop_clock - BOOTED_BEFORE);
	if (!c->initialized && e->now)
		initialize(c);
	switch (e->kind) {
	case LASTHOP_HANDSHAKE:
		return on_round_trip(c, e->rtt);
	case LASTHOP_OBSERVE:
		return on_new_ack(c, e);
	case LASTHOP_ACK:
		return grow(c, e);
	case LASTHOP_DELIVERY:
		return on_delivery(c, e);
	case LASTHOP_SENT:
		return on_sent(c, e);
	case LASTHOP_LOSS:
		return on_loss(c);
	case LASTHOP_MARK:
		return tcp_enter_cwr(&c->tp.inet_conn.sk);
	case LASTHOP_TIMEOUT:
		return on_timeout(c, e);
	case LASTHOP_RECOVERED:
		c->tp.snd_cwnd = max(segments_of(c, e->cwnd), 1U);
		return;
	case LASTHOP_RESTORE:
		return on_restore(c, e);
	}
}

static void answer(const struct lasthop_connection *c, struct lasthop_answer *a)
{
	const struct sock *sk = &c->tp.inet_conn.sk;
	const struct tcp_congestion_ops *ops = c->tp.inet_conn.icsk_ca_ops;

	a->cwnd = min(c->tp.snd_cwnd, c->tp.snd_cwnd_clamp);
	a->ssthresh = c->tp.snd_ssthresh;
	a->state = c->tp.inet_conn.icsk_ca_state;
	if (ops->cong_control && sk->sk_pacing_status != SK_PACING_NONE) {
		struct sock *asked = (struct sock *)sk;

		a->pacing_rate = min(sk->sk_pacing_rate, sk->sk_max_pacing_rate);
		a->quantum = ops->tso_segs ? ops->tso_segs(asked, c->tp.mss_cache) :
					     tcp_tso_autosize(sk, c->tp.mss_cache,
							      ops->min_tso_segs ? ops->min_tso_segs(asked) : 2);
	} else {
		a->pacing_rate = U64_MAX;
		a->quantum = 1;
	}
}

/* What lasthop calls */

EXPORTED u32 lasthop_bridge(void)
{
	return LASTHOP_BRIDGE;
}

EXPORTED size_t lasthop_connection_size(void)
{
	return sizeof(struct lasthop_connection);
}

/* Handles an event. Gives 0, the number of the signal that ended the call, or -1 for a BUG_ON of the module. */
EXPORTED int lasthop_event(struct lasthop_connection *c, const struct lasthop_event *e, struct lasthop_answer *a)
{
	const int ended = _setjmp(before_call);

	if (ended)
		return ended;
	dispatch(c, e);
	if (e->kind != LASTHOP_RELEASE)
		answer(c, a);
	return 0;
}

/* Leaves the module that is being called, from the handler of a signal. */
EXPORTED void lasthop_escape(int why)
{
	longjmp(before_call, why);
}

/* The condition of the BUG_ON that ended a call. */
EXPORTED const char *lasthop_bug_text(void)
{
	return bug;
}

int lasthop_module_init(void);

/* Registers the module; gives 0, an error number below it, the number of a signal, or 1 if it registers nothing. */
EXPORTED int lasthop_load(void)
{
	const int ended = _setjmp(before_call);
	int failed;

	if (ended)
		return ended;
	failed = lasthop_module_init();
	return failed ? failed : registered ? 0 : 1;
}

EXPORTED const char *lasthop_name(void)
{
	return registered->name;
}

EXPORTED int lasthop_has_cong_control(void)
{
	return registered->cong_control != NULL;
}

/* The parameter at a place of the list, or none. */
static struct kernel_param *parameter_at(unsigned int place)
{
	struct kernel_param *parameter = parameters;

	for (; parameter && place > 0; place--)
		parameter = parameter->next;
	return parameter;
}

EXPORTED const char *lasthop_parameter_name(unsigned int place)
{
	const struct kernel_param *parameter = parameter_at(place);

	return parameter ? parameter->name : NULL;
}

EXPORTED const char *lasthop_parameter_text(unsigned int place)
{
	const struct kernel_param *parameter = parameter_at(place);

	for (unsigned int entry = 0; parameter && entry < described; entry++)
		if (!strcmp(descriptions[entry].name, parameter->name))
			return descriptions[entry].text;
	return "";
}

EXPORTED int lasthop_parameter_get(unsigned int place, char *to)
{
	const struct kernel_param *parameter = parameter_at(place);

	return parameter->ops->get ? parameter->ops->get(to, parameter) : 0;
}

EXPORTED int lasthop_parameter_set(unsigned int place, const char *text)
{
	const struct kernel_param *parameter = parameter_at(place);

	return parameter->ops->set(text, parameter);
}

/* The algorithm's own state: where it begins; its size is LASTHOP_PRIVATE of src/interface.rs. */
EXPORTED const void *lasthop_private(const struct lasthop_connection *c)
{
	return c->tp.inet_conn.icsk_ca_priv;
}
