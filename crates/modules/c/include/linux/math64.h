/* Divisions of 64 bits, which the kernel spells out because not every processor has them. */
#ifndef LASTHOP_LINUX_MATH64_H
#define LASTHOP_LINUX_MATH64_H

#include <linux/kernel.h>

/* Leaves the quotient in `number` and gives the remainder. */
#define do_div(number, by)                             \
	({                                             \
		u32 by_ = (by);                        \
		u32 rest_ = (u64)(number) % by_;       \
		(number) = (u64)(number) / by_;        \
		rest_;                                 \
	})

#define div64_long(number, by) div64_s64(number, by)
#define div64_ul(number, by) div64_u64(number, by)

static inline u64 div_u64(u64 number, u32 by)
{
	return number / by;
}

static inline s64 div_s64(s64 number, s32 by)
{
	return number / by;
}

static inline u64 div64_u64(u64 number, u64 by)
{
	return number / by;
}

static inline s64 div64_s64(s64 number, s64 by)
{
	return number / by;
}

static inline u64 div_u64_rem(u64 number, u32 by, u32 *rest)
{
	*rest = number % by;
	return number / by;
}

static inline u64 div64_u64_rem(u64 number, u64 by, u64 *rest)
{
	*rest = number % by;
	return number / by;
}

static inline u64 mul_u64_u32_div(u64 number, u32 times, u32 by)
{
	return (u64)((unsigned __int128)number * times / by);
}

static inline u64 mul_u64_u64_div_u64(u64 number, u64 times, u64 by)
{
	return (u64)((unsigned __int128)number * times / by);
}

static inline u64 mul_u64_u64_shr(u64 number, u64 times, unsigned int shift)
{
	return (u64)(((unsigned __int128)number * times) >> shift);
}

static inline u64 mul_u64_u32_shr(u64 number, u32 times, unsigned int shift)
{
	return mul_u64_u64_shr(number, times, shift);
}

#endif
