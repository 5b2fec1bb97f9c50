/* Random numbers, from a stream of the connection's own. */
#ifndef LASTHOP_LINUX_RANDOM_H
#define LASTHOP_LINUX_RANDOM_H

#include <linux/kernel.h>

u64 get_random_u64(void);
void get_random_bytes(void *to, size_t size);

static inline u32 get_random_u32(void)
{
	return get_random_u64() >> 32;
}

/* Evenly from 0 to `end` - 1. */
static inline u32 get_random_u32_below(u32 end)
{
	return ((u64)get_random_u32() * end) >> 32;
}

#define get_random_u8() ((u8)get_random_u32())
#define get_random_u16() ((u16)get_random_u32())
#define get_random_long() ((unsigned long)get_random_u64())
#define prandom_u32() get_random_u32()
#define prandom_u32_max(end) get_random_u32_below(end)
#define prandom_bytes(to, size) get_random_bytes(to, size)

#endif
