//! Directions of links by their names, "lasthop.down": what one carries, and its capacity as a trace.

use link::ConfigError;
use units::{Duration, Streams};
use workload::workloads::Line;

use crate::error::InputError;
use crate::resolved::{Link, Resolved};
use crate::suggest;

/// The direction of this name, and the other direction of the same link.
pub(super) fn find(links: &[Link], name: &str) -> Result<[Line; 2], ConfigError> {
    let (found, direction) = direction(links, name)?;
    let [down, up] = [line(found, &found.down)?, line(found, &found.up)?];
    Ok(if direction == "down" { [down, up] } else { [up, down] })
}

/// The capacity of one direction of a link.
fn line(link: &Link, config: &link::Config) -> Result<Line, ConfigError> {
    let refuse = |what: &str| {
        let message = format!("the link \"{}\" has a direction {what}", link.name);
        ConfigError::new("", message, "give the link a rate, or name another: of none there is no share")
    };
    match config.nominal_rate() {
        None => Err(refuse("without a rate")),
        Some(rate) if rate.bits_per_sec() == 0 => Err(refuse("of less than 1 bit/s in the mean")),
        Some(rate) => Ok(Line { rate, mtu: link.mtu, framing: config.framing }),
    }
}

/// The link and the direction, "down" or "up", of a name.
fn direction<'a, 'n>(links: &'a [Link], name: &'n str) -> Result<(&'a Link, &'n str), ConfigError> {
    let Some((link, direction)) = name.rsplit_once('.').filter(|(_, way)| ["down", "up"].contains(way))
    else {
        let message = format!("\"{name}\" is no direction of a link");
        let help = "write a link's name and its direction, like \"lasthop.down\"";
        return Err(ConfigError::new("", message, help));
    };
    let known = links.iter().find(|known| known.name == link);
    known.map(|link| (link, direction)).ok_or_else(|| {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        let message = format!("there is no link \"{link}\"");
        ConfigError::new("", message, suggest::among(link, &names, "links"))
    })
}

impl Resolved {
    /// The opportunities to send 1500 bytes that a direction of a link, "lasthop.down", gives in a time, as a trace in
    /// Mahimahi's format: what its transmitter can send, with spikes, pre-emption and handovers as they come, but
    /// without allocation, resets, and what befalls packets on their way. It draws from the streams that the link
    /// has in a run.
    ///
    /// # Errors
    /// A name that no direction has, or a direction without a rate, whose opportunities are unlimited.
    pub fn link_trace(&self, name: &str, length: Duration) -> Result<String, InputError> {
        let refuse =
            |message: String, help: String| InputError { place: None, key: name.to_owned(), message, help };
        let (link, direction) =
            direction(&self.links, name).map_err(|error| refuse(error.message, error.help))?;
        let config = if direction == "down" { &link.down } else { &link.up };
        if config.rate.is_none() && config.capacity.is_none() && config.available_rate.is_none() {
            let message = "without a rate, its opportunities to send never end".to_owned();
            return Err(refuse(message, "give the direction a rate, or name another".to_owned()));
        }
        let streams = Streams::new(self.seed).below("link").below(&link.name).below(direction);
        Ok(link::capacity::trace::record(config, &streams, length))
    }
}
