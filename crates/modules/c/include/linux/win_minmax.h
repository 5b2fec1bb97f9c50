/* The largest or smallest value of a sliding window of time, by its three best measurements (Kathleen Nichols'
 * algorithm): the best, the best since that, and the best since the second. */
#ifndef LASTHOP_LINUX_WIN_MINMAX_H
#define LASTHOP_LINUX_WIN_MINMAX_H

#include <linux/kernel.h>

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

static inline u32 minmax_get(const struct minmax *kept)
{
	return kept->s[0].v;
}

static inline u32 minmax_reset(struct minmax *kept, u32 time, u32 measured)
{
	const struct minmax_sample sample = { time, measured };

	for (int place = 0; place < 3; place++)
		kept->s[place] = sample;
	return measured;
}

u32 minmax_running_max(struct minmax *kept, u32 window, u32 time, u32 measured);
u32 minmax_running_min(struct minmax *kept, u32 window, u32 time, u32 measured);

#endif
