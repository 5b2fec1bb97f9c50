//! Whether hosts and links can be on the machines that the file names.

use super::{Check, place_of};
use crate::error::InputError;
use crate::file::Machine;
use crate::tree::KeyPath;

impl Check<'_> {
    /// All links, and all simulated hosts, are on one machine, because one World carries them.
    pub(super) fn machines(&self) -> Result<(), InputError> {
        self.one_emulator()?;
        let elsewhere = self.file.hosts.iter().filter(|(_, host)| host.at.is_some());
        for (name, _) in elsewhere {
            if !self.file.live.simulates(name) {
                continue;
            }
            let message = format!("host \"{name}\" is simulated in a live run, in the process of the links");
            let help =
                "leave out its machine, or leave it out of live.simulated: stack = \"lasthop\" runs anywhere";
            return Err(self.tree.error(&KeyPath::of(["hosts", name, "at"]), message, help));
        }
        Ok(())
    }

    fn one_emulator(&self) -> Result<(), InputError> {
        let mut first: Option<&Machine> = None;
        for (i, link) in self.file.links.iter().enumerate() {
            match (first, &link.at) {
                (Some(first), Some(other)) if first != other => {
                    let message =
                        format!("links at {first} and at {other}, and one machine carries all links");
                    let help = "give all links the same machine, or one of them and the others none";
                    return Err(self.tree.error(&place_of("links", i, "at"), message, help));
                }
                (None, Some(at)) => first = Some(at),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{GOOD, read};

    fn with(server: &str, link: &str) -> String {
        GOOD.replacen("profile = \"plain\"", &format!("profile = \"plain\"\n{server}"), 1)
            .replace("name = \"lasthop\"", &format!("name = \"lasthop\"\n{link}"))
    }

    #[test]
    fn hosts_and_links_are_where_the_file_says() {
        let resolved = read(&with("at = \"ssh://b\"", "at = \"ssh://c:2222\""), &[]).unwrap();
        let at = |machine: &Option<crate::file::Machine>| machine.as_ref().map(ToString::to_string);
        assert_eq!(at(&resolved.hosts[0].at).as_deref(), Some("ssh://b"));
        assert_eq!(at(&resolved.hosts[1].at), None);
        assert_eq!(at(&resolved.links[0].at).as_deref(), Some("ssh://c:2222"));
        assert!(!read(GOOD, &[]).unwrap().json().contains("\"at\""), "hashes of others stay as they were");
    }

    #[test]
    fn what_is_simulated_is_nowhere_else() {
        let text = with("at = \"ssh://b\"", "") + "[live]\nsimulated = [\"server\", \"mobile\"]\n";
        let said = read(&text, &[]).unwrap_err().to_string();
        assert!(said.contains("hosts.server.at: host \"server\" is simulated in a live run"), "{said}");
    }

    #[test]
    fn every_stack_may_be_anywhere() {
        for stack in ["program", "smoltcp", "lasthop"] {
            let text = with(&format!("stack = \"{stack}\"\nat = \"ssh://b\""), "");
            let flow = text.find("[[flows]]").expect("the good file has a flow");
            let resolved = read(&text[..flow], &[]).unwrap();
            assert_eq!(resolved.hosts[0].at.as_ref().map(ToString::to_string).as_deref(), Some("ssh://b"));
        }
    }

    #[test]
    fn links_in_two_places_are_refused() {
        let second = "[[links]]\nname = \"more\"\nbetween = [\"middle\", \"mobile\"]\npreset = \"slow\"\n";
        let text = format!("routers = [\"middle\"]\n{}", with("", "at = \"ssh://b\""))
            .replace("[[flows]]", &format!("{second}at = \"ssh://c\"\n[[flows]]"));
        let said = read(&text, &[]).unwrap_err().to_string();
        assert!(
            said.contains("links at ssh://b and at ssh://c, and one machine carries all links"),
            "{said}"
        );
    }

    #[test]
    fn what_is_no_machine_is_refused_at_its_place() {
        let said = read(&with("at = \"b\"", ""), &[]).unwrap_err().to_string();
        assert!(
            said.contains("good.toml:4: hosts.server.at: \"b\" is no machine; write \"ssh://host\""),
            "{said}"
        );
    }
}
