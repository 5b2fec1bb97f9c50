//! Users that move: positions and gains, computed once in a measurement period.

use units::{Instant, Stream};

use super::user::PlacedUser;
use crate::config::Config;
use crate::identity::UserId;
use crate::layout::{Layout, Point};
use crate::mobility::{Course, MobilityConfig, Trigger};
use crate::radio::RadioConfig;
use crate::users::gains;

/// The motion of a plan's users.
#[derive(Debug)]
pub(super) struct Movement {
    pub(super) config: MobilityConfig,
    layout: Layout,
    radio: RadioConfig,
    pub(super) users: Vec<MovingUser>,
    /// End of the present measurement period.
    pub(super) next: Instant,
}

/// A user that moves.
#[derive(Debug)]
pub(super) struct MovingUser {
    course: Course,
    shadowing: Vec<f64>,
    /// Draws the shadowing of new places.
    drift: Stream,
    pub(super) trigger: Trigger,
}

impl Movement {
    pub(super) fn new(config: &Config, users: &[PlacedUser]) -> Option<Self> {
        let mobility = config.mobility?;
        let layout = Layout::of(&config.layout);
        let user = |user: &PlacedUser| MovingUser {
            course: Course::new(
                mobility.motion,
                &layout,
                user.placement.place,
                user.config.speed.unwrap_or(config.radio.speed).0,
                user.config.heading.map(|heading| heading.0.to_radians()),
                user.streams.stream("course"),
            ),
            shadowing: user.placement.shadowing.clone(),
            drift: user.streams.stream("drift"),
            trigger: Trigger::new(&user.placement.gains),
        };
        let users = users.iter().map(user).collect();
        let next = Instant::START + mobility.period;
        Some(Self { config: mobility, layout, radio: config.radio.clone(), users, next })
    }

    /// Position of a user.
    pub(super) fn place(&self, user: UserId) -> Point {
        self.layout.wrapped(self.users[user.index()].course.place())
    }

    /// Moves a user for a measurement period, and returns its new gains.
    pub(super) fn advance(&mut self, user: UserId) -> Vec<f64> {
        let moving = &mut self.users[user.index()];
        let way = moving.course.advance(&self.layout, self.config.period.as_secs_f64());
        if way > 0.0 {
            let correlation = self.config.correlation(way);
            self.radio.shadowing().drift(&mut moving.shadowing, correlation, &mut moving.drift);
        }
        let place = self.layout.wrapped(moving.course.place());
        gains(&self.layout, &self.radio, place, &moving.shadowing)
    }
}
