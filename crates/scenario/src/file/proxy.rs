//! A performance enhancing proxy at one end of a link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A performance enhancing proxy (RFC 3135): a node at one end of a link that looks into the segments of TCP that pass,
/// in virtual time.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// Its name.
    pub name: String,
    /// The link that it serves, by name: mostly the last hop. Proxies of one link at one node stand in the file's
    /// order, the last one next to the link.
    pub link: String,
    /// The end of the link at which it stands, and so the direction that it serves: what enters the link there.
    /// Default: the link's first node, before the direction `down`, as in the papers on Snoop and I-TCP.
    pub node: Option<String>,
    /// What it does.
    pub kind: proxy::Proxy,
    /// The TCP of a split towards the link; without it, that of the flow's host for which it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wireless: Option<ProxyTcp>,
    /// The TCP of a split towards the other side; without it, that of the flow's host for which it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wired: Option<ProxyTcp>,
}

/// The TCP of a split connection at the proxy.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyTcp {
    /// The name of a profile, or a path to one.
    pub profile: String,
    /// Keys that replace those of the profile.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::tcp_keys")]
    pub tcp: serde_json::Map<String, serde_json::Value>,
}
