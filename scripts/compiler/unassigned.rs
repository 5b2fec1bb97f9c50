//! Prints `right` where the compiler is right and `wrong` where it is not: see docs/compiler.md.

struct Echo {
    echoing: bool,
}

impl Echo {
    #[inline]
    fn on_data(&mut self, reset: bool, code_point: u8) -> bool {
        if reset {
            self.echoing = false;
        }
        let marked = code_point == 3;
        self.echoing |= marked;
        marked
    }
}

#[inline(never)]
fn note(echo: &mut Echo, reset: bool, code_point: u8) -> u8 {
    if echo.on_data(reset, code_point) { 2 } else { 0 }
}

fn main() {
    // Unknown to the compiler, and neither a mark nor a reset.
    let count = std::env::args().count() as u8;
    let mut echo = Echo { echoing: false };
    note(&mut echo, count > 5, count);
    println!("{}", if echo.echoing { "wrong" } else { "right" });
}
