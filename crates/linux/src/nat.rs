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

/// Packets from one address leave this namespace with the address of the interface that they leave by, and connections to
/// a port that come in may be led to that address, as long as this lives.
#[derive(Debug)]
pub(crate) struct Translation {
    _owner: OwnedFd,
}

impl Translation {
    /// Translates packets from `source`, in this thread's network namespace. With a port and interfaces, connections to it
    /// that come in by one of these lead to `source`.
    pub(crate) fn begin(source: Ipv4Addr, inward: Option<(u16, &[String])>) -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkNetFilter,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        let changes = changes(&table_name(source), source, inward);
        let batch = batch(&changes);
        sendto(socket.as_raw_fd(), &batch, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        // Each change is acknowledged, and the whole is carried out or nothing is.
        for _ in changes {
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

/// A change of the tables: its kind, and its attributes.
type Change = (u16, Vec<u8>);

/// The table, its chain behind routing with the rule "ip saddr SOURCE masquerade", and what leads in.
fn changes(table: &str, source: Ipv4Addr, inward: Option<(u16, &[String])>) -> Vec<Change> {
    let mut changes = vec![
        (NEW_TABLE, [text(1, table), number(2, TABLE_IS_OWNED)].concat()),
        chain(table, OUTWARD, POST_ROUTING, SOURCE_NAT_PRIORITY),
        rule(table, OUTWARD, &[is_from(source), expression("masq", &[])]),
    ];
    if let Some((port, interfaces)) = inward {
        changes.push(chain(table, INWARD, PRE_ROUTING, DESTINATION_NAT_PRIORITY));
        let lead = |name: &String| rule(table, INWARD, &[comes_by(name), is_tcp_to(port), lead_to(source)]);
        changes.extend(interfaces.iter().map(lead));
    }
    changes
}

fn batch(changes: &[Change]) -> Vec<u8> {
    let mut batch = message(NFNL_BATCH_BEGIN, 0, 0, BATCH_OF_NF_TABLES, &[]);
    for (sequence, (kind, body)) in (1..).zip(changes) {
        batch.extend(change(*kind, sequence, body));
    }
    batch.extend(message(NFNL_BATCH_END, 0, changes.len() as u32 + 1, BATCH_OF_NF_TABLES, &[]));
    batch
}

fn chain(table: &str, name: &str, hook: u32, priority: i32) -> Change {
    let hook = nested(4, &[number(1, hook), number(2, priority as u32)].concat());
    (NEW_CHAIN, [text(1, table), text(3, name), hook, text(7, "nat")].concat())
}

fn rule(table: &str, chain: &str, expressions: &[Vec<u8>]) -> Change {
    (NEW_RULE, [text(1, table), text(2, chain), nested(4, &expressions.concat())].concat())
}

/// "ip saddr SOURCE"
fn is_from(source: Ipv4Addr) -> Vec<u8> {
    const SOURCE_OFFSET: u32 = 12;
    [load_header(NETWORK_HEADER, SOURCE_OFFSET, 4), is(&source.octets())].concat()
}

/// "iifname NAME"
fn comes_by(interface: &str) -> Vec<u8> {
    let mut name = interface.as_bytes().to_vec();
    name.resize(libc::IFNAMSIZ, 0);
    [load_meta(META_IN_INTERFACE_NAME), is(&name)].concat()
}

/// "tcp dport PORT"
fn is_tcp_to(port: u16) -> Vec<u8> {
    const DESTINATION_PORT_OFFSET: u32 = 2;
    let to_port = [load_header(TRANSPORT_HEADER, DESTINATION_PORT_OFFSET, 2), is(&port.to_be_bytes())];
    [load_meta(META_TRANSPORT), is(&[libc::IPPROTO_TCP as u8]), to_port.concat()].concat()
}

/// "dnat to ADDRESS": the address goes to the register from which the translation takes it.
fn lead_to(address: Ipv4Addr) -> Vec<u8> {
    const DESTINATION: u32 = 1;
    let value = nested(2, &attribute(1, &address.octets()));
    let translate = [number(1, DESTINATION), number(2, libc::AF_INET as u32), number(3, REGISTER)].concat();
    [expression("immediate", &[number(1, REGISTER), value].concat()), expression("nat", &translate)].concat()
}

fn load_header(header: u32, offset: u32, len: u32) -> Vec<u8> {
    let load = [number(1, REGISTER), number(2, header), number(3, offset), number(4, len)];
    expression("payload", &load.concat())
}

fn load_meta(key: u32) -> Vec<u8> {
    expression("meta", &[number(1, REGISTER), number(2, key)].concat())
}

/// Goes on with the rule if the register has this value.
fn is(value: &[u8]) -> Vec<u8> {
    const EQUAL: u32 = 0;
    let value = nested(3, &attribute(1, value));
    expression("cmp", &[number(1, REGISTER), number(2, EQUAL), value].concat())
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
/// NFT_TABLE_F_OWNER.
const TABLE_IS_OWNED: u32 = 2;
/// NF_INET_PRE_ROUTING and NF_INET_POST_ROUTING, NF_IP_PRI_NAT_DST and NF_IP_PRI_NAT_SRC.
const PRE_ROUTING: u32 = 0;
const POST_ROUTING: u32 = 4;
const DESTINATION_NAT_PRIORITY: i32 = -100;
const SOURCE_NAT_PRIORITY: i32 = 100;
const OUTWARD: &str = "postrouting";
const INWARD: &str = "prerouting";
/// NFT_REG_1: a value on its way from one expression to the next.
const REGISTER: u32 = 1;
/// NFT_PAYLOAD_NETWORK_HEADER and NFT_PAYLOAD_TRANSPORT_HEADER.
const NETWORK_HEADER: u32 = 1;
const TRANSPORT_HEADER: u32 = 2;
/// NFT_META_IIFNAME and NFT_META_L4PROTO.
const META_IN_INTERFACE_NAME: u32 = 6;
const META_TRANSPORT: u32 = 16;

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
    fn a_batch_has_messages_of_the_length_that_they_say() {
        let inward = ["eth0".to_owned(), "wlan0".to_owned()];
        let batch = batch(&changes("t", Ipv4Addr::new(198, 18, 1, 2), Some((8080, &inward))));
        let (mut at, mut messages) = (0, 0);
        while at < batch.len() {
            at += u32::from_ne_bytes(batch[at..at + 4].try_into().unwrap()) as usize;
            messages += 1;
        }
        assert_eq!((at, messages), (batch.len(), 8));
    }
}
