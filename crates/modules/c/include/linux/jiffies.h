/* Time as a module sees it: the run's time, on a machine that booted a thousand seconds before it. */
#ifndef LASTHOP_LINUX_JIFFIES_H
#define LASTHOP_LINUX_JIFFIES_H

#include <linux/math64.h>

#define USEC_PER_MSEC 1000UL
#define USEC_PER_SEC 1000000UL
#define NSEC_PER_USEC 1000UL
#define NSEC_PER_MSEC 1000000UL
#define NSEC_PER_SEC 1000000000UL
#define MSEC_PER_SEC 1000UL

/* As in Debian's kernels. */
#define HZ 250
#define CONFIG_HZ HZ

/* A plug-in is loaded once for each run, and has a clock of its own. */
extern unsigned long jiffies;
extern u64 lasthop_clock;
#define jiffies_64 ((u64)jiffies)
#define get_jiffies_64() jiffies_64

#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_after32(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#define time_before32(a, b) time_after32(b, a)
#define time_after_eq32(a, b) ((s32)((u32)(a) - (u32)(b)) >= 0)
#define time_in_range(at, from, to) (time_after_eq(at, from) && time_before_eq(at, to))

static inline unsigned long msecs_to_jiffies(unsigned int milliseconds)
{
	return DIV_ROUND_UP((u64)milliseconds * HZ, MSEC_PER_SEC);
}

static inline unsigned long usecs_to_jiffies(unsigned int microseconds)
{
	return DIV_ROUND_UP((u64)microseconds * HZ, USEC_PER_SEC);
}

static inline unsigned int jiffies_to_msecs(unsigned long ticks)
{
	return ticks * (MSEC_PER_SEC / HZ);
}

static inline unsigned int jiffies_to_usecs(unsigned long ticks)
{
	return ticks * (USEC_PER_SEC / HZ);
}

static inline u64 ktime_get_ns(void)
{
	return lasthop_clock;
}

#define ktime_get() ((ktime_t)ktime_get_ns())
#define ktime_get_real_ns() ktime_get_ns()
#define ktime_to_ns(time) (time)
#define ktime_to_us(time) ((s64)(time) / 1000)
#define ktime_to_ms(time) ((s64)(time) / 1000000)
#define ktime_sub(a, b) ((a) - (b))
#define ktime_us_delta(a, b) ktime_to_us((a) - (b))
#define local_clock() ktime_get_ns()
#define sched_clock() ktime_get_ns()

#endif
