//! The way of one user over the plan.

use std::f64::consts::TAU;

use units::Stream;

use super::Motion;
use crate::layout::{Layout, Point};
use crate::random::unit;
use crate::users::inside;

/// Position and direction of a user.
#[derive(Debug)]
pub(crate) struct Course {
    place: Point,
    /// Metres per second.
    speed: f64,
    goal: Goal,
    /// Draws its direction or its goals.
    stream: Stream,
}

#[derive(Clone, Copy, Debug)]
enum Goal {
    /// A point at distance 1 in the direction that it keeps.
    Direction(Point),
    /// The next destination.
    Waypoint(Point),
}

impl Course {
    /// From `place`, in the direction `heading` in radians where the way is straight and one is given.
    pub(crate) fn new(
        motion: Motion,
        layout: &Layout,
        place: Point,
        speed: f64,
        heading: Option<f64>,
        mut stream: Stream,
    ) -> Self {
        let goal = match motion {
            Motion::Straight => {
                Goal::Direction(Point::towards(heading.unwrap_or_else(|| TAU * unit(&mut stream))))
            }
            Motion::RandomWaypoint => Goal::Waypoint(inside(layout, &mut stream)),
        };
        Self { place, speed, goal, stream }
    }

    pub(crate) const fn place(&self) -> Point {
        self.place
    }

    /// Moves for `seconds`, and returns the distance in metres.
    pub(crate) fn advance(&mut self, layout: &Layout, seconds: f64) -> f64 {
        let way = self.speed * seconds;
        let mut left = way;
        while left > 0.0 {
            match self.goal {
                Goal::Direction(direction) => {
                    self.place = layout.wrapped(self.place + direction * left);
                    left = 0.0;
                }
                Goal::Waypoint(goal) => {
                    let to_go = goal - self.place;
                    let distance = to_go.length();
                    if distance > left {
                        self.place = self.place + to_go * (left / distance);
                    } else {
                        self.place = goal;
                        self.goal = Goal::Waypoint(inside(layout, &mut self.stream));
                    }
                    left -= distance;
                }
            }
        }
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    fn course(motion: Motion, layout: &Layout, speed: f64) -> Course {
        let heading = Some(std::f64::consts::FRAC_PI_2);
        Course::new(motion, layout, Point::default(), speed, heading, Streams::new(1).stream("course"))
    }

    #[test]
    fn a_straight_way_goes_north_and_comes_in_again_in_the_south() {
        let layout = Layout::hexagonal(0, 100.0);
        let mut course = course(Motion::Straight, &layout, 10.0);
        assert!((course.advance(&layout, 2.0) - 20.0).abs() < 1e-12);
        assert!((course.place() - Point { x: 0.0, y: 20.0 }).length() < 1e-9);
        // The cell of one site reaches 57.7 m to the north, at a corner where two images of it meet.
        course.advance(&layout, 5.0);
        assert!(layout.contains(course.place()) && course.place().y < 0.0, "{:?}", course.place());
    }

    #[test]
    fn waypoints_lie_in_the_plan_and_steps_are_as_long_as_the_speed_has_it() {
        let layout = Layout::hexagonal(1, 100.0);
        let mut course = course(Motion::RandomWaypoint, &layout, 30.0);
        for _ in 0..500 {
            let before = course.place();
            course.advance(&layout, 0.2);
            assert!((course.place() - before).length() <= 6.0 + 1e-9);
            assert!(course.place().length() <= layout.radius());
        }
    }

    #[test]
    fn without_speed_nobody_moves() {
        let layout = Layout::hexagonal(1, 100.0);
        let mut course = course(Motion::RandomWaypoint, &layout, 0.0);
        course.advance(&layout, 100.0);
        assert_eq!(course.place(), Point::default());
    }
}
