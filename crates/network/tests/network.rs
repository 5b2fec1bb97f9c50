//! A network under stacks of a test.

use std::time::Duration;

use lasthop_network::{Arrival, Datagram, Loss, Network, NetworkError};

const MS: Duration = Duration::from_millis(1);

/// Two hosts and a link; 1 Mbit/s and a queue of three packets down, 10 ms each way.
fn path(more: &str) -> String {
    format!(
        r#"
        name = "path"
        [hosts]
        client = {{ address = "10.0.0.1" }}
        server = {{ address = "10.0.0.2" }}
        [[links]]
        name = "lasthop"
        between = ["server", "client"]
        down = {{ rate = "1 Mbit/s", propagation = "10 ms", queue = {{ limit = "3 packets" }} }}
        up = {{ rate = "1 Mbit/s", propagation = "10 ms" }}
        {more}
        "#
    )
}

fn network(more: &str) -> Network {
    Network::parse(&path(more), &[], None).expect("a scenario that the test means")
}

/// A datagram that takes 1 ms at 1 Mbit/s, from the server to the client.
fn datagram(number: u8) -> Datagram {
    let at = |text: &str| text.parse().expect("an address");
    Datagram { from: at("10.0.0.2:4433"), to: at("10.0.0.1:5000"), ecn: 2, payload: vec![number; 97] }
}

fn run_out(network: &mut Network) -> Vec<Arrival> {
    let mut arrived = Vec::new();
    while let Some(next) = network.next_event() {
        network.run_until(next).expect("nothing is wrong");
        arrived.extend(std::iter::from_fn(|| network.poll()));
    }
    arrived
}

#[test]
fn datagrams_arrive_in_the_time_of_the_link_and_what_the_queue_refuses_is_reported() {
    let mut network = network("");
    for number in 0..6 {
        assert!(network.send_datagram(Duration::ZERO, &datagram(number)).expect("it can be sent"));
    }
    let arrived = run_out(&mut network);
    let times: Vec<Duration> = arrived.iter().map(|arrival| arrival.at).collect();
    assert_eq!(times, [11 * MS, 12 * MS, 13 * MS, 14 * MS], "one on the line and three in the queue");
    let numbers: Vec<Option<Datagram>> = arrived.iter().map(Arrival::datagram).collect();
    assert_eq!(numbers, (0..4).map(|number| Some(datagram(number))).collect::<Vec<_>>());
    assert!(arrived.iter().all(|arrival| Some(arrival.host) == network.host("client")));
    let fates: Vec<_> = std::iter::from_fn(|| network.poll_fate()).collect();
    assert_eq!(fates.len(), 2);
    assert!(fates.iter().all(|fate| matches!(fate.loss, Loss::Lost { .. })), "{fates:?}");
}

#[test]
fn the_same_calls_give_the_same_packets_and_another_seed_gives_others() {
    let lossy = ["links.lasthop.down.errors={ per = \"packet\", probability = 0.3, effect = \"drop\" }"];
    let arrivals = |seed| {
        let mut network = Network::parse(&path(""), &lossy, Some(seed)).expect("a valid override");
        for number in 0..100 {
            network.send_datagram(u32::from(number) * 2 * MS, &datagram(number)).expect("it can be sent");
        }
        run_out(&mut network)
    };
    assert_eq!(arrivals(1), arrivals(1));
    assert_ne!(arrivals(1), arrivals(2));
    assert!((50..90).contains(&arrivals(1).len()));
}

#[test]
fn a_scenario_in_which_every_host_has_a_flow_is_refused() {
    let flow = "[[flows]]\nname = \"download\"\nfrom = \"server\"\nto = \"client\"\nbytes = \"10 kB\"\n";
    let overrides = ["hosts.client.profile=reno", "hosts.server.profile=reno"];
    let refused = Network::parse(&path(flow), &overrides, None).map(|_| ()).expect_err("no host is left");
    assert!(matches!(refused, NetworkError::NoHost), "{refused}");
}

#[test]
fn a_mistake_in_the_text_has_its_place_and_a_remedy() {
    let refused =
        Network::parse(&path("bogus = 1"), &[], None).map(|_| ()).expect_err("there is no such key");
    assert!(refused.to_string().starts_with("scenario.toml:"), "{refused}");
}

#[test]
fn time_does_not_run_back_and_strangers_do_not_send() {
    let mut network = network("");
    network.run_until(5 * MS).expect("time runs on");
    assert!(matches!(network.send_datagram(4 * MS, &datagram(1)), Err(NetworkError::Past { .. })));
    let stranger = Datagram { from: "192.0.2.1:1".parse().expect("an address"), ..datagram(1) };
    assert!(matches!(network.send_datagram(5 * MS, &stranger), Err(NetworkError::Address(_))));
    let long = Datagram { payload: vec![0; 65_508], ..datagram(1) };
    assert!(matches!(network.send_datagram(5 * MS, &long), Err(NetworkError::Length(65_508))));
    let nowhere = Datagram { to: "192.0.2.1:1".parse().expect("an address"), ..datagram(1) };
    assert_eq!(network.send_datagram(5 * MS, &nowhere).ok(), Some(false));
    assert_eq!(network.unroutable(), 1);
}

#[test]
fn results_are_a_folder_as_that_of_a_run() {
    let folder = std::env::temp_dir().join(format!("lasthop-network-{}", std::process::id()));
    let mut network = network("[record]\ntables = [\"packets\"]\ncaptures = [\"client\"]");
    network.send_datagram(Duration::ZERO, &datagram(1)).expect("it can be sent");
    run_out(&mut network);
    let results = network.finish();
    assert_eq!(results.summary["clock"], "virtual");
    assert_eq!(results.summary["links"][0]["packets_out"], 1);
    results.write(&folder).expect("a folder that can be written");
    let index: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("run.json")).expect("it was written"))
            .expect("JSON");
    for (name, fingerprint) in index["files"].as_object().expect("a table") {
        assert_eq!(std::fs::metadata(folder.join(name)).expect("it is there").len(), fingerprint["bytes"]);
    }
    assert!(
        index["files"].get("capture-client.pcapng").is_some()
            && index["files"].get("packets.parquet").is_some()
    );
    std::fs::remove_dir_all(folder).expect("it was made here");
}
