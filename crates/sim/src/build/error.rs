//! Why no world can be built.

use std::net::Ipv4Addr;

/// Why no world can be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two nodes, links or flows have one name.
    #[error("two {what} are called {name}; give each a name of its own")]
    DuplicateName {
        /// "nodes", "links", "cells", "proxies" or "flows".
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two nodes have one address.
    #[error("{first} and {second} both have the address {address}; give each its own")]
    DuplicateAddress {
        /// The address.
        address: Ipv4Addr,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Something refers to a node or link that is not there.
    #[error("{what} refers to {kind} number {index}, but there are only {count}")]
    NoSuch {
        /// What refers to it.
        what: String,
        /// "node" or "link".
        kind: &'static str,
        /// The place that was given.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A link joins a node with itself.
    #[error("link {link} joins {node} with itself; a link joins two nodes")]
    Loop {
        /// The link.
        link: String,
        /// The node.
        node: String,
    },
    /// A flow begins or ends where there is no TCP of ours.
    #[error("flow {flow} needs a host at each end, and {node} is none")]
    NotAHost {
        /// The flow.
        flow: String,
        /// The node.
        node: String,
    },
    /// A flow leads to where it begins.
    #[error("flow {flow} leads from {node} to itself; it needs two hosts")]
    FlowToItself {
        /// The flow.
        flow: String,
        /// The node.
        node: String,
    },
    /// A flow that is to have a share of a link does not cross it.
    #[error(
        "flow {flow}: the way from {from} to {to} does not lead over {direction}; name a link that it crosses"
    )]
    NotOnTheWay {
        /// The flow.
        flow: String,
        /// The host that sends.
        from: String,
        /// The host that reads.
        to: String,
        /// The direction of a link, "lasthop.down".
        direction: String,
    },
    /// The congestion control of a flow is a program, or a rule over a program, that this kind of run cannot execute.
    #[error(
        "flow {flow}: its congestion control is a program; lasthop run executes one, without another rule over it"
    )]
    NoProgram {
        /// The flow.
        flow: String,
    },
    /// A proxy stands at neither end of its link.
    #[error("proxy {proxy}: {node} is no end of the link {link}; name one of its two nodes")]
    NotAtTheLink {
        /// The proxy.
        proxy: String,
        /// The node.
        node: String,
        /// The link.
        link: String,
    },
    /// A proxy would have to look into packets of network stacks that are not ours.
    #[error("proxy {proxy} reads segments of our own TCP, and packets from outside pass it; leave it out")]
    ProxyOutside {
        /// The proxy.
        proxy: String,
    },
    /// A proxy's congestion control is a program.
    #[error("proxy {proxy}: its congestion control is a program; name one of lasthop list congestion")]
    NoProgramOfProxy {
        /// The proxy.
        proxy: String,
    },
    /// The two directions of a flow do not cross the same proxies.
    #[error(
        "flow {flow}: its way back does not lead through the proxy {proxy}; lead both ways over its link"
    )]
    OneWay {
        /// The flow.
        flow: String,
        /// The proxy.
        proxy: String,
    },
    /// Two proxies would split a connection.
    #[error("flow {flow} crosses two proxies that split connections, {first} and {second}; keep one of them")]
    TwoSplits {
        /// The flow.
        flow: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// No path of links and routers joins the two hosts of a flow.
    #[error("flow {flow}: there is no path from {from} to {to}; join them with links, over routers")]
    NoRoute {
        /// The flow.
        flow: String,
        /// The host that sends.
        from: String,
        /// The host that it cannot reach.
        to: String,
    },
}
