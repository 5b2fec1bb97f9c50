//! Proxies on the way of a flow, and how one of them splits its connections.

use std::sync::Arc;

use units::Bytes;

use super::error::BuildError;
use super::path_mtu::fitted;
use crate::ids::{Id, PerSide, ProxyId};
use crate::route::{Hop, NextHop, Routes};
use crate::spec::{FlowSpec, ProxySpec, Spec};
use crate::split::SplitPlan;

/// A proxy on a route: the hop after it, and whether packets of the route enter its link there.
pub(super) type Crossed = (ProxyId, NextHop, proxy::Heading);

/// The proxies on the route that begins with this hop.
pub(super) fn proxies_from(routes: &Routes, first: NextHop) -> Vec<Crossed> {
    let proxy = |(at, hop): (NextHop, Hop)| match hop {
        Hop::Proxy(proxy, heading) => Some((proxy, at.next(), heading)),
        _ => None,
    };
    routes.from(first).filter_map(proxy).collect()
}

/// How a proxy on the way of a flow splits its connections, if one does. Both ways must cross the same proxies.
pub(super) fn split_plan(
    spec: &Spec,
    flow: &FlowSpec,
    [forth, back]: &[Vec<Crossed>; 2],
    mtu: Option<Bytes>,
) -> Result<Option<SplitPlan>, BuildError> {
    let proxy = |proxy: ProxyId| &spec.proxies[proxy.index()];
    let crosses = |way: &[Crossed], one: ProxyId| way.iter().any(|(other, ..)| *other == one);
    let lacking = |(one, other): (&[Crossed], &[Crossed])| {
        one.iter().map(|(proxy, ..)| *proxy).find(|proxy| !crosses(other, *proxy))
    };
    if let Some(one_way) = [(&**forth, &**back), (&**back, &**forth)].into_iter().find_map(lacking) {
        let (flow, proxy) = (flow.name.clone(), proxy(one_way).name.clone());
        return Err(BuildError::OneWay { flow, proxy });
    }
    let splits: Vec<&Crossed> = forth.iter().filter(|(one, ..)| proxy(*one).kind.split().is_some()).collect();
    if let [(first, ..), (second, ..), ..] = splits[..] {
        let [first, second] = [first, second].map(|one| proxy(*one).name.clone());
        return Err(BuildError::TwoSplits { flow: flow.name.clone(), first, second });
    }
    let Some(&&(id, forwards, heading)) = splits.first() else { return Ok(None) };
    let backwards = back.iter().find(|(one, ..)| *one == id).map_or(forwards, |(_, next, _)| *next);
    let ProxySpec { kind, wireless, wired, .. } = proxy(id);
    let [near, far] = if heading == proxy::Heading::In { [wired, wireless] } else { [wireless, wired] };
    // The end that stands for a host has that host's TCP unless the file gives it another.
    let buffer = kind.split().map_or(Bytes::ZERO, |split| split.buffer);
    let of = |own: &Option<Arc<tcp::Config>>, host: &Arc<tcp::Config>| {
        let mut config = tcp::Config::clone(&fitted(own.as_ref().unwrap_or(host), mtu));
        config.limit_window(buffer);
        Arc::new(config)
    };
    let tcps = PerSide::new(of(far, &flow.sender), of(near, &flow.receiver));
    Ok(Some(SplitPlan { proxy: id, tcps, buffer, onwards: PerSide::new(forwards, backwards) }))
}
