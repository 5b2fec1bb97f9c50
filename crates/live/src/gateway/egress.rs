//! The far end of a shell's or a client's links, and its connection to the network of this machine: forwarding and
//! address translation, which are taken back at the end.

use std::net::Ipv4Addr;

use linux::device::{self, Ends};
use linux::forwarding::{self, Forwarding};
use linux::namespace::{self, Privilege};
use linux::nat::{Inward, Translation};
use linux::sysctl;

use crate::LiveError;
use crate::error::failed;
use crate::gateway::resolver::{Relay, Resolver};

/// The network namespace of the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FarEnd {
    /// The caller's network namespace.
    Caller,
    /// A network namespace of our own.
    Own,
}

impl FarEnd {
    pub(crate) fn obtain() -> Result<Self, LiveError> {
        if namespace::obtain_privilege().map_err(LiveError::UserNamespace)? == Privilege::Capability {
            return Ok(Self::Caller);
        }
        let made = namespace::enter_new_network().map_err(linux::Error::from).and_then(|()| {
            sysctl::set_defaults();
            namespace::set_up_loopback()
        });
        made.map_err(failed("outside", "make a network namespace"))?;
        Ok(Self::Own)
    }

    /// Returns a sentence that says which end is where.
    pub(crate) fn introduction(self, name: &str, ends: &Ends) -> String {
        let far = match self {
            Self::Caller => "where you called from",
            Self::Own => "a network of its own, since the way out of here takes root",
        };
        format!("behind {name}: {} is here, {} is {far}", ends.inside, ends.outside)
    }
}

/// Connections from other machines that are led to the inner end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WayIn {
    /// The port that they are to.
    pub(crate) port: u16,
    /// The address of the interface that they come in by; 0.0.0.0 for each that leads on, and the loopback for none.
    pub(crate) bind: Ipv4Addr,
}

impl WayIn {
    /// The interfaces that they come in by.
    fn interfaces(self, uplinks: &[String]) -> Result<Vec<String>, linux::Error> {
        match self.bind {
            Ipv4Addr::UNSPECIFIED => Ok(uplinks.to_vec()),
            address if address.is_loopback() => Ok(Vec::new()),
            address => device::interfaces_with(address),
        }
    }
}

/// The connection of the far end to the network of this machine: forwarding and address translation, until it is
/// closed.
pub(crate) struct Egress {
    changed: Vec<Forwarding>,
    translation: Option<Translation>,
    relay: Option<Relay>,
}

impl Egress {
    /// Opens what this machine allows, and announces each change and each failure.
    pub(crate) fn open(
        far_end: FarEnd,
        ends: &Ends,
        resolver: Option<&Resolver>,
        way_in: Option<WayIn>,
        announce: &mut dyn FnMut(&str),
    ) -> Self {
        let mut way = Self { changed: Vec::new(), translation: None, relay: None };
        match resolver.map(|resolver| resolver.serve(ends.outside)).transpose() {
            Ok(relay) => way.relay = relay,
            Err(error) => announce(&format!("names are not resolved behind the link: {error}")),
        }
        let uplinks = device::uplinks(&ends.device);
        if far_end == FarEnd::Own || uplinks.is_empty() {
            return way;
        }
        if let Err(error) = way.translate(ends, &uplinks, way_in, announce) {
            announce(&format!(
                "no way out beyond this machine: {error}; as root: modprobe nf_tables nft_masq, with /proc/sys and \
                 /run writable"
            ));
        }
        way
    }

    fn translate(
        &mut self,
        ends: &Ends,
        uplinks: &[String],
        way_in: Option<WayIn>,
        announce: &mut dyn FnMut(&str),
    ) -> Result<(), linux::Error> {
        let entrances = way_in.map(|way| way.interfaces(uplinks)).transpose()?.unwrap_or_default();
        let inward = way_in.filter(|_| !entrances.is_empty());
        let translated = inward.map(|way| Inward { port: way.port, interfaces: &entrances });
        let translation = Translation::begin(ends.inside, translated)?;
        forwarding::switch_on(&ends.device)?;
        for uplink in uplinks.iter().chain(entrances.iter().filter(|name| !uplinks.contains(name))) {
            self.changed.extend(Forwarding::take(uplink)?);
        }
        let uplinks = uplinks.join(", ");
        announce(&format!(
            "packets from {} leave by {uplinks} with this machine's address (nf_tables)",
            ends.inside,
        ));
        if let Some(way) = inward {
            let (entrances, port) = (entrances.join(", "), way.port);
            announce(&format!(
                "connections that come in by {entrances} to port {port} lead to {}",
                ends.inside
            ));
        }
        self.changed.iter().for_each(|setting| announce(&format!("{} = 1 until the end", setting.name())));
        self.translation = Some(translation);
        Ok(())
    }

    pub(crate) fn close(self, announce: &mut dyn FnMut(&str)) {
        self.changed.iter().for_each(|setting| announce(&format!("{} = 0 again", setting.name())));
    }
}
