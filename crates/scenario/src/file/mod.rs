//! The files that users write, as types: the one definition of their keys.
//!
//! From these types come the parser, the JSON schemas under `docs/schema/`, and the reference docs. They hold
//! shape and units only; names are looked up and defaults written out by `resolve`.

mod flow;
mod machine;
mod measure;
mod preset;
mod profile;
mod proxy;
mod scenario;
mod study;

pub use self::proxy::{Proxy, ProxyTcp};
pub use flow::{Flow, Start};
pub use machine::Machine;
pub use measure::{Measure, WarmUp};
pub use preset::Preset;
pub use profile::Profile;
pub use scenario::{Host, Link, Live, Migrate, Record, Scenario, Stack, SysctlValue, Table};
pub use study::{
    Agreement, Chart, Claim, Figure, FigureKind, Fold, Form, Grid, Metric, Number, Oracle, Published, Ratio,
    Scope, Selection, Smallest, Span, Stat, Study, StudyTable, TransferMeasure,
};
