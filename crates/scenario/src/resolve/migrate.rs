//! Hosts that change their address during the run.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::{Check, address_of};
use crate::error::InputError;
use crate::file::{self, Stack};
use crate::resolved::Migrate;
use crate::tree::KeyPath;

impl Check<'_> {
    /// The change of a host's address, and its new address, which it adds to those that are `taken`.
    pub(super) fn migrate(
        &self,
        name: &str,
        host: &file::Host,
        taken: &mut BTreeSet<Ipv4Addr>,
    ) -> Result<Option<Migrate>, InputError> {
        let Some(wanted) = &host.migrate else { return Ok(None) };
        let key = KeyPath::of(["hosts", name, "migrate"]);
        if host.stack != Some(Stack::Quinn) {
            let message =
                format!("host \"{name}\" migrates, and a connection of TCP is bound to its addresses");
            let help = "add stack = \"quinn\" to both hosts of its flows, or leave migrate out";
            return Err(self.tree.error(&key, message, help));
        }
        if self.file.stop.is_some_and(|stop| stop <= wanted.at) {
            let help = "write an earlier time, or a later stop";
            return Err(self.tree.error(&key.below("at"), "the run is over by then", help));
        }
        let (at, to) = (wanted.at, key.below("to"));
        let migrate = match wanted.to.parse() {
            Ok(address) => Migrate { at, address, link: None },
            Err(_) => {
                let link = self.link_of(&to, name, &wanted.to)?;
                let address = address_of(&format!("{name} over {link}"), taken);
                Migrate { at, address, link: Some(link) }
            }
        };
        if !taken.insert(migrate.address) {
            let message = format!("{} is the address of a host already", migrate.address);
            return Err(self.tree.error(&to, message, "name one that no host has"));
        }
        Ok(Some(migrate))
    }

    /// The name of a link of a host.
    fn link_of(&self, path: &KeyPath, host: &str, link: &str) -> Result<String, InputError> {
        let own = self.file.links.iter().filter(|link| link.between.iter().any(|node| node == host));
        let names: Vec<&str> = own.map(|link| link.name.as_str()).collect();
        self.known(path, link, &names, "address or link of this host", "links of the host")?;
        Ok(link.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{GOOD, read};

    /// The good scenario with quinn for both hosts, a workload that the mobile host opens, and a link besides.
    fn two_links() -> String {
        let mtu = "preset = \"slow\"\nmtu = \"1500 bytes\"";
        let replaced = [
            ("profile = \"plain\"", "profile = \"plain\"\nstack = \"quinn\""),
            ("preset = \"slow\"", mtu),
            ("bytes = \"100 KiB\"", "workload = { parallel = { over = \"http3\" } }"),
            ("milestones = [\"10 KiB\"]\n", ""),
            ("name = \"good\"", "name = \"good\"\nstop = \"60 s\""),
        ];
        let text = replaced.into_iter().fold(GOOD.to_owned(), |text, (from, to)| text.replace(from, to));
        text + "[[links]]\nname = \"other\"\nbetween = [\"server\", \"mobile\"]\n" + mtu + "\n"
    }

    const AT: &str = "hosts.mobile.migrate.at=2 s";

    #[test]
    fn a_host_migrates_to_an_address_or_to_another_of_its_links() {
        let to = |to: &str| {
            let to = format!("hosts.mobile.migrate.to={to}");
            let resolved = read(&two_links(), &[AT, &to]).unwrap();
            let host = resolved.hosts.iter().find(|host| host.name == "mobile").unwrap().clone();
            (host.address, host.migrate.unwrap())
        };
        let (_, by_address) = to("10.77.0.9");
        assert_eq!((by_address.address.to_string(), by_address.link), ("10.77.0.9".to_owned(), None));
        let (first, by_link) = to("other");
        assert_eq!(by_link.link.as_deref(), Some("other"));
        assert_ne!(by_link.address, first);
    }

    #[test]
    fn what_cannot_migrate_is_refused_where_it_stands() {
        let said = |overrides: &[&str]| read(&two_links(), overrides).unwrap_err();
        let to = "hosts.mobile.migrate.to=other";
        let tcp =
            ["hosts.mobile.stack=lasthop", "hosts.server.stack=lasthop", "flows.0.workload={ web = {} }"];
        let cases: [(&[&str], &str, &str); 7] = [
            (&[AT, to, tcp[0], tcp[1], tcp[2]], "hosts.mobile.migrate", "a connection of TCP is bound"),
            (
                &[AT, "hosts.mobile.migrate.to=nowhere"],
                "hosts.mobile.migrate.to",
                "there is no address or link",
            ),
            (&[AT, to, "stop=1 s"], "hosts.mobile.migrate.at", "the run is over by then"),
            (
                &[AT, to, "hosts.server.address=10.77.0.9", "hosts.mobile.migrate.to=10.77.0.9"],
                "hosts.mobile.migrate.to",
                "is the address of a host",
            ),
            (&[AT, "hosts.mobile.migrate.to=lasthop"], "hosts.mobile.migrate.to", "cross from the beginning"),
            (
                &[AT, to, "hosts.server.migrate={ at = \"1 s\", to = \"10.77.0.9\" }"],
                "hosts.server.migrate",
                "opens no connection",
            ),
            (&[to], "hosts.mobile.migrate", "at"),
        ];
        for (overrides, key, words) in cases {
            let error = said(overrides);
            assert!(
                error.key.starts_with(key) && error.to_string().contains(words),
                "{overrides:?}: {error}"
            );
        }
    }
}
