//! Positions of the users: each is placed at random until it falls to the sector that is to serve it.

use units::{Stream, Streams};

use crate::decibel::ratio;
use crate::identity::{SECTORS_PER_SITE, SectorId, SiteId};
use crate::layout::{Layout, Point, angle_between};
use crate::radio::{RadioConfig, Serving};
use crate::random::unit;

/// A user's position, the sector that serves it, and its mean gain to each sector.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// Its position.
    pub place: Point,
    /// The sector that serves it.
    pub sector: SectorId,
    /// Mean gain to each sector, as a ratio of powers.
    pub gains: Vec<f64>,
    /// Shadowing to each site in decibels.
    pub shadowing: Vec<f64>,
}

/// A user at `place`, whose shadowing is drawn from `stream`.
#[must_use]
pub fn place(layout: &Layout, radio: &RadioConfig, place: Point, stream: &mut Stream) -> Placement {
    let shadowing = radio.shadowing().draw(layout.sites(), stream);
    let gains = gains(layout, radio, place, &shadowing);
    let sector = match radio.serving {
        Serving::Strongest => strongest(&gains),
        Serving::Nearest => layout.sector_at(place),
    };
    Placement { place, sector, gains, shadowing }
}

/// Mean gain from a place to each sector: antenna, path loss and shadowing.
pub(crate) fn gains(layout: &Layout, radio: &RadioConfig, place: Point, shadowing: &[f64]) -> Vec<f64> {
    let (antenna, path_loss) = (radio.antenna(), radio.path_loss());
    let mut gains = Vec::with_capacity(layout.sectors());
    for (site, shadow) in (0..).zip(shadowing) {
        let bearing = layout.bearing(SiteId(site), place);
        for sector in (0..SECTORS_PER_SITE).map(|k| SectorId(site * SECTORS_PER_SITE + k)) {
            let aside = angle_between(bearing.direction, Layout::boresight(sector));
            gains.push(path_loss.gain(bearing.distance, antenna.gain(aside)) * ratio(*shadow));
        }
    }
    gains
}

/// A user at random that `sector` serves: its place is uniform in a circle around the plan, kept if inside it, and
/// drawn anew, with its shadowing, until it is `sector`'s (Landström 2008 §7.5.2: the same number in every cell). It
/// draws from the streams `place` and `shadowing` below `streams`, so that adding a user moves no other.
#[must_use]
pub fn drop_user(layout: &Layout, radio: &RadioConfig, sector: SectorId, streams: &Streams) -> Placement {
    let (mut places, mut shadowing) = (streams.stream("place"), streams.stream("shadowing"));
    loop {
        let user = place(layout, radio, inside(layout, &mut places), &mut shadowing);
        if user.sector == sector {
            return user;
        }
    }
}

/// The same number of users in each sector; those of sector 0 first. The n-th draws from the streams below `user.n`.
#[must_use]
pub fn drop_users(
    layout: &Layout,
    radio: &RadioConfig,
    per_sector: u32,
    streams: &Streams,
) -> Vec<Placement> {
    let sectors = (0..layout.sectors() as u32).flat_map(|sector| (0..per_sector).map(move |_| sector));
    let users = sectors.enumerate().map(|(place, sector)| {
        drop_user(layout, radio, SectorId(sector), &streams.below("user").below(&place.to_string()))
    });
    users.collect()
}

/// A place in the plan, uniform over its area.
pub(crate) fn inside(layout: &Layout, stream: &mut Stream) -> Point {
    let radius = layout.radius();
    loop {
        let place = Point { x: (2.0 * unit(stream) - 1.0) * radius, y: (2.0 * unit(stream) - 1.0) * radius };
        if place.length() <= radius && layout.contains(place) {
            return place;
        }
    }
}

/// The sector with the greatest gain.
pub(crate) fn strongest(gains: &[f64]) -> SectorId {
    let place = (0..gains.len()).max_by(|a, b| gains[*a].total_cmp(&gains[*b]));
    SectorId(place.unwrap_or(0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decibel::decibels;

    fn users(per_sector: u32, seed: u64) -> (Layout, Vec<Placement>) {
        let layout = Layout::hexagonal(1, 1_000.0);
        let users = drop_users(&layout, &RadioConfig::default(), per_sector, &Streams::new(seed));
        (layout, users)
    }

    #[test]
    fn every_sector_serves_as_many_and_they_are_in_the_plan() {
        let (layout, users) = users(5, 1);
        assert_eq!(users.len(), 5 * 21);
        for (place, user) in users.iter().enumerate() {
            assert_eq!(user.sector.index(), place / 5);
            assert!(layout.contains(user.place));
        }
    }

    #[test]
    fn users_by_area_are_where_their_sector_is_and_may_hear_another_better() {
        let layout = Layout::hexagonal(1, 1_000.0);
        let radio = RadioConfig { serving: Serving::Nearest, ..RadioConfig::default() };
        let users = drop_users(&layout, &radio, 20, &Streams::new(1));
        assert!(users.iter().all(|user| user.sector == layout.sector_at(user.place)));
        let misled = users.iter().filter(|user| user.sector != strongest(&user.gains)).count();
        assert!((40..300).contains(&misled), "{misled} of 420");
    }

    #[test]
    fn the_same_seed_places_the_same_users() {
        assert_eq!(users(2, 7).1, users(2, 7).1);
        assert_ne!(users(2, 7).1, users(2, 8).1);
    }

    /// Geometry: wide-band ratio of the serving sector's power to all others'. For three-sector sites at full load its
    /// median lies around 3 dB and nine tenths of the users are above about −4 dB (3GPP TR 25.848 annex A; TR 25.896).
    #[test]
    fn the_geometry_of_a_fully_loaded_plan_is_that_of_such_layouts() {
        let (_, users) = users(100, 3);
        let mut geometry: Vec<f64> = users
            .iter()
            .map(|user| {
                let own = user.gains[user.sector.index()];
                decibels(own / (user.gains.iter().sum::<f64>() - own))
            })
            .collect();
        geometry.sort_by(f64::total_cmp);
        let share = |part: f64| geometry[(geometry.len() as f64 * part) as usize];
        assert!((1.0..6.0).contains(&share(0.5)), "median {}", share(0.5));
        assert!((-6.0..-1.5).contains(&share(0.1)), "tenth {}", share(0.1));
        assert!((8.0..20.0).contains(&share(0.9)), "nine tenths {}", share(0.9));
    }

    #[test]
    fn wrap_around_gives_every_sector_the_same_geometry_in_the_mean() {
        let (_, users) = users(200, 5);
        let mean = |sector: u32| {
            let own = users.iter().filter(|user| user.sector == SectorId(sector));
            let geometry = own.map(|user| {
                let own = user.gains[user.sector.index()];
                decibels(own / (user.gains.iter().sum::<f64>() - own))
            });
            geometry.sum::<f64>() / 200.0
        };
        let means: Vec<f64> = (0..21).map(mean).collect();
        let (least, most) =
            (means.iter().fold(f64::MAX, |a, b| a.min(*b)), means.iter().fold(f64::MIN, |a, b| a.max(*b)));
        // The mean of 200 users has a standard error of some 0.45 dB; 21 of them span about four.
        assert!(most - least < 2.5, "{least} to {most} dB");
    }
}
