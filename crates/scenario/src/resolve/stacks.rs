//! Whether flows can run over the stacks of their hosts.

use stacks::Refusal;

use super::{Check, place_of};
use crate::error::InputError;
use crate::file::Stack;
use crate::resolved::{Flow, Resolved};
use crate::tree::{KeyPath, Tree};

/// Checks that no host of a composed scenario has a stack that runs in real time only: the kernel's, or a program.
pub(crate) fn refuse_kernels(tree: &Tree) -> Result<(), InputError> {
    for host in tree.steps_below(&KeyPath::of(["hosts"])) {
        let key = KeyPath::of(["hosts", &host, "stack"]);
        let named = |stack: &&str| tree.text(&key) == Some(*stack);
        if let Some(stack) =
            [Stack::Kernel, Stack::Program].map(|one| one.id().entry().id).into_iter().find(named)
        {
            let (message, help) = message_and_help(&Refusal::RealTime { host, stack });
            return Err(tree.error(&key, message, help));
        }
    }
    Ok(())
}

/// Checks that no host of a composed scenario has a stack that runs in virtual time only: DCCP.
pub(crate) fn refuse_dccp(tree: &Tree) -> Result<(), InputError> {
    for host in tree.steps_below(&KeyPath::of(["hosts"])) {
        let key = KeyPath::of(["hosts", &host, "stack"]);
        if tree.text(&key) == Some(Stack::Dccp.id().entry().id) {
            let (message, help) = message_and_help(&Refusal::DccpLive { host });
            return Err(tree.error(&key, message, help));
        }
    }
    Ok(())
}

/// A refusal in two parts: error and remedy.
fn message_and_help(refusal: &Refusal) -> (String, String) {
    let text = refusal.to_string();
    let (message, help) = text.split_once("; ").unwrap_or((&text, ""));
    (message.to_owned(), help.to_owned())
}

