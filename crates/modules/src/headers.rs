//! The headers of modules and the bridge, as files for the compiler.

use std::fs;
use std::io;
use std::path::Path;

/// Writes all headers and the bridge into a folder.
pub(crate) fn write(folder: &Path) -> io::Result<()> {
    for (name, text) in FILES {
        put(folder, name, text)?;
    }
    for name in ALIASES {
        put(&folder.join("include"), name, "#include <net/tcp.h>\n")?;
    }
    Ok(())
}

fn put(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let file = folder.join(name);
    fs::create_dir_all(file.parent().unwrap_or(folder))?;
    fs::write(file, text)
}

macro_rules! files {
    ($($name:literal,)+) => {
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../c/", $name))),)+];
    };
}

files! {
    "bridge.c",
    "bridge.h",
    "include/linux/btf_ids.h",
    "include/linux/inet_diag.h",
    "include/linux/jiffies.h",
    "include/linux/kernel.h",
    "include/linux/math64.h",
    "include/linux/module.h",
    "include/linux/random.h",
    "include/linux/win_minmax.h",
    "include/net/tcp.h",
}

/// Headers whose contents the others have.
const ALIASES: &[&str] = &[
    "asm/div64.h",
    "asm/unaligned.h",
    "linux/bitops.h",
    "linux/bpf.h",
    "linux/bpf_verifier.h",
    "linux/btf.h",
    "linux/bug.h",
    "linux/build_bug.h",
    "linux/compiler.h",
    "linux/errno.h",
    "linux/filter.h",
    "linux/inet.h",
    "linux/init.h",
    "linux/ktime.h",
    "linux/list.h",
    "linux/log2.h",
    "linux/math.h",
    "linux/minmax.h",
    "linux/mm.h",
    "linux/moduleparam.h",
    "linux/netdevice.h",
    "linux/percpu.h",
    "linux/prandom.h",
    "linux/printk.h",
    "linux/sched/clock.h",
    "linux/skbuff.h",
    "linux/slab.h",
    "linux/string.h",
    "linux/sysctl.h",
    "linux/tcp.h",
    "linux/time.h",
    "linux/types.h",
    "linux/version.h",
    "net/inet_connection_sock.h",
    "net/inet_ecn.h",
    "net/sock.h",
];
