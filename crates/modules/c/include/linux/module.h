/* A module: its parameters, and how it begins. `KBUILD_MODNAME` and whether the file is the one asked for
 * (`LASTHOP_MAIN`) come from the command line. */
#ifndef LASTHOP_LINUX_MODULE_H
#define LASTHOP_LINUX_MODULE_H

#include <linux/jiffies.h>

struct module;
#define THIS_MODULE ((struct module *)0)
#define try_module_get(module) true
#define module_put(module) ((void)0)

#define MODULE_AUTHOR(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)
#define MODULE_VERSION(text)
#define MODULE_ALIAS(text)
#define MODULE_INFO(tag, text)
#define MODULE_SOFTDEP(text)
#define EXPORT_SYMBOL(symbol)
#define EXPORT_SYMBOL_GPL(symbol)
#define EXPORT_SYMBOL_NS_GPL(symbol, space)

#ifdef LASTHOP_MAIN
#define module_init(function)             \
	int lasthop_module_init(void)     \
	{                                 \
		return function();        \
	}
#else
/* Another module lends its functions, and does not register itself. */
#define module_init(function) static int (*const lasthop_unused_init)(void) __used = function;
#endif
#define module_exit(function) static void (*const lasthop_unused_exit)(void) __used = function;
#define late_initcall(function) module_init(function)
#define core_initcall(function) module_init(function)

struct kernel_param;

struct kernel_param_ops {
	unsigned int flags;
	int (*set)(const char *text, const struct kernel_param *parameter);
	int (*get)(char *to, const struct kernel_param *parameter);
	void (*free)(void *value);
};

struct kernel_param {
	const char *name;
	const struct kernel_param_ops *ops;
	void *arg;
	/* Of the list of parameters. */
	struct kernel_param *next;
	const char *type;
	const char *described;
};

/* Lists a parameter, or its description; called before anything else of the plug-in. */
void lasthop_parameter(struct kernel_param *parameter);
void lasthop_describe_parameter(const char *name, const char *text);

#ifdef LASTHOP_MAIN
#define module_param_cb(called, operations, value, permissions)                                  \
	static struct kernel_param lasthop_parameter_##called = { #called, operations, value };  \
	__attribute__((constructor)) static void lasthop_list_##called(void)                     \
	{                                                                                        \
		lasthop_parameter(&lasthop_parameter_##called);                                  \
	}
#define MODULE_PARM_DESC(called, text)                                                  \
	__attribute__((constructor)) static void lasthop_tell_##called(void)            \
	{                                                                               \
		lasthop_describe_parameter(#called, text);                              \
	}
#else
#define module_param_cb(called, operations, value, permissions)
#define MODULE_PARM_DESC(called, text)
#endif
#define module_param_named(called, variable, type, permissions) \
	module_param_cb(called, &param_ops_##type, &variable, permissions)
#define module_param(variable, type, permissions) module_param_named(variable, variable, type, permissions)

#define lasthop_parameter_type(type)                                                    \
	extern const struct kernel_param_ops param_ops_##type;                          \
	int param_set_##type(const char *text, const struct kernel_param *parameter);   \
	int param_get_##type(char *to, const struct kernel_param *parameter)
lasthop_parameter_type(byte);
lasthop_parameter_type(short);
lasthop_parameter_type(ushort);
lasthop_parameter_type(int);
lasthop_parameter_type(uint);
lasthop_parameter_type(long);
lasthop_parameter_type(ulong);
lasthop_parameter_type(ullong);
lasthop_parameter_type(bool);
int param_set_uint_minmax(const char *text, const struct kernel_param *parameter, unsigned int least,
			  unsigned int most);

#endif
