//! Address translation by the kernel's nf_tables, set by nfnetlink.
//!
//! The table is owned by the netlink socket that made it (NFT_TABLE_F_OWNER, Linux 5.12): the kernel removes it when
//! the socket is closed, and so when the process ends, even if it is killed. No program (`nft`, `iptables`) is needed.
//!
//! Numbers are those of Linux, include/uapi/linux/netfilter/{nfnetlink,nf_tables}.h. Attributes are in network byte
//! order.

use std::net::Ipv4Addr;
use std::process;

use nix::libc;
use nix::sys::socket::SockProtocol;

use crate::Error;
use crate::netlink::{Attributes, Request, Socket};

/// Address translation in a network namespace, until this is dropped. Packets from one address leave the namespace with
/// the address of the interface that they leave by. Connections to a port may be led to that address.
#[derive(Debug)]
pub struct Translation {
    _owner: Socket,
}

/// Connections from outside that are led to the translated address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inward<'a> {
    /// The port that they are to.
    pub port: u16,
    /// The interfaces that they come in by.
    pub interfaces: &'a [String],
}

impl Translation {
    /// Translates packets from `source` in this thread's network namespace, and connections from outside to `source`.
    ///
    /// # Errors
    /// If the kernel lacks nf_tables, or refuses a change.
    pub fn begin(source: Ipv4Addr, inward: Option<Inward<'_>>) -> Result<Self, Error> {
        let socket = Socket::open(SockProtocol::NetlinkNetFilter)?;
        let changes = changes(&table_name(source), source, inward);
        socket.send(&batch(&changes))?;
        // Each change is acknowledged; the kernel carries out all of them or none.
        changes.iter().try_for_each(|_| socket.read_acknowledgment())?;
        Ok(Self { _owner: socket })
    }
}

/// A name that no other table has: addresses are of one namespace, process numbers of one machine.
fn table_name(source: Ipv4Addr) -> String {
    format!("lasthop-{}-{source}", process::id())
}

/// A change of the tables: its type, and its attributes.
type Change = (u16, Attributes);

/// The table; its chain after routing with the rule "ip saddr SOURCE masquerade"; the chain before routing for
/// connections from outside.
fn changes(table: &str, source: Ipv4Addr, inward: Option<Inward<'_>>) -> Vec<Change> {
    let mut changes = vec![
        (NEW_TABLE, Attributes::default().text(1, table).network_number(2, TABLE_IS_OWNED)),
        chain(table, OUTWARD, POST_ROUTING, SOURCE_NAT_PRIORITY),
        rule(table, OUTWARD, &[is_from(source), expression("masq", &Attributes::default())]),
    ];
    if let Some(Inward { port, interfaces }) = inward {
        changes.push(chain(table, INWARD, PRE_ROUTING, DESTINATION_NAT_PRIORITY));
        let lead = |name: &String| {
            rule(table, INWARD, &[comes_in_by(name), is_tcp_to(port), change_destination(source)])
        };
        changes.extend(interfaces.iter().map(lead));
    }
    changes
}

/// The changes as messages between the marks of a batch.
fn batch(changes: &[Change]) -> Vec<u8> {
    let mut batch = batch_mark(NFNL_BATCH_BEGIN, 0);
    for (sequence, (kind, attributes)) in (1..).zip(changes) {
        let change = Request::new(NF_TABLES << 8 | kind, &header(libc::AF_INET, 0))
            .flags(libc::NLM_F_CREATE | libc::NLM_F_ACK)
            .sequence(sequence)
            .attributes(attributes);
        batch.extend(change.to_bytes());
    }
    batch.extend(batch_mark(NFNL_BATCH_END, changes.len() as u32 + 1));
    batch
}

fn batch_mark(kind: u16, sequence: u32) -> Vec<u8> {
    Request::new(kind, &header(libc::AF_UNSPEC, NF_TABLES)).sequence(sequence).to_bytes()
}

/// `struct nfgenmsg`: family, version, resource.
fn header(family: libc::c_int, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family as u8, libc::NFNETLINK_V0 as u8, high, low]
}

fn chain(table: &str, name: &str, hook: u32, priority: i32) -> Change {
    let hook = Attributes::default().network_number(1, hook).network_number(2, priority.cast_unsigned());
    (NEW_CHAIN, Attributes::default().text(1, table).text(3, name).nested(4, &hook).text(7, "nat"))
}

