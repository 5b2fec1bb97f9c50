/* BPF's type information, which modules register for programs that call them: none here. */
#ifndef LASTHOP_LINUX_BTF_IDS_H
#define LASTHOP_LINUX_BTF_IDS_H

#include <linux/kernel.h>

struct btf_id_set8 {
	u32 count;
};

struct btf_kfunc_id_set {
	struct module *owner;
	const struct btf_id_set8 *set;
};

#define BTF_SET8_START(name) static const struct btf_id_set8 name __maybe_unused = { 0
#define BTF_SET8_END(name) };
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name) BTF_SET8_END(name)
#define BTF_ID_FLAGS(kind, name, ...)
#define BTF_ID(kind, name)
#define BPF_PROG_TYPE_STRUCT_OPS 27
#define register_btf_kfunc_id_set(type, set) ((void)(set), 0)

/* Programs attached to a connection, which may answer questions of modules: none. */
#define BPF_SOCK_OPS_BASE_RTT 0
#define tcp_call_bpf(sk, question, number, arguments) (-1)

#endif
