//! The path to a value: `links.0.down.rate`.

use std::fmt;

/// The steps from the top of a file to a value: keys, and positions in lists as decimal numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyPath(pub(crate) Vec<String>);

impl KeyPath {
    pub(crate) fn root() -> Self {
        Self::default()
    }

    pub(crate) fn of<const N: usize>(steps: [&str; N]) -> Self {
        Self(steps.map(str::to_owned).to_vec())
    }

    /// The path one step further.
    pub(crate) fn below(&self, step: impl ToString) -> Self {
        let mut steps = self.0.clone();
        steps.push(step.to_string());
        Self(steps)
    }

    /// The path that leads to `further` from here.
    pub(crate) fn join(&self, further: &Self) -> Self {
        Self(self.0.iter().chain(&further.0).cloned().collect())
    }

    pub(crate) fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    pub(crate) fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    pub(crate) fn starts_with(&self, above: &Self) -> bool {
        self.0.starts_with(&above.0)
    }

    /// Reads the path of a configuration's error: `events[0].packet`, or nothing for the table itself.
    pub(crate) fn of_config(path: &str) -> Self {
        let steps = path.split(['.', '[']).map(|step| step.trim_end_matches(']').to_owned());
        Self(steps.filter(|step| !step.is_empty()).collect())
    }

    /// Reads `links.lasthop.down.rate`; a step with a dot inside is in double quotes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut steps = vec![String::new()];
        let mut quoted = false;
        for c in text.chars() {
            match c {
                '"' => quoted = !quoted,
                '.' if !quoted => steps.push(String::new()),
                c => steps.last_mut()?.push(c),
            }
        }
        let steps: Vec<String> = steps.into_iter().map(|step| step.trim().to_owned()).collect();
        (!quoted && steps.iter().all(|step| !step.is_empty())).then_some(Self(steps))
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            let quote = if step.contains('.') { "\"" } else { "" };
            write!(f, "{dot}{quote}{step}{quote}")?;
        }
        Ok(())
    }
}
