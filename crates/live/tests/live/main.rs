//! Runs between two kernels. Where the machine does not allow them they are reported as ignored, with the reason.

use libtest_mimic::Arguments;

/// Tests that need nothing of the machine.
macro_rules! anywhere {
    [$($test:ident),* $(,)?] => {
        vec![$(crate::support::anywhere(concat!(module_path!(), "::", stringify!($test)), $test)),*]
    };
}

/// Tests that need the device and network namespaces.
macro_rules! live {
    [$($test:ident),* $(,)?] => {
        vec![$(crate::support::with_kernels(concat!(module_path!(), "::", stringify!($test)), $test)),*]
    };
}

mod bulk;
mod offload;
mod parity;
mod process;
mod program;
mod refusal;
mod stacks;
mod support;

fn main() {
    let files = [
        bulk::trials(),
        offload::trials(),
        parity::trials(),
        process::trials(),
        program::trials(),
        refusal::trials(),
        stacks::trials(),
    ];
    libtest_mimic::run(&Arguments::from_args(), files.into_iter().flatten().collect()).exit();
}
