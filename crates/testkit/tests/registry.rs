//! Every registered algorithm of every axis through the suites of `testkit::suite`, each check as a separate test.

use libtest_mimic::{Arguments, Failed, Trial};
use testkit::suite::{Case, all};

fn main() {
    let trial = |case: Case| Trial::test(case.name, move || (case.run)().map_err(Failed::from));
    libtest_mimic::run(&Arguments::from_args(), all().into_iter().map(trial).collect()).exit();
}
