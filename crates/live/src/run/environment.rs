//! The environment variables by which programs know the hosts of a run.

use std::net::Ipv4Addr;

use crate::run::command::Environment;
use crate::run::host::{Host, HostSpec};

/// A host's name and address.
pub(crate) type Named = (String, Ipv4Addr);

/// Returns the names and addresses of hosts.
pub(crate) fn named(hosts: &[HostSpec]) -> Vec<Named> {
    hosts.iter().map(|host| (host.name.clone(), host.address)).collect()
}

/// Returns the variables of a program in the host `own`: the addresses of all hosts, and the namespaces of local hosts.
pub(crate) fn environment(named: &[Named], local: &[Host], own: &str) -> Environment {
    let addresses = named
        .iter()
        .map(|(name, address)| (format!("LASTHOP_ADDRESS_{}", variable(name)), address.to_string()));
    let namespaces =
        local.iter().map(|host| (format!("LASTHOP_NETNS_{}", variable(&host.name)), host.namespace.clone()));
    let place = named.iter().position(|(name, _)| name == own).unwrap_or(0);
    let address = |place: usize| named.get(place).map(|(_, address)| address.to_string());
    let own = address(place).map(|address| ("LASTHOP_ADDRESS".to_owned(), address));
    let peer = address(usize::from(place == 0)).map(|address| ("LASTHOP_PEER".to_owned(), address));
    addresses.chain(namespaces).chain(own).chain(peer).collect()
}

/// Returns the name of a host as part of the name of an environment variable.
fn variable(name: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    name.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_knows_its_own_address_and_that_of_its_peer() {
        let named = [
            ("server".to_owned(), Ipv4Addr::new(10, 0, 0, 1)),
            ("last-hop".to_owned(), Ipv4Addr::new(10, 0, 0, 2)),
        ];
        let variables = environment(&named, &[], "last-hop");
        assert_eq!(variables["LASTHOP_ADDRESS"], "10.0.0.2");
        assert_eq!(variables["LASTHOP_PEER"], "10.0.0.1");
        assert_eq!(variables["LASTHOP_ADDRESS_LAST_HOP"], "10.0.0.2");
        assert_eq!(environment(&named, &[], "server")["LASTHOP_PEER"], "10.0.0.2");
    }
}
