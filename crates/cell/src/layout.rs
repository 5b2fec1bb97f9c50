//! Positions of the sites: a hexagonal grid of three-sector sites, wrapped around so that no site has an edge.
//!
//! A plan of N sites (1, 7 or 19: a centre with 0, 1 or 2 rings) tiles the plane when it is repeated at six
//! translations. The signal of each site therefore comes from the nearest of its seven images, and every cell has the
//! same surroundings (Ghosh, Zhang, Andrews and Muhamed 2010, "Fundamentals of LTE", §11.1; 3GPP TR 25.892 annex A.3
//! assumes the same). Lengths are in metres, angles in radians, counted from east, anticlockwise.

use std::f64::consts::{FRAC_PI_3, PI, TAU};

use crate::config::LayoutConfig;
use crate::identity::{SECTORS_PER_SITE, SectorId, SiteId};

/// A place or a displacement in the plane, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Metres to the east.
    pub x: f64,
    /// Metres to the north.
    pub y: f64,
}

/// The sites of a plan and the translations that repeat it.
#[derive(Clone, Debug)]
pub struct Layout {
    sites: Vec<Point>,
    /// Displacements of the plan's images, that of the plan itself (zero) first.
    images: [Point; 7],
    site_distance: f64,
    rings: u32,
}

/// Position of a receiver relative to an antenna.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bearing {
    /// Distance in metres.
    pub distance: f64,
    /// Direction from the site to the receiver, in radians.
    pub direction: f64,
}

impl Layout {
    /// The plan that a configuration describes; without whole rings, that of its centre alone.
    #[must_use]
    pub fn of(config: &LayoutConfig) -> Self {
        Self::hexagonal(config.rings().unwrap_or(0), config.site_distance.0)
    }

    /// A plan with `rings` rings of sites around the centre, neighbours `site_distance` metres apart.
    #[must_use]
    pub fn hexagonal(rings: u32, site_distance: f64) -> Self {
        let reach = i64::from(rings);
        let in_plan = |(q, r): &(i64, i64)| q.abs().max(r.abs()).max((q + r).abs()) <= reach;
        let axial = (-reach..=reach).flat_map(|q| (-reach..=reach).map(move |r| (q, r)));
        let mut places: Vec<(i64, i64)> = axial.filter(in_plan).collect();
        // The centre first, then ring by ring.
        places.sort_by_key(|(q, r)| (q.abs().max(r.abs()).max((q + r).abs()), *q, *r));
        let sites = places.into_iter().map(|(q, r)| axial_point(q as f64, r as f64, site_distance)).collect();
        Self { sites, images: images(rings, site_distance), site_distance, rings }
    }

    /// Number of sites: 3 k (k + 1) + 1 for k rings.
    #[must_use]
    pub const fn sites(&self) -> usize {
        self.sites.len()
    }

    /// Number of sectors.
    #[must_use]
    pub const fn sectors(&self) -> usize {
        self.sites.len() * SECTORS_PER_SITE as usize
    }

    /// Position of a site.
    #[must_use]
    pub fn site(&self, site: SiteId) -> Point {
        self.sites[site.index()]
    }

    /// Distance between neighbouring sites in metres.
    #[must_use]
    pub const fn site_distance(&self) -> f64 {
        self.site_distance
    }

