/* What the kernel takes for granted in every file: types, the macros around them, and messages. */
#ifndef LASTHOP_LINUX_KERNEL_H
#define LASTHOP_LINUX_KERNEL_H

typedef unsigned char u8, __u8;
typedef signed char s8, __s8;
typedef unsigned short u16, __u16, __be16;
typedef short s16, __s16;
typedef unsigned int u32, __u32, __be32;
typedef int s32, __s32;
typedef unsigned long long u64, __u64;
typedef long long s64, __s64;
typedef __SIZE_TYPE__ size_t;
typedef long ssize_t;
typedef _Bool bool;
typedef unsigned int gfp_t;
typedef s64 ktime_t;

#define true 1
#define false 0
#define NULL ((void *)0)

#define U8_MAX ((u8)~0U)
#define U16_MAX ((u16)~0U)
#define U32_MAX ((u32)~0U)
#define S32_MAX ((s32)(U32_MAX >> 1))
#define U64_MAX ((u64)~0ULL)
#define S64_MAX ((s64)(U64_MAX >> 1))
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX (~0U)
#define ULONG_MAX (~0UL)
#define LONG_MAX ((long)(ULONG_MAX >> 1))

#define U32_C(number) number##U
#define U64_C(number) number##ULL
#define BIT(number) (1UL << (number))
#define BIT_ULL(number) (1ULL << (number))

/* Remarks to a compiler or a checker, without a meaning here. */
#define __init
#define __exit
#define __initdata
#define __initconst
#define __read_mostly
#define __ro_after_init
#define __user
#define __rcu
#define __bpf_kfunc
#define __force
#define __percpu
#define __net_init
#define __always_unused __attribute__((unused))
#define __maybe_unused __attribute__((unused))
#define __used __attribute__((used))
#define __cold __attribute__((cold))
#define __pure __attribute__((pure))
#define __attribute_const__ __attribute__((const))
#define __must_check __attribute__((warn_unused_result))
#define __packed __attribute__((packed))
#define __aligned(bytes) __attribute__((aligned(bytes)))
#define __always_inline inline __attribute__((always_inline))
#define noinline __attribute__((noinline))
#define fallthrough __attribute__((fallthrough))
#define __printf(text, arguments) __attribute__((format(printf, text, arguments)))
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define barrier() __asm__ __volatile__("" ::: "memory")

#define READ_ONCE(value) (*(const volatile __typeof__(value) *)&(value))
#define WRITE_ONCE(place, value) (*(volatile __typeof__(place) *)&(place) = (value))
#define smp_store_release(place, value) WRITE_ONCE(*(place), value)
#define smp_load_acquire(place) READ_ONCE(*(place))
/* A connection is used by one thread at a time. */
#define cmpxchg(place, expected, value)                     \
	({                                                  \
		__typeof__(*(place)) found_ = *(place);     \
		if (found_ == (expected))                   \
			*(place) = (value);                 \
		found_;                                     \
	})
#define xchg(place, value)                              \
	({                                              \
		__typeof__(*(place)) found_ = *(place); \
		*(place) = (value);                     \
		found_;                                 \
	})

#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "BUILD_BUG_ON(" #condition ")")
#define static_assert(condition, ...) _Static_assert(condition, "" #condition)
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define offsetof(type, member) __builtin_offsetof(type, member)
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define IS_ENABLED(option) 0
#define IS_ERR_OR_NULL(pointer) (!(pointer))

/* Each argument is evaluated once, whatever it does. */
#define lasthop_choose(type_a, a, relation, type_b, b) \
	({                                             \
		type_a a_ = (a);                       \
		type_b b_ = (b);                       \
		a_ relation b_ ? a_ : b_;              \
	})
#define min(a, b) lasthop_choose(__typeof__(a), a, <, __typeof__(b), b)
#define max(a, b) lasthop_choose(__typeof__(a), a, >, __typeof__(b), b)
#define min_t(type, a, b) lasthop_choose(type, a, <, type, b)
#define max_t(type, a, b) lasthop_choose(type, a, >, type, b)
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define clamp(value, low, high) min(max(value, low), high)
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)
#define clamp_val(value, low, high) clamp_t(__typeof__(value), value, low, high)
#define min_not_zero(a, b)                                                          \
	({                                                                          \
		__typeof__(a) first_ = (a);                                         \
		__typeof__(b) second_ = (b);                                        \
		first_ == 0 ? second_ : second_ == 0 ? first_ : min(first_, second_); \
	})
#define swap(a, b)                         \
	do {                               \
		__typeof__(a) kept_ = (a); \
		(a) = (b);                 \
		(b) = kept_;               \
	} while (0)
#define abs(number)                                \
	({                                         \
		__typeof__(number) number_ = (number); \
		number_ < 0 ? -number_ : number_;  \
	})

#define DIV_ROUND_UP(number, by) (((number) + (by)-1) / (by))
#define DIV_ROUND_CLOSEST(number, by)                                                        \
	({                                                                                   \
		__typeof__(number) number_ = (number);                                       \
		__typeof__(by) by_ = (by);                                                   \
		((number_ > 0) == (by_ > 0)) ? (number_ + by_ / 2) / by_ : (number_ - by_ / 2) / by_; \
	})