impl Check<'_> {
    /// The two hosts of a flow must share a transport, and neither may be in `live.simulated`, whose hosts have our
    /// TCP.
    pub(super) fn stacks(&self, resolved: &Resolved) -> Result<(), InputError> {
        let has_streams =
            |flow: &Flow| flow.workload.as_ref().is_some_and(|one| one.service().multiplexing.is_some());
        if resolved.hosts.iter().all(|host| host.stack.is_none()) && !resolved.flows.iter().any(has_streams) {
            return Ok(());
        }
        self.not_simulated()?;
        let spec = resolved.to_spec()?;
        resolved.stacks().check_all(&spec).map_err(|refusal| self.refused(&refusal))
    }

    /// Settings of quinn need its stack.
    pub(super) fn quinn(&self, name: &str, file: &crate::file::Host) -> Result<(), InputError> {
        if file.quinn.is_none() || file.stack == Some(Stack::Quinn) {
            return Ok(());
        }
        let message = format!("host \"{name}\" has settings of quinn, and another stack");
        Err(self.tree.error(
            &KeyPath::of(["hosts", name, "quinn"]),
            message,
            "add stack = \"quinn\", or leave them out",
        ))
    }

    /// Settings of DCCP need its stack and must make sense, and such a host has no keys of TCP.
    pub(super) fn dccp(&self, name: &str, file: &crate::file::Host) -> Result<(), InputError> {
        let at = KeyPath::of(["hosts", name]);
        let is_dccp = file.stack == Some(Stack::Dccp);
        if let Some(settings) = &file.dccp {
            if !is_dccp {
                let message = format!("host \"{name}\" has settings of DCCP, and another stack");
                let help = "add stack = \"dccp\", or leave them out";
                return Err(self.tree.error(&at.below("dccp"), message, help));
            }
            if let Some([key, message, help]) = settings.wrong() {
                return Err(self.tree.error(&at.below("dccp").below(key), message, help));
            }
        }
        // The keys of a profile are for the stack that an override may give the host.
        if is_dccp && file.profile.is_none() && !file.tcp.is_empty() {
            let message = format!("host \"{name}\" has DCCP, which has no TCP");
            let help = "leave these keys out; the table dccp has those of DCCP";
            return Err(self.tree.error(&at.below("tcp"), message, help));
        }
        Ok(())
    }

    fn not_simulated(&self) -> Result<(), InputError> {
        let given = |(name, host): &(&String, &crate::file::Host)| {
            host.stack.is_some_and(|stack| stack != Stack::Lasthop) && self.file.live.simulates(name)
        };
        match self.file.hosts.iter().find(given) {
            Some((name, _)) => {
                let message = format!("host \"{name}\" is simulated in a live run, and so has our own TCP");
                let help = "leave out its stack, or its name in live.simulated";
                Err(self.tree.error(&KeyPath::of(["hosts", name, "stack"]), message, help))
            }
            None => Ok(()),
        }
    }

    fn refused(&self, refusal: &Refusal) -> InputError {
        let flow = match refusal {
            Refusal::RealTime { host, .. } | Refusal::Lacking { host, .. } | Refusal::DccpLive { host } => {
                return self.tree.error(&KeyPath::of(["hosts", host, "stack"]), refusal.to_string(), "");
            }
            Refusal::ZeroRtt { without, .. } => {
                let (message, help) = message_and_help(refusal);
                return self.tree.error(&KeyPath::of(["hosts", without, "quinn"]), message, help);
            }
            Refusal::OpensNone { host } | Refusal::MigratesLive { host } => {
                return self.refused_migration(host, "at", refusal);
            }
            Refusal::AddressTaken { host, .. }
            | Refusal::SameLink { host, .. }
            | Refusal::NoWay { host, .. } => {
                return self.refused_migration(host, "to", refusal);
            }
            Refusal::Transport { flow, .. }
            | Refusal::Mtu { flow, .. }
            | Refusal::Streams { flow, .. }
            | Refusal::Dccp { flow, .. }
            | Refusal::Program { flow, .. } => flow,
        };
        let key = match refusal {
            Refusal::Streams { .. } => "workload",
            Refusal::Dccp { key, .. } => key,
            _ => "to",
        };
        let entry = self.file.flows.iter().position(|entry| {
            flow.strip_prefix(&entry.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        });
        let (message, help) = message_and_help(refusal);
        self.tree.error(&place_of("flows", entry.unwrap_or(0), key), message, help)
    }

    fn refused_migration(&self, host: &str, key: &str, refusal: &Refusal) -> InputError {
        let (message, help) = message_and_help(refusal);
        self.tree.error(&KeyPath::of(["hosts", host, "migrate", key]), message, help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{GOOD, read};

    const STACKS: [Stack; 6] =
        [Stack::Lasthop, Stack::Kernel, Stack::Smoltcp, Stack::Quinn, Stack::Program, Stack::Dccp];

    #[test]
    fn the_keys_values_are_the_registrys_names() {
        let names: Vec<_> = stacks::ENTRIES.iter().map(|entry| entry.id).collect();
        assert_eq!(STACKS.map(|stack| stack.id().entry().id).to_vec(), names);
        for stack in STACKS {
            assert_eq!(serde_json::json!(stack), stack.id().entry().id);
        }
    }

    /// The good scenario with stacks for the server and the mobile host, on lines 4 and 7.
    fn with(server: &str, mobile: &str) -> String {
        let stack = |name: &str| format!("profile = \"plain\"\nstack = \"{name}\"");
        GOOD.replacen("profile = \"plain\"", &stack(server), 1)
            .replace("[hosts.mobile]\nprofile = \"plain\"", &format!("[hosts.mobile]\n{}", stack(mobile)))
    }

    #[test]
    fn a_kernel_has_no_place_in_virtual_time() {
        let check = |text: &str, overrides: &[&str]| {
            crate::check_virtual_time("good.toml", Some(text), overrides, &crate::tests::search())
        };
        let refused = check(&with("smoltcp", "kernel"), &[]).unwrap_err();
        assert_eq!((refused.key.as_str(), refused.line()), ("hosts.mobile.stack", Some(7)));
        assert_eq!(refused.message, "host mobile has the stack \"kernel\", which runs in real time only");
        assert_eq!(refused.help, "use lasthop live, or stack = \"lasthop\"");
        let overridden = check(&with("smoltcp", "lasthop"), &["hosts.server.stack=kernel"]).unwrap_err();
        assert_eq!((overridden.key.as_str(), overridden.line()), ("hosts.server.stack", None));
        assert_eq!(check(&with("smoltcp", "lasthop"), &[]), Ok(()));
    }

    #[test]
    fn dccp_has_no_place_in_real_time() {
        let check = |text: &str| {
            crate::check_real_time("good.toml", Some(text), &[] as &[&str], &crate::tests::search())
        };
        let refused = check(&with("smoltcp", "dccp")).unwrap_err();
        assert_eq!((refused.key.as_str(), refused.line()), ("hosts.mobile.stack", Some(7)));
        assert_eq!(refused.message, "host mobile has the stack \"dccp\", which runs in virtual time only");
        assert_eq!(refused.help, "use lasthop run, or another stack");
        assert_eq!(check(&with("smoltcp", "kernel")), Ok(()));
    }

    #[test]
    fn a_host_has_the_stack_that_the_file_names() {
        let resolved = read(&with("smoltcp", "kernel"), &[]).unwrap();
        let stacks: Vec<_> = resolved.hosts.iter().map(|host| host.stack).collect();
        assert_eq!(stacks, [Some(Stack::Smoltcp), Some(Stack::Kernel)]);
        assert_eq!(resolved.stacks().get(units::NodeId::new(0)), Some(Stack::Smoltcp.id()));
        assert!(!read(GOOD, &[]).unwrap().json().contains("\"stack\""), "hashes of others stay as they were");
    }

    #[test]
    fn a_stack_of_others_needs_no_profile_and_ours_does() {
        let without = |stack: &str| GOOD.replacen("profile = \"plain\"", &format!("stack = \"{stack}\""), 1);
        assert_eq!(read(&without("smoltcp"), &[]).unwrap().hosts[0].profile, "");
        let said = read(&without("lasthop"), &[]).unwrap_err().to_string();
        assert!(said.contains("good.toml:2: hosts.server: the key \"profile\" is missing"), "{said}");
    }

    #[test]
    fn every_workload_runs_over_stacks_of_others() {
        let web = with("smoltcp", "lasthop").replace("bytes = \"100 KiB\"", "workload = { web = {} }");
        let web = web.replace("milestones = [\"10 KiB\"]\n", "until = \"9 s\"\n");
        assert_eq!(read(&web, &[]).map(|_| ()), Ok(()));
    }

    #[test]
    fn settings_of_quinn_need_its_stack_and_zero_rtt_both_hosts() {
        let whole = "preset = \"slow\"\nmtu = \"1500 bytes\"";
        let quinn = with("quinn", "quinn").replace("preset = \"slow\"", whole);
        let resolved = read(&quinn, &["hosts.server.quinn.congestion=bbr"]).unwrap();
        assert_eq!(
            resolved.stacks().get(units::NodeId::new(0)).unwrap().quinn().congestion,
            stacks::QuinnCongestion::Bbr
        );
        let other = read(GOOD, &["hosts.server.quinn.congestion=new-reno"]).unwrap_err();
        assert_eq!(other.key, "hosts.server.quinn");
        assert!(other.help.contains("stack = \"quinn\""), "{other}");
        let alone = read(&quinn, &["hosts.server.quinn.zero_rtt=true"]).unwrap_err();
        assert_eq!(alone.key, "hosts.mobile.quinn", "{alone}");
        read(&quinn, &["hosts.server.quinn.zero_rtt=true", "hosts.mobile.quinn.zero_rtt=true"]).unwrap();
        let unknown = read(&quinn, &["hosts.server.quinn.congestion=vegas"]).unwrap_err();
        assert!(unknown.to_string().contains("new-reno"), "{unknown}");
    }

    #[test]
    fn what_stacks_cannot_do_is_said_where_it_stands() {
        let said = |text: &str| read(text, &[]).unwrap_err().to_string();
        let transport = said(&with("quinn", "smoltcp"));
        assert!(
            transport.contains("flows.download.to: flow download: server (quinn) speaks QUIC"),
            "{transport}"
        );
        let small = said(&with("quinn", "quinn"));
        assert!(small.contains("the links at server carry packets of 296 bytes at most"), "{small}");
        let unknown = said(&with("lwip", "kernel"));
        assert!(unknown.contains("hosts.server.stack") && unknown.contains("smoltcp"), "{unknown}");
        let simulated =
            said(&(with("smoltcp", "lasthop") + "[live]\nsimulated = [\"server\", \"mobile\"]\n"));
        assert!(simulated.contains("host \"server\" is simulated in a live run"), "{simulated}");
    }
}
