//! Shared channels: their links, and the service of each user.

use std::collections::BTreeMap;

use cell::UserConfig;
use cell::layout::{Layout, Point};
use link::ConfigError;
use units::text::{PacketsOrBytes, QueueLimit, write_duration};
use units::{Duration, Rate};

use super::{Check, place_of};
use crate::error::InputError;
use crate::file::Preset;
use crate::resolved::{Cell, CellUser, Flow};
use crate::suggest;
use crate::tree::{KeyPath, Tree};

impl Check<'_> {
    /// A link has one downward path: its own direction or a shared channel. Only a channel has users.
    pub(super) fn one_way_down(&self, i: usize) -> Result<(), InputError> {
        let (down, user) = (place_of("links", i, "down"), place_of("links", i, "user"));
        if self.tree.get(&user).is_some() && !self.is_on_a_channel(i) {
            return Err(self.tree.error(
                &user,
                "the link has no shared channel, so it has no user",
                "add a cell or a channel, or leave user out",
            ));
        }
        match (self.tree.get(&down).is_some(), self.is_on_a_channel(i)) {
            (true, true) => Err(self.tree.error(
                &down,
                "a shared channel takes the place of this direction",
                "keep one of down and cell; give what lies beyond the radio to the link behind the base station",
            )),
            (false, false) => Err(self.tree.error(
                &KeyPath::of(["links"]).below(i),
                "the key \"down\" is missing",
                "add down = { rate = \"1 Mbit/s\" }, or a cell",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn is_on_a_channel(&self, i: usize) -> bool {
        self.file.links[i].cell.is_some() || self.file.links[i].channel.is_some()
    }

    /// The shared channels, in the order in which links name them.
    pub(super) fn cells(&self, flows: &[Flow]) -> Result<Vec<Cell>, InputError> {
        let mut cells: Vec<Cell> = Vec::new();
        let budgets = budgets(flows);
        for i in (0..self.file.links.len()).filter(|i| self.is_on_a_channel(*i)) {
            let name = self.channel(i);
            let place = match cells.iter().position(|cell| cell.name == name) {
                Some(place) => place,
                None => {
                    cells.push(Cell {
                        name: name.to_owned(),
                        config: self.cell_config(name, i)?,
                        users: Vec::new(),
                    });
                    cells.len() - 1
                }
            };
            self.same_cell(i, &cells[place].config)?;
            let user = self.cell_user(i, &cells[place].config, &budgets)?;
            cells[place].users.push(user);
        }
        Ok(cells)
    }

    /// The name of a link's channel.
    pub(super) fn channel(&self, i: usize) -> &str {
        let link = &self.file.links[i];
        link.channel.as_deref().unwrap_or(&link.name)
    }

    /// The configuration of link `i`'s channel, by the first link that has one.
    fn cell_config(&self, name: &str, i: usize) -> Result<cell::Config, InputError> {
        let on_it = |at: &usize| self.is_on_a_channel(*at) && self.channel(*at) == name;
        let mut links = (0..self.file.links.len()).filter(on_it);
        let Some((at, config)) = links.find_map(|at| Some((at, self.file.links[at].cell.as_ref()?))) else {
            let with_cell = self.file.links.iter().enumerate().filter(|(_, link)| link.cell.is_some());
            let names: Vec<&str> = with_cell.map(|(at, _)| self.channel(at)).collect();
            let message = format!("there is no channel \"{name}\": no link on it has a cell");
            return Err(self.tree.error(
                &place_of("links", i, "channel"),
                message,
                suggest::among(name, &names, "channels"),
            ));
        };
        config.validate().map_err(|error| self.cell_error(at, "cell", error))?;
        Ok(config.clone())
    }

    /// All links that configure one channel must agree.
    fn same_cell(&self, i: usize, config: &cell::Config) -> Result<(), InputError> {
        if self.file.links[i].cell.as_ref().is_none_or(|own| own == config) {
            return Ok(());
        }
        let message = format!("another link on the channel \"{}\" has another cell", self.channel(i));
        Err(self.tree.error(&place_of("links", i, "cell"), message, "write the cell at one of them"))
    }

    fn cell_user(
        &self,
        i: usize,
        config: &cell::Config,
        budgets: &BTreeMap<&str, Duration>,
    ) -> Result<CellUser, InputError> {
        let link = &self.file.links[i];
        let budget = link.user.budget.or_else(|| budgets.get(link.between[1].as_str()).copied());
        let user = UserConfig {
            budget,
            min_rate: link.user.min_rate.unwrap_or_else(|| least_rate(budget)),
            queue_limit: self.user_queue_limit(i)?,
            speed: link.user.speed,
            heading: link.user.heading,
        };
        config.validate_user(&user).map_err(|error| self.cell_error(i, "user", error))?;
        if let Some([x, y]) = link.user.place
            && !Layout::of(&config.layout).contains(Point { x: x.0, y: y.0 })
        {
            let message = format!("{} m east and {} m north of the first site is outside the plan", x.0, y.0);
            let reach = Layout::of(&config.layout).radius();
            let help = format!("write a place in the plan, which reaches {reach:.0} m at most, or none");
            return Err(self.tree.error(&place_of("links", i, "user").below("place"), message, help));
        }
        Ok(CellUser { link: link.name.clone(), config: user, place: link.user.place })
    }

    /// The limit of a user's queue. A time is refused, because a user's share of the channel depends on all users.
    fn user_queue_limit(&self, i: usize) -> Result<Option<PacketsOrBytes>, InputError> {
        let time = match self.file.links[i].user.queue_limit {
            None => return Ok(None),
            Some(QueueLimit::Packets(packets)) => return Ok(Some(PacketsOrBytes::Packets(packets))),
            Some(QueueLimit::Bytes(size)) => return Ok(Some(PacketsOrBytes::Bytes(size))),
            Some(QueueLimit::Time(time)) => time,
        };
        let path = place_of("links", i, "user").below("queue_limit");
        let message = "a user of a shared channel has no rate that would make a size of a time";
        let help = format!(
            "write packets or bytes, like \"100 kB\", or budget = \"{}\", which drops what is older",
            write_duration(time)
        );
        Err(self.tree.error(&path, message, help))
    }

    fn cell_error(&self, i: usize, key: &str, error: ConfigError) -> InputError {
        let path = place_of("links", i, key).join(&KeyPath::of_config(&error.path));
        self.tree.error(&path, error.message, error.help)
    }
}

/// A preset has one downward path, and a valid shared channel.
pub(crate) fn check_cell_preset(tree: &Tree, preset: &Preset) -> Result<(), InputError> {
    let down = KeyPath::of(["down"]);
    match (&preset.cell, tree.get(&down).is_some()) {
        (Some(_), true) => {
            Err(tree.error(&down, "the cell takes the place of this direction", "keep one of the two"))
        }
        (None, false) => {
            Err(tree.error(&KeyPath::root(), "the key \"down\" is missing", "add [down], or [cell]"))
        }
        (Some(config), false) => config.validate().map_err(|error| {
            let path = KeyPath::of(["cell"]).join(&KeyPath::of_config(&error.path));
            tree.error(&path, error.message, error.help)
        }),
        (None, true) => Ok(()),
    }
}

/// For each host, the shortest delay budget among the workloads sent to it, if any has one.
fn budgets(flows: &[Flow]) -> BTreeMap<&str, Duration> {
    let mut budgets: BTreeMap<&str, Duration> = BTreeMap::new();
    for flow in flows {
        let Some(budget) = flow.workload.as_ref().and_then(|workload| workload.service().budget) else {
            continue;
        };
        let shortest = budgets.entry(&flow.to).or_insert(budget);
        *shortest = budget.min(*shortest);
    }
    budgets
}

/// Landström 2008 §7.4: 13.6 kbit/s for voice, 64 kbit/s for web.
const fn least_rate(budget: Option<Duration>) -> Rate {
    Rate::from_bits_per_sec(if budget.is_some() { 13_600 } else { 64_000 })
}
