//! A user who asks over QUIC: by streams, by HTTP/3, and over paths that change.

mod http3;
mod migration;
mod streams;
mod support;
