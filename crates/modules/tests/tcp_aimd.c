/* AIMD as lasthop's own: a segment more for as many ACKs as the window has segments, a part less after a loss.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <linux/module.h>
#include <net/tcp.h>

struct aimd {
	u32 acks;
};

static int kept __read_mostly = 512;
module_param(kept, int, 0644);
MODULE_PARM_DESC(kept, "part of the window that a loss leaves, in 1/1024");

static bool fast __read_mostly;
module_param(fast, bool, 0644);

static void aimd_init(struct sock *sk)
{
	struct aimd *ca = inet_csk_ca(sk);

	ca->acks = 0;
}

static u32 aimd_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * kept / 1024, 2U);
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct aimd *ca = inet_csk_ca(sk);

	if (tcp_in_slow_start(tp) || fast) {
		tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) + 1);
		return;
	}
	if (++ca->acks >= tcp_snd_cwnd(tp)) {
		ca->acks = 0;
		tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) + 1);
	}
}

static void aimd_set_state(struct sock *sk, u8 new_state)
{
	struct aimd *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss)
		ca->acks = 0;
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.init		= aimd_init,
	.ssthresh	= aimd_ssthresh,
	.cong_avoid	= aimd_cong_avoid,
	.set_state	= aimd_set_state,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "aimd",
};

static int __init aimd_register(void)
{
	BUILD_BUG_ON(sizeof(struct aimd) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);

MODULE_AUTHOR("lasthop");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("AIMD");
