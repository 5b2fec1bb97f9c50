//! A user's program in the first host.

use libtest_mimic::Trial;

use crate::support::{download, live, pair, quick, script};

/// The tests of this file.
pub(crate) fn trials() -> Vec<Trial> {
    live![
        a_program_runs_instead_of_the_flows_and_its_status_is_reported,
        a_program_reaches_the_other_host_across_the_link,
        a_program_sees_nothing_but_its_own_host,
        a_program_can_enter_the_other_hosts_namespace_by_its_file,
        whatever_a_program_leaves_behind_ends_with_it,
    ]
}

fn a_program_runs_instead_of_the_flows_and_its_status_is_reported() {
    let outcome = live(&download(quick(), 1 << 40), script("exit 3"));
    assert_eq!(outcome.summary.command.unwrap().status, Some(3));
    assert_eq!(outcome.summary.run.stopped_by, "the program ended");
    assert!(outcome.summary.run.flows.is_empty());
}

fn a_program_reaches_the_other_host_across_the_link() {
    // No socket listens there, so the other kernel answers with a reset at once.
    let knock = "test $LASTHOP_ADDRESS_RIGHT = $LASTHOP_PEER || exit 1
                 (: > /dev/tcp/$LASTHOP_PEER/9) 2>&1 | grep -q refused";
    let outcome = live(&pair(quick(), vec![]), script(knock));
    assert_eq!(outcome.summary.command.unwrap().status, Some(0));
    assert_eq!(outcome.summary.run.links[0].packets_out, 1);
    assert_eq!(outcome.summary.run.links[1].packets_out, 1);
}

fn a_program_sees_nothing_but_its_own_host() {
    let look = "test $(tail -n +3 /proc/thread-self/net/dev | cut -d: -f1 | xargs | tr ' ' ,) = lo,hop0 ||
                test $(tail -n +3 /proc/thread-self/net/dev | cut -d: -f1 | xargs | tr ' ' ,) = hop0,lo";
    let outcome = live(&pair(quick(), vec![]), script(look));
    assert_eq!(outcome.summary.command.unwrap().status, Some(0));
}

fn a_program_can_enter_the_other_hosts_namespace_by_its_file() {
    let outcome = live(&pair(quick(), vec![]), script("test -e $LASTHOP_NETNS_RIGHT"));
    assert_eq!(outcome.summary.command.unwrap().status, Some(0));
}

fn whatever_a_program_leaves_behind_ends_with_it() {
    let mark = format!("31{}", std::process::id());
    live(&pair(quick(), vec![]), script(&format!("sleep {mark} & exit 0")));
    assert!(!crate::process::somebody_runs(&["sleep", &mark]));
}