    /// The radius in metres of a circle around the centre that covers every cell of the plan.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.site_distance * (f64::from(self.rings) + 1.0 / libm::sqrt(3.0))
    }

    /// Whether a place is nearer to a site of the plan itself than to any image of one.
    #[must_use]
    pub fn contains(&self, place: Point) -> bool {
        let nearest = |image: Point| {
            let distances = self.sites.iter().map(|site| (place - *site - image).length());
            distances.fold(f64::INFINITY, f64::min)
        };
        let own = nearest(self.images[0]);
        self.images[1..].iter().all(|image| own <= nearest(*image))
    }

    /// The same place inside the plan: a user that leaves the plan enters it again on the other side.
    #[must_use]
    pub fn wrapped(&self, mut place: Point) -> Point {
        while !self.contains(place) {
            let moved = || self.images[1..].iter().map(|image| place - *image);
            let nearest = || moved().min_by(|a, b| a.length().total_cmp(&b.length()));
            place = moved().find(|moved| self.contains(*moved)).or_else(nearest).unwrap_or_default();
        }
        place
    }

    /// The sector in whose area a place is: that of the nearest site whose antenna points closest to it.
    #[must_use]
    pub fn sector_at(&self, place: Point) -> SectorId {
        let bearings = (0..self.sites.len() as u32).map(|site| (site, self.bearing(SiteId(site), place)));
        let nearest = bearings.min_by(|a, b| a.1.distance.total_cmp(&b.1.distance));
        let (site, bearing) = nearest.unwrap_or((0, Bearing { distance: 0.0, direction: 0.0 }));
        let aside = |sector: &SectorId| angle_between(bearing.direction, Self::boresight(*sector));
        let sectors = (0..SECTORS_PER_SITE).map(|k| SectorId(site * SECTORS_PER_SITE + k));
        sectors.min_by(|a, b| aside(a).total_cmp(&aside(b))).unwrap_or(SectorId(0))
    }

    /// Position of `place` relative to the nearest image of a site.
    #[must_use]
    pub fn bearing(&self, site: SiteId, place: Point) -> Bearing {
        let site = self.site(site);
        let nearest = self
            .images
            .iter()
            .map(|image| place - site - *image)
            .min_by(|a, b| a.length().total_cmp(&b.length()));
        let seen = nearest.unwrap_or_default();
        Bearing { distance: seen.length(), direction: libm::atan2(seen.y, seen.x) }
    }

    /// The direction in which a sector's antenna points: 30°, 150° and 270°, so that the three sectors of a site are
    /// three hexagons that meet at it.
    #[must_use]
    pub fn boresight(sector: SectorId) -> f64 {
        PI / 6.0 + f64::from(sector.0 % SECTORS_PER_SITE) * TAU / f64::from(SECTORS_PER_SITE)
    }
}

/// The angle between two directions, from 0 to π.
#[must_use]
pub fn angle_between(a: f64, b: f64) -> f64 {
    let turn = libm::fabs(a - b) % TAU;
    if turn > PI { TAU - turn } else { turn }
}

impl Point {
    /// Distance from the origin in metres.
    #[must_use]
    pub fn length(self) -> f64 {
        libm::hypot(self.x, self.y)
    }

    /// The point at distance 1 from the origin in a direction.
    #[must_use]
    pub fn towards(direction: f64) -> Self {
        Self { x: libm::cos(direction), y: libm::sin(direction) }
    }

    fn turned(self, angle: f64) -> Self {
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        Self { x: self.x * cos - self.y * sin, y: self.x * sin + self.y * cos }
    }
}

impl std::ops::Add for Point {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y }
    }
}

impl std::ops::Mul<f64> for Point {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self { x: self.x * factor, y: self.y * factor }
    }
}

impl std::ops::Sub for Point {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y }
    }
}

/// The point of axial coordinates (q, r): q steps to the east, r steps at 60° from it.
fn axial_point(q: f64, r: f64, step: f64) -> Point {
    Point { x: step * (q + r / 2.0), y: step * r * libm::sqrt(3.0) / 2.0 }
}

