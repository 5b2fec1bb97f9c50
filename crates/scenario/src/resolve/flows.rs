//! Flows: the hosts that an entry joins, the amount that it sends, and its number of connections.

use std::collections::BTreeSet;

use units::Bytes;
use units::text::{write_bytes, write_duration};
use workload::Application;

use super::reach::Reach;
use super::{Check, lines, place_of, reading};
use crate::error::InputError;
use crate::file::Start;
use crate::resolved::{Flow, Link};
use crate::topology;
use crate::tree::KeyPath;

/// Two hosts that an entry joins, and the text that `*` matches in its names.
struct Pair {
    from: String,
    to: String,
    star: Option<String>,
}

impl Check<'_> {
    pub(super) fn flows(&self, links: &[Link]) -> Result<Vec<Flow>, InputError> {
        let reach = Reach::new(&self.file.routers, links);
        let compressing = self.compressing(links);
        let mut names = BTreeSet::new();
        let mut flows = Vec::new();
        for i in 0..self.file.flows.len() {
            self.class(i)?;
            self.flow_amount(i)?;
            self.ends_after_its_start(i)?;
            let workload = self.workload(i, links)?;
            for pair in self.pairs(i)? {
                self.ends(i, &pair, &reach)?;
                self.compresses_once(i, [&pair.from, &pair.to], workload.as_ref(), &compressing)?;
                flows.extend(self.alike(i, &pair, workload.as_ref())?);
            }
            if let Some(twice) = flows[names.len()..].iter().find(|flow| names.contains(&flow.name)) {
                let message = format!("the name \"{}\" is taken", twice.name);
                return Err(self.tree.error(
                    &place_of("flows", i, "name"),
                    message,
                    "give the flows other names",
                ));
            }
            names.extend(flows.iter().map(|flow| flow.name.clone()));
        }
        Ok(flows)
    }

    fn class(&self, i: usize) -> Result<(), InputError> {
        let class = self.file.flows[i].class;
        if class > HIGHEST_CLASS {
            let message = format!("there is no traffic class {class}");
            return Err(self.tree.error(
                &place_of("flows", i, "class"),
                message,
                "write 0 (the lowest) to 7",
            ));
        }
        Ok(())
    }

    /// The pairs of hosts that an entry joins: one, or all that match if its names have a `*`, which matches the same
    /// text in both.
    fn pairs(&self, i: usize) -> Result<Vec<Pair>, InputError> {
        let flow = &self.file.flows[i];
        let (from, to) = (&flow.from, &flow.to);
        if !from.contains('*') && !to.contains('*') {
            return Ok(vec![Pair { from: from.clone(), to: to.clone(), star: None }]);
        }
        let (key, pattern) = if from.contains('*') { ("from", from) } else { ("to", to) };
        let stars = topology::stars(self.tree, &place_of("flows", i, key), pattern)?;
        let pair = |star: String| {
            let filled = |name: &String| name.replacen('*', &star, 1);
            Pair { from: filled(from), to: filled(to), star: Some(star) }
        };
        let pairs = stars.into_iter().map(pair);
        // "all hosts to the server" does not include the server itself.
        let both = from.contains('*') && to.contains('*');
        Ok(pairs.filter(|pair| both || pair.from != pair.to).collect())
    }

    fn ends(&self, i: usize, pair: &Pair, reach: &Reach) -> Result<(), InputError> {
        for (key, name) in [("from", &pair.from), ("to", &pair.to)] {
            if !self.file.hosts.contains_key(name) {
                let hosts: Vec<&str> = self.file.hosts.keys().map(String::as_str).collect();
                self.known(&place_of("flows", i, key), name, &hosts, "host", "hosts")?;
            }
        }
        let to = place_of("flows", i, "to");
        if pair.from == pair.to {
            return Err(self.tree.error(&to, "the flow leads to its own host", "name another host"));
        }
        if !reach.joins(&pair.from, &pair.to) {
            let message = format!("no links lead from \"{}\" to \"{}\"", pair.from, pair.to);
            return Err(self.tree.error(&to, message, "join them by links, over routers if need be"));
        }
        Ok(())
    }

    fn flow_amount(&self, i: usize) -> Result<(), InputError> {
        let flow = &self.file.flows[i];
        let path = |key| place_of("flows", i, key);
        let flow_itself = KeyPath::of(["flows"]).below(i);
        if flow.workload.is_some() {
            return self.application_amount(i);
        }
        match (flow.bytes, flow.until) {
            (None, None) => {
                let help = "add bytes = \"1 MB\" or until = \"30 s\"";
                return Err(self.tree.error(&flow_itself, "the amount that the flow sends is missing", help));
            }
            (Some(_), Some(_)) => {
                return Err(self.tree.error(&path("until"), "bytes is given as well", "keep one of the two"));
            }
            (Some(Bytes::ZERO), None) => {
                return Err(self.tree.error(
                    &path("bytes"),
                    "the flow sends nothing",
                    "write 1 byte or more",
                ));
            }
            _ => {}
        }
        let amount = flow.bytes.unwrap_or(Bytes::MAX);
        match flow.milestones.iter().position(|milestone| milestone.is_zero() || *milestone > amount) {
            Some(at) => {
                let message = format!("the flow never has {} acknowledged", write_bytes(flow.milestones[at]));
                let help = format!("milestones lie between 1 byte and {}", write_bytes(amount));
                Err(self.tree.error(&path("milestones").below(at), message, help))
            }
            None => Ok(()),
        }
    }

    fn ends_after_its_start(&self, i: usize) -> Result<(), InputError> {
        let flow = &self.file.flows[i];
        let (start, _) = Start::parts(flow.start);
        match flow.until {
            Some(until) if until <= start => {
                let message = format!("the flow starts at {} and ends no later", write_duration(start));
                let help = "until is a time of the run: write one after start";
                Err(self.tree.error(&place_of("flows", i, "until"), message, help))
            }
            _ => Ok(()),
        }
    }

    /// A workload has an end, and nothing that only a bulk transfer has.
    fn application_amount(&self, i: usize) -> Result<(), InputError> {
        let flow = &self.file.flows[i];
        let path = |key| place_of("flows", i, key);
        if flow.bytes.is_some() {
            return Err(self.tree.error(
                &path("bytes"),
                "a workload is given as well",
                "keep one of the two",
            ));
        }
        if !flow.milestones.is_empty() {
            let message = "a workload has no milestones";
            return Err(self.tree.error(
                &path("milestones"),
                message,
                "leave them to flows with bytes or until",
            ));
        }
        if flow.until.is_none() && self.file.stop.is_none() {
            let help = "add until = \"60 s\", or give the run a `stop`";
            return Err(self.tree.error(&path("workload"), "the workload would never end", help));
        }
        Ok(())
    }

    /// The workload, checked, with the files that its distributions name read in and the links looked up.
    fn workload(&self, i: usize, links: &[Link]) -> Result<Option<Application>, InputError> {
        let at = place_of("flows", i, "workload");
        let Some(mut workload) = self.file.flows[i].workload.clone() else { return Ok(None) };
        let located = |error: link::ConfigError| {
            let path = at.join(&KeyPath::of_config(&error.path));
            self.tree.error(&path, error.message, error.help)
        };
        workload.load_files(&mut |path| reading(self.tree, &at, path)).map_err(located)?;
        workload.check().map_err(located)?;
        workload.look_up_lines(&mut |name| lines::find(links, name)).map_err(located)?;
        Ok(Some(workload))
    }

    /// The flows of one entry between two hosts.
    fn alike(&self, i: usize, pair: &Pair, workload: Option<&Application>) -> Result<Vec<Flow>, InputError> {
        let file = &self.file.flows[i];
        let (start, start_jitter) = Start::parts(file.start);
        let base =
            pair.star.as_ref().map_or_else(|| file.name.clone(), |star| format!("{}-{star}", file.name));
        let flow = |name: String| Flow {
            name,
            from: pair.from.clone(),
            to: pair.to.clone(),
            tcp: None,
            bytes: file.bytes,
            until: file.until,
            workload: workload.cloned(),
            class: file.class,
            start,
            start_jitter,
            milestones: file.milestones.clone(),
        };
        match file.count {
            Some(0) => {
                Err(self.tree.error(&place_of("flows", i, "count"), "no flow at all", "write 1 or more"))
            }
            Some(count) if count > MOST_ALIKE => {
                let message =
                    format!("{count} connections of two hosts, which have {MOST_ALIKE} ports for them");
                Err(self.tree.error(
                    &place_of("flows", i, "count"),
                    message,
                    format!("write {MOST_ALIKE} or less"),
                ))
            }
            None | Some(1) => Ok(vec![flow(base)]),
            Some(count) => Ok((1..=count).map(|n| flow(format!("{base}-{n}"))).collect()),
        }
    }
}

/// The ports of the dynamic range (RFC 6335 §6).
const MOST_ALIKE: u32 = 16_384;
/// A traffic class is a precedence, of three bits (RFC 2474 §4.2.2.1).
const HIGHEST_CLASS: u8 = 7;