fn rule(table: &str, chain: &str, expressions: &[Attributes]) -> Change {
    let expressions = expressions.iter().fold(Attributes::default(), Attributes::and);
    (NEW_RULE, Attributes::default().text(1, table).text(2, chain).nested(4, &expressions))
}

/// "ip saddr SOURCE"
fn is_from(source: Ipv4Addr) -> Attributes {
    const SOURCE_OFFSET: u32 = 12;
    load_header(NETWORK_HEADER, SOURCE_OFFSET, 4).and(&equals(&source.octets()))
}

/// "iifname NAME"
fn comes_in_by(interface: &str) -> Attributes {
    let mut name = interface.as_bytes().to_vec();
    name.resize(libc::IFNAMSIZ, 0);
    load_meta(META_IN_INTERFACE_NAME).and(&equals(&name))
}

/// "tcp dport PORT"
fn is_tcp_to(port: u16) -> Attributes {
    const DESTINATION_PORT_OFFSET: u32 = 2;
    load_meta(META_TRANSPORT)
        .and(&equals(&[libc::IPPROTO_TCP as u8]))
        .and(&load_header(TRANSPORT_HEADER, DESTINATION_PORT_OFFSET, 2))
        .and(&equals(&port.to_be_bytes()))
}

/// "dnat to ADDRESS": loads the address into the register from which the translation reads it.
fn change_destination(address: Ipv4Addr) -> Attributes {
    const DESTINATION: u32 = 1;
    let value = Attributes::default().bytes(1, &address.octets());
    let load = Attributes::default().network_number(1, REGISTER).nested(2, &value);
    let translate = Attributes::default()
        .network_number(1, DESTINATION)
        .network_number(2, libc::AF_INET as u32)
        .network_number(3, REGISTER);
    expression("immediate", &load).and(&expression("nat", &translate))
}

/// Loads bytes of a packet's header into the register.
fn load_header(header: u32, offset: u32, len: u32) -> Attributes {
    let load = Attributes::default()
        .network_number(1, REGISTER)
        .network_number(2, header)
        .network_number(3, offset)
        .network_number(4, len);
    expression("payload", &load)
}

/// Loads a fact about a packet into the register.
fn load_meta(key: u32) -> Attributes {
    expression("meta", &Attributes::default().network_number(1, REGISTER).network_number(2, key))
}

/// Continues with the rule if the register has this value.
fn equals(value: &[u8]) -> Attributes {
    const EQUAL: u32 = 0;
    let value = Attributes::default().bytes(1, value);
    let compare =
        Attributes::default().network_number(1, REGISTER).network_number(2, EQUAL).nested(3, &value);
    expression("cmp", &compare)
}

fn expression(name: &str, data: &Attributes) -> Attributes {
    let inner = Attributes::default().text(1, name).nested(2, data);
    Attributes::default().nested(1, &inner)
}

/// NFNL_MSG_BATCH_BEGIN and NFNL_MSG_BATCH_END.
const NFNL_BATCH_BEGIN: u16 = 0x10;
const NFNL_BATCH_END: u16 = 0x11;
/// NFNL_SUBSYS_NFTABLES: the upper byte of a message's type, and the resource of a batch.
const NF_TABLES: u16 = 10;
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
/// NFT_REG_1: holds a value between one expression and the next.
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
    use crate::testing::{in_new_network, say_not_tested};

    const SOURCE: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 2);

    #[test]
    fn a_batch_has_messages_of_the_length_that_they_say() {
        let interfaces = ["eth0".to_owned(), "wlan0".to_owned()];
        let inward = Inward { port: 8080, interfaces: &interfaces };
        let batch = batch(&changes("t", SOURCE, Some(inward)));
        let (mut at, mut messages) = (0, 0);
        while at < batch.len() {
            at += u32::from_ne_bytes(batch[at..at + 4].try_into().unwrap()) as usize;
            messages += 1;
        }
        assert_eq!((at, messages), (batch.len(), 8));
    }

    #[test]
    fn the_kernel_accepts_a_translation_and_removes_it_with_its_owner() {
        in_new_network(|| {
            let interfaces = ["lo".to_owned()];
            let inward = Some(Inward { port: 8080, interfaces: &interfaces });
            match Translation::begin(SOURCE, inward) {
                Ok(first) => {
                    drop(first);
                    // A table of this name exists no more: it could not be created twice with another owner.
                    assert!(Translation::begin(SOURCE, inward).is_ok());
                }
                Err(error) => say_not_tested(&format!("no nf_tables with masquerading: {error}")),
            }
        });
    }
}
