//! The tools of the TCP endpoint's tests. Nothing here ships.
//!
//! - [`pair`]: two endpoints and a clock, with a fate for each packet between them.
//! - [`fate`]: losses, duplicates and delays of packets, by a list or by a seeded draw.
//! - [`timeline`]: scripts of segments that are played against one endpoint.
//! - [`integrity`]: numbered connections over bad pipes, whose streams must arrive complete.
//! - [`suite`]: the checks that every registered algorithm must pass.
//! - [`profile`]: profiles with overrides.
//!
//! The tests themselves are under `tests/` and, as timelines, under `scripts/tcp/`.

pub mod fate;
pub mod integrity;
pub mod pair;
pub mod profile;
mod side;
pub mod suite;
pub mod timeline;