#define round_up(number, power) ((((number)-1) | ((__typeof__(number))((power)-1))) + 1)
#define round_down(number, power) ((number) & ~((__typeof__(number))((power)-1)))
#define roundup(number, by) (DIV_ROUND_UP(number, by) * (by))

#define is_power_of_2(number) ((number) != 0 && ((number) & ((number)-1)) == 0)

static inline int fls(unsigned int word)
{
	return word ? 32 - __builtin_clz(word) : 0;
}

static inline int fls64(u64 word)
{
	return word ? 64 - __builtin_clzll(word) : 0;
}

static inline unsigned long __fls(unsigned long word)
{
	return 8 * sizeof(word) - 1 - __builtin_clzl(word);
}

static inline unsigned long __ffs(unsigned long word)
{
	return __builtin_ctzl(word);
}

#define ffs(word) __builtin_ffs(word)
#define ilog2(number) (fls64(number) - 1)
#define hweight32(word) __builtin_popcount(word)
#define hweight64(word) __builtin_popcountll(word)

u32 int_sqrt(unsigned long number);
#define int_sqrt64(number) int_sqrt(number)

/* Messages of the kernel's log go to standard error. */
int lasthop_print(const char *text, ...) __printf(1, 2);
#define KERN_ERR ""
#define KERN_WARNING ""
#define KERN_NOTICE ""
#define KERN_INFO ""
#define KERN_DEBUG ""
#ifndef pr_fmt
#define pr_fmt(text) text
#endif
#define printk(...) lasthop_print(__VA_ARGS__)
#define pr_err(text, ...) lasthop_print(pr_fmt(text), ##__VA_ARGS__)
#define pr_warn(text, ...) lasthop_print(pr_fmt(text), ##__VA_ARGS__)
#define pr_warn_once pr_warn
#define pr_warn_ratelimited pr_warn
#define pr_notice pr_warn
#define pr_info pr_warn
#define pr_info_once pr_warn
#define pr_debug(...) ((void)0)
#define net_warn_ratelimited pr_warn
#define net_info_ratelimited pr_warn
#define net_dbg_ratelimited pr_debug

/* The kernel continues after a warning, and a bug ends it; so does a module's run. */
void lasthop_bug(const char *file, int line, const char *condition) __attribute__((noreturn));
#define WARN_ON(condition)                                                                              \
	({                                                                                              \
		int holds_ = !!(condition);                                                             \
		if (unlikely(holds_))                                                                   \
			lasthop_print("%s:%d: WARN_ON(%s)\n", __FILE__, __LINE__, #condition);          \
		unlikely(holds_);                                                                       \
	})
#define lasthop_once(condition, report)                  \
	({                                               \
		static bool reported_;                   \
		int holds_ = !!(condition);              \
		if (unlikely(holds_ && !reported_)) {    \
			reported_ = true;                \
			report;                          \
		}                                        \
		unlikely(holds_);                        \
	})
#define WARN_ON_ONCE(condition) \
	lasthop_once(condition, lasthop_print("%s:%d: WARN_ON(%s)\n", __FILE__, __LINE__, #condition))
#define WARN_ONCE(condition, ...) lasthop_once(condition, lasthop_print(__VA_ARGS__))
#define WARN(condition, ...)                     \
	({                                       \
		int holds_ = !!(condition);      \
		if (unlikely(holds_))            \
			lasthop_print(__VA_ARGS__); \
		unlikely(holds_);                \
	})
#define BUG() lasthop_bug(__FILE__, __LINE__, "BUG")
#define BUG_ON(condition)                                         \
	do {                                                      \
		if (unlikely(condition))                          \
			lasthop_bug(__FILE__, __LINE__, #condition); \
	} while (0)

#define EPERM 1
#define ENOENT 2
#define ENOMEM 12
#define EFAULT 14
#define EEXIST 17
#define EINVAL 22
#define ERANGE 34
#define EOPNOTSUPP 95

void *memset(void *to, int value, size_t size);
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
int memcmp(const void *a, const void *b, size_t size);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t size);
size_t strlen(const char *text);
int snprintf(char *to, size_t size, const char *text, ...) __printf(3, 4);
#define scnprintf snprintf
int kstrtoint(const char *text, unsigned int base, int *value);
int kstrtouint(const char *text, unsigned int base, unsigned int *value);

/* Memory comes from the C library, whatever kind is asked for. */
#define GFP_KERNEL 0U
#define GFP_ATOMIC 0U
#define GFP_NOWAIT 0U
#define __GFP_NOWARN 0U
#define __GFP_ZERO 0U
void *calloc(size_t number, size_t size);
void free(void *memory);
static inline void *kcalloc(size_t number, size_t size, gfp_t flags)
{
	(void)flags;
	return calloc(number, size);
}
#define kzalloc(size, flags) kcalloc(1, size, flags)
#define kmalloc(size, flags) kcalloc(1, size, flags)
#define kmalloc_array(number, size, flags) kcalloc(number, size, flags)
static inline void kfree(const void *memory)
{
	free((void *)memory);
}

#endif
