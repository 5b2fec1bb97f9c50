use units::Duration;

use super::*;

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A web user of 1 Mbit/s that has had 100 kbit/s.
pub(super) fn web() -> Candidate {
    Candidate {
        user: UserId(0),
        service: Service::Elastic,
        rate: 1e6,
        radio_rate: 1e6,
        mean_rate: 1e5,
        min_rate: 64e3,
        delay: ms(10),
        token_delay: ms(10),
        unserved: ms(2),
        packets: 3,
        repeats: false,
    }
}

/// A voice user with a budget of 80 ms.
pub(super) fn voice() -> Candidate {
    Candidate {
        service: Service::DelayBound { budget: ms(80) },
        min_rate: 13.6e3,
        mean_rate: 13.6e3,
        ..web()
    }
}

/// The places of the candidates in the order of service.
pub(super) fn order(scheduler: &mut dyn Scheduler, candidates: &[Candidate]) -> Vec<usize> {
    let mut ranks = Vec::new();
    scheduler.rank(candidates, &mut ranks);
    assert_eq!(ranks.len(), candidates.len());
    let mut places: Vec<usize> = (0..candidates.len()).collect();
    places.sort_by(|a, b| ranks[*b].order(&ranks[*a]));
    places
}

pub(super) fn read(text: &str) -> Result<SchedulerChoice, toml::de::Error> {
    #[derive(serde::Deserialize)]
    struct File {
        scheduler: SchedulerChoice,
    }
    toml::from_str::<File>(&format!("scheduler = {text}")).map(|file| file.scheduler)
}

#[test]
fn every_scheduler_reads_its_own_example_and_ranks_every_user() {
    for entry in ENTRIES {
        let choice = read(&entry.example()).unwrap_or_else(|error| panic!("{}: {error}", entry.id));
        assert_eq!(choice.id(), entry.id);
        assert_eq!(choice.check(), Ok(()));
        let mut scheduler = choice.scheduler();
        let nothing_yet =
            Candidate { mean_rate: 0.0, delay: Duration::ZERO, token_delay: Duration::ZERO, ..web() };
        let late = Candidate { delay: ms(200), ..voice() };
        let mut ranks = Vec::new();
        scheduler.rank(&[web(), voice(), nothing_yet, late], &mut ranks);
        assert!(ranks.len() == 4 && ranks.iter().all(|rank| !rank.value.is_nan()), "{}", entry.id);
    }
}

#[test]
fn a_parameter_that_must_be_there_and_is_not_is_named() {
    let error = read("\"mr-min\"").expect_err("β has no default").to_string();
    assert!(error.contains("beta"), "{error}");
    let error = read("\"mr\"").expect_err("there is none").to_string();
    assert!(error.contains("max-rate"), "{error}");
}

#[test]
fn a_class_goes_before_any_value() {
    let late = Rank { class: 1, value: 0.0 };
    assert_eq!(late.order(&Rank::by(1e9)), Ordering::Greater);
}
