//! A machine on which hosts or links of a live run are: where ssh reaches it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::text::REMEDY;

/// A machine that ssh reaches: `ssh://USER@HOST:PORT`, of which HOST is needed. After a `?` and joined by `&` come
/// `lasthop=PATH`, the program there, and `udp=ADDRESS:PORT`, the destination of its datagrams.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine(String);

impl FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("ssh://").ok_or_else(|| refusal(text))?;
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, host) = place.rsplit_once('@').unwrap_or(("", place));
        let (host, port) = host_and_port(host);
        let right_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
        // A word that begins with a dash would be an option of ssh.
        let is_word = |word: &str| !word.starts_with('-') && word.chars().all(is_of_a_name);
        if host.is_empty() || !is_word(host) || !is_word(user) || !right_port {
            return Err(refusal(text));
        }
        options.split('&').filter(|option| !option.is_empty()).try_for_each(check_option)?;
        Ok(Self(text.to_owned()))
    }
}

/// Splits off the port. An IPv6 address is in brackets (RFC 3986 §3.2.2).
fn host_and_port(place: &str) -> (&str, Option<&str>) {
    if let Some((address, port)) = place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (address, port.strip_prefix(':'));
    }
    place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port)))
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._-:%".contains(letter)
}

fn check_option(option: &str) -> Result<(), String> {
    // Words for the shell of the other machine: nothing in them may mean something to it.
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " ._-/~+=".contains(letter);
    match option.split_once('=') {
        Some(("lasthop", path)) if !path.is_empty() && path.chars().all(is_plain) => Ok(()),
        Some(("udp", to))
            if !to.is_empty() && to.chars().all(|letter| is_of_a_name(letter) || "[]".contains(letter)) =>
        {
            Ok(())
        }
        _ => Err(format!(
            "\"{option}\" says nothing about a machine{REMEDY}write lasthop=PATH of the program there, or udp=ADDRESS:PORT for its datagrams"
        )),
    }
}

fn refusal(text: &str) -> String {
    format!("\"{text}\" is no machine{REMEDY}write \"ssh://host\" or \"ssh://user@host:22\"")
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Machine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Machine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Machine {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Machine")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^ssh://",
            "description": "a machine like \"ssh://user@host:22\" or \"ssh://host?lasthop=/opt/venv/bin/lasthop&udp=192.0.2.1:4000\""
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_what_ssh_reaches() {
        for text in [
            "ssh://b",
            "ssh://me@b.example.org:2222",
            "ssh://[fe80::1%eth0]:22",
            "ssh://b?lasthop=/opt/my-venv/bin/lasthop&udp=192.0.2.1:4000",
            "ssh://b?lasthop=sudo -n lasthop",
        ] {
            assert_eq!(text.parse::<Machine>().map(|machine| machine.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_is_none_is_refused_with_what_would_be_right() {
        for text in
            ["b", "http://b", "ssh://", "ssh://-oProxyCommand=x", "ssh://b:0", "ssh://b:ssh", "ssh://b;ls"]
        {
            let said = text.parse::<Machine>().unwrap_err();
            assert!(said.contains("is no machine") && said.contains("ssh://host"), "{said}");
        }
        for text in ["ssh://b?lasthop=x;reboot", "ssh://b?key=~/.ssh/id", "ssh://b?udp="] {
            let said = text.parse::<Machine>().unwrap_err();
            assert!(said.contains("says nothing about a machine"), "{said}");
        }
    }
}
