//! What the tests of the TCP endpoint are built with; nothing here ships.
//!
//! - [`pair`]: two endpoints and a clock, with a fate for each packet between them.
//! - [`fate`]: what can befall a packet, by a list or by a seeded draw.
//! - [`timeline`]: scripts of segments, played against one endpoint.
//! - [`integrity`]: connections over bad pipes, by number.
//! - [`suite`]: what every registered algorithm must pass.
//! - [`profile`]: a base profile and what differs from it.
//!
//! The tests themselves are under `tests/` and, as timelines, under `scripts/tcp/`.

pub mod fate;
pub mod integrity;
pub mod pair;
pub mod profile;
pub mod suite;
pub mod timeline;
