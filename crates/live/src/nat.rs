//! Address translation by the kernel's nf_tables, set through nfnetlink.
//!
//! The table is owned by the netlink socket that made it (NFT_TABLE_F_OWNER, Linux 5.12): it is gone when the socket is
//! closed, and so when the process ends, even if it is killed. No program (`nft`, `iptables`) is needed.
//!
//! Numbers are those of Linux, include/uapi/linux/netfilter/{nfnetlink,nf_tables}.h. Attributes are in network byte
//! order.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process;

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto, socket,
};

/// Packets from one address leave this namespace with the address of the interface that they leave by, as long as this
/// lives.
#[derive(Debug)]
pub(crate) struct Masquerade {
    _owner: OwnedFd,
}

impl Masquerade {
    /// Translates packets from `source`, in this thread's network namespace.
    pub(crate) fn begin(source: Ipv4Addr) -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkNetFilter,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        let batch = batch(&table_name(source), source);
        sendto(socket.as_raw_fd(), &batch, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        // Each of the three changes is acknowledged, and the whole is carried out or nothing is.
        for _ in 0..CHANGES {
            let mut answer = [0; 4096];
            // The kernel has answered when the call above returns.
            let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT)?;
            acknowledged(&answer[..length])?;
        }
        Ok(Self { _owner: socket })
    }
}

/// A name that no other table has: addresses are of one namespace, process numbers of one machine.
fn table_name(source: Ipv4Addr) -> String {
    format!("lasthop-{}-{source}", process::id())
}

/// The batch: a table, its chain behind routing, and the rule "ip saddr SOURCE masquerade".
fn batch(table: &str, source: Ipv4Addr) -> Vec<u8> {
    let hook = nested(4, &[number(1, POST_ROUTING), number(2, SOURCE_NAT_PRIORITY)].concat());
    let messages = [
        message(NFNL_BATCH_BEGIN, 0, 0, BATCH_OF_NF_TABLES, &[]),
        change(NEW_TABLE, 1, &[text(1, table), number(2, TABLE_IS_OWNED)].concat()),
        change(NEW_CHAIN, 2, &[text(1, table), text(3, CHAIN), hook, text(7, "nat")].concat()),
        change(NEW_RULE, 3, &[text(1, table), text(2, CHAIN), nested(4, &rule(source))].concat()),
        message(NFNL_BATCH_END, 0, 4, BATCH_OF_NF_TABLES, &[]),
    ];
    messages.concat()
}

/// The expressions of the rule: loads the source address into a register, compares it, translates.
fn rule(source: Ipv4Addr) -> Vec<u8> {
    const REGISTER: u32 = 1;
    const NETWORK_HEADER: u32 = 1;
    const SOURCE_OFFSET: u32 = 12;
    const ADDRESS_LEN: u32 = 4;
    const EQUAL: u32 = 0;
    let load =
        [number(1, REGISTER), number(2, NETWORK_HEADER), number(3, SOURCE_OFFSET), number(4, ADDRESS_LEN)];
    let value = nested(3, &attribute(1, &source.octets()));
    let compare = [number(1, REGISTER), number(2, EQUAL), value];
    [expression("payload", &load.concat()), expression("cmp", &compare.concat()), expression("masq", &[])]
        .concat()
}

fn expression(name: &str, data: &[u8]) -> Vec<u8> {
    nested(1, &[text(1, name), nested(2, data)].concat())
}

fn change(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let flags = libc::NLM_F_CREATE | libc::NLM_F_ACK;
    message(NF_TABLES << 8 | kind, flags as u16, sequence, 0, body)
}

/// `struct nlmsghdr`: length, type, flags, sequence, port; `struct nfgenmsg`: family, version, resource; the attributes.
fn message(kind: u16, flags: u16, sequence: u32, resource: u16, body: &[u8]) -> Vec<u8> {
    const HEADERS_LEN: usize = 20;
    let family = if resource == 0 { libc::AF_INET } else { libc::AF_UNSPEC } as u8;
    let mut bytes = Vec::with_capacity(HEADERS_LEN + body.len());
    bytes.extend(((HEADERS_LEN + body.len()) as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((libc::NLM_F_REQUEST as u16 | flags).to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([family, libc::NFNETLINK_V0 as u8]);
    bytes.extend(resource.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// `struct nlattr`: length and type, then the value, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len() + 8);
    bytes.extend(((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn nested(kind: u16, value: &[u8]) -> Vec<u8> {
    attribute(kind | libc::NLA_F_NESTED as u16, value)
}

fn number(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_be_bytes())
}

fn text(kind: u16, value: &str) -> Vec<u8> {
    attribute(kind, &[value.as_bytes(), &[0]].concat())
}

/// Reads an acknowledgment: after the header is 0 or a negative error number.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    const HEADER_LEN: usize = 16;
    let number = answer.get(HEADER_LEN..HEADER_LEN + 4).and_then(|bytes| bytes.try_into().ok());
    match number.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

/// NFNL_MSG_BATCH_BEGIN and NFNL_MSG_BATCH_END.
const NFNL_BATCH_BEGIN: u16 = 0x10;
const NFNL_BATCH_END: u16 = 0x11;
/// NFNL_SUBSYS_NFTABLES: in the upper byte of a message's type, and the resource of a batch.
const NF_TABLES: u16 = 10;
const BATCH_OF_NF_TABLES: u16 = NF_TABLES;
/// NFT_MSG_NEWTABLE, NFT_MSG_NEWCHAIN, NFT_MSG_NEWRULE.
const NEW_TABLE: u16 = 0;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
const CHANGES: usize = 3;
/// NFT_TABLE_F_OWNER.
const TABLE_IS_OWNED: u32 = 2;
/// NF_INET_POST_ROUTING, and NF_IP_PRI_NAT_SRC.
const POST_ROUTING: u32 = 4;
const SOURCE_NAT_PRIORITY: u32 = 100;
const CHAIN: &str = "postrouting";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_texts_end_with_a_zero() {
        assert_eq!(text(7, "nat"), [8, 0, 7, 0, b'n', b'a', b't', 0]);
        assert_eq!(text(1, "masq").len(), 12);
        assert_eq!(number(2, 1)[4..], [0, 0, 0, 1]);
    }

    #[test]
    fn a_batch_has_five_messages_of_the_length_that_they_say() {
        let batch = batch("t", Ipv4Addr::new(198, 18, 1, 2));
        let (mut at, mut messages) = (0, 0);
        while at < batch.len() {
            at += u32::from_ne_bytes(batch[at..at + 4].try_into().unwrap()) as usize;
            messages += 1;
        }
        assert_eq!((at, messages), (batch.len(), 5));
    }
}