/// A hexagonal plan of k rings has k² + k (k + 1) + (k + 1)² sites, so its images lie at the axial coordinates
/// (k + 1, k) and at that displacement turned by multiples of 60°.
fn images(rings: u32, step: f64) -> [Point; 7] {
    let first = axial_point(f64::from(rings) + 1.0, f64::from(rings), step);
    let mut images = [Point::default(); 7];
    for (place, image) in images[1..].iter_mut().enumerate() {
        *image = first.turned(place as f64 * FRAC_PI_3);
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_1_7_and_19_sites_whose_neighbours_are_one_step_apart() {
        for (rings, sites) in [(0, 1), (1, 7), (2, 19)] {
            let layout = Layout::hexagonal(rings, 500.0);
            assert_eq!(layout.sites(), sites);
            assert_eq!(layout.site(SiteId(0)), Point::default(), "the centre is the first");
            let away = |place: usize| layout.sites[place].length();
            assert!((1..sites.min(7)).all(|place| (away(place) - 500.0).abs() < 1e-9));
        }
    }

    #[test]
    fn with_wrap_around_every_site_has_the_same_surroundings() {
        for rings in [0, 1, 2] {
            let layout = Layout::hexagonal(rings, 1.0);
            let distances = |from: u32| {
                let place = layout.site(SiteId(from));
                let others =
                    (0..layout.sites() as u32).map(|site| layout.bearing(SiteId(site), place).distance);
                let mut sorted: Vec<i64> = others.map(|distance| (distance * 1e6).round() as i64).collect();
                sorted.sort_unstable();
                sorted
            };
            let centre = distances(0);
            assert!((1..layout.sites() as u32).all(|site| distances(site) == centre), "{rings} rings");
        }
    }

    #[test]
    fn the_images_tile_the_plane_without_overlap() {
        // A site and the images of all others: no two nearer than one step.
        let layout = Layout::hexagonal(2, 1.0);
        let all: Vec<Point> = layout
            .images
            .iter()
            .flat_map(|image| {
                layout.sites.iter().map(|site| Point { x: site.x + image.x, y: site.y + image.y })
            })
            .collect();
        for (place, one) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|other| (*one - *other).length() > 1.0 - 1e-9));
        }
    }

    #[test]
    fn an_antenna_is_seen_from_where_it_points() {
        let layout = Layout::hexagonal(0, 100.0);
        let bearing = layout.bearing(SiteId(0), Point { x: 0.0, y: 30.0 });
        assert!((bearing.distance - 30.0).abs() < 1e-9);
        assert!(angle_between(bearing.direction, PI / 2.0) < 1e-12);
        assert!(angle_between(Layout::boresight(SectorId(2)), -PI / 2.0) < 1e-12);
    }

    #[test]
    fn who_leaves_the_plan_comes_in_on_the_other_side_and_hears_the_same() {
        for rings in [0, 1, 2] {
            let layout = Layout::hexagonal(rings, 100.0);
            let near = Point { x: 12.0, y: -7.0 };
            assert_eq!(layout.wrapped(near), near);
            for far in [0.3, 1.1, 2.9, 40.0].map(|rings| Point { x: 310.0 * rings, y: -170.0 * rings }) {
                let wrapped = layout.wrapped(far);
                assert!(layout.contains(wrapped), "{far:?}");
                // The two are apart by a displacement of the lattice of images: a sum of whole steps of two of them.
                let (a, b, apart) = (layout.images[1], layout.images[2], far - wrapped);
                let area = a.x * b.y - a.y * b.x;
                let steps = [(apart.x * b.y - apart.y * b.x) / area, (a.x * apart.y - a.y * apart.x) / area];
                assert!(steps.iter().all(|steps| (steps - steps.round()).abs() < 1e-9), "{far:?} {steps:?}");
            }
        }
    }

    #[test]
    fn a_place_is_in_the_area_of_the_sector_that_points_to_it() {
        let layout = Layout::hexagonal(1, 100.0);
        assert_eq!(layout.sector_at(Point { x: 10.0, y: 6.0 }), SectorId(0));
        assert_eq!(layout.sector_at(Point { x: -10.0, y: 6.0 }), SectorId(1));
        assert_eq!(layout.sector_at(layout.site(SiteId(4)) + Point { x: 1.0, y: -9.0 }), SectorId(14));
    }

    #[test]
    fn the_plan_contains_its_sites_and_not_those_of_its_images() {
        let layout = Layout::hexagonal(1, 1.0);
        assert!(layout.sites.iter().all(|site| layout.contains(*site)));
        assert!(layout.images[1..].iter().all(|image| !layout.contains(*image)));
    }
}
