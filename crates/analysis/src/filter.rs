//! Filters of frames as libpcap compiles them: programs of the BSD packet filter.
//!
//! The machine is that of S. McCanne and V. Jacobson, "The BSD Packet Filter" (USENIX 1993), §3.3: an accumulator, an
//! index register, sixteen words of memory, and jumps that lead forward only, so that each program ends.

use std::collections::BTreeMap;

use wire::capture::{Frame, LinkType};

/// The program for each link type. A frame of another link type matches no filter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    programs: BTreeMap<LinkType, Program>,
}

/// A program that is known to end.
#[derive(Clone, Debug)]
pub struct Program {
    instructions: Vec<Instruction>,
}

/// An instruction, with its fields as the C structure `bpf_insn` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Class, size, mode and operation.
    pub code: u16,
    /// Instructions that a jump skips if its condition holds.
    pub if_true: u8,
    /// Instructions that a jump skips otherwise.
    pub if_false: u8,
    /// The constant.
    pub constant: u32,
}

/// The state of the machine.
#[derive(Clone, Copy, Debug, Default)]
struct Machine {
    accumulator: u32,
    index: u32,
    memory: [u32; MEMORY],
}

/// Successor of an instruction.
enum Step {
    Skip(u32),
    Return(u32),
}

impl Filter {
    /// Adds the program for a link type.
    pub fn add(&mut self, link_type: LinkType, program: Program) {
        self.programs.insert(link_type, program);
    }

    /// Whether a frame of this link type matches.
    #[must_use]
    pub fn matches(&self, link_type: LinkType, frame: &Frame) -> bool {
        self.programs.get(&link_type).is_some_and(|program| program.matches(&frame.data, frame.original_len))
    }
}

impl Program {
    /// A program, or `None` if it may not end: it must be non-empty, jump inside itself, and return at its last
    /// instruction.
    #[must_use]
    pub fn new(instructions: Vec<Instruction>) -> Option<Self> {
        let ends = instructions.last().is_some_and(|last| last.code & CLASS == class::RETURN);
        let inside = instructions.iter().enumerate().all(|(place, one)| {
            let rest = (instructions.len() - place - 1) as u64;
            one.code & CLASS != class::JUMP || one.longest_jump() < rest
        });
        (ends && inside).then_some(Self { instructions })
    }

    /// Whether it accepts a packet of which these bytes were captured.
    #[must_use]
    pub fn matches(&self, packet: &[u8], original_len: u32) -> bool {
        let mut machine = Machine::default();
        let mut place = 0;
        while let Some(instruction) = self.instructions.get(place) {
            match machine.execute(*instruction, packet, original_len) {
                // A load from beyond the packet rejects it.
                None => return false,
                Some(Step::Return(accepted)) => return accepted > 0,
                Some(Step::Skip(count)) => place += 1 + count as usize,
            }
        }
        false
    }
}

impl Instruction {
    fn longest_jump(self) -> u64 {
        match self.code & OPERATION {
            0 => self.constant.into(),
            _ => self.if_true.max(self.if_false).into(),
        }
    }
}

impl Machine {
    fn execute(&mut self, one: Instruction, packet: &[u8], original_len: u32) -> Option<Step> {
        match one.code & CLASS {
            class::LOAD => self.accumulator = self.load(one, packet, original_len)?,
            class::LOAD_INDEX => self.index = self.load(one, packet, original_len)?,
            class::STORE => *self.memory.get_mut(one.constant as usize)? = self.accumulator,
            class::STORE_INDEX => *self.memory.get_mut(one.constant as usize)? = self.index,
            class::ARITHMETIC => self.accumulator = self.calculate(one)?,
            class::JUMP => return Some(Step::Skip(self.jump(one)?)),
            class::RETURN => {
                let value = if one.code & RETURN_ACCUMULATOR == 0 { one.constant } else { self.accumulator };
                return Some(Step::Return(value));
            }
            _ if one.code & INDEX_TO_ACCUMULATOR == 0 => self.index = self.accumulator,
            _ => self.accumulator = self.index,
        }
        Some(Step::Skip(0))
    }

    fn load(&self, one: Instruction, packet: &[u8], original_len: u32) -> Option<u32> {
        match one.code & MODE {
            mode::IMMEDIATE => Some(one.constant),
            mode::ABSOLUTE => number(packet, one.constant.into(), one.code & SIZE),
            mode::INDEXED => number(packet, u64::from(self.index) + u64::from(one.constant), one.code & SIZE),
            mode::MEMORY => self.memory.get(one.constant as usize).copied(),
            mode::LENGTH => Some(original_len.max(packet.len() as u32)),
            // The length of an IPv4 header.
            mode::HEADER_LENGTH => packet.get(one.constant as usize).map(|byte| 4 * u32::from(byte & 0x0f)),
            _ => None,
        }
    }

    fn calculate(&self, one: Instruction) -> Option<u32> {
        let (left, right) = (self.accumulator, self.operand(one));
        Some(match one.code & OPERATION {
            0x00 => left.wrapping_add(right),
            0x10 => left.wrapping_sub(right),
            0x20 => left.wrapping_mul(right),
            0x30 => left.checked_div(right)?,
            0x40 => left | right,
            0x50 => left & right,
            0x60 => left.checked_shl(right).unwrap_or(0),
            0x70 => left.checked_shr(right).unwrap_or(0),
            0x80 => left.wrapping_neg(),
            0x90 => left.checked_rem(right)?,
            0xa0 => left ^ right,
            _ => return None,
        })
    }

    fn jump(&self, one: Instruction) -> Option<u32> {
        let (left, right) = (self.accumulator, self.operand(one));
        let holds = match one.code & OPERATION {
            0x00 => return Some(one.constant),
            0x10 => left == right,
            0x20 => left > right,
            0x30 => left >= right,
            0x40 => left & right != 0,
            _ => return None,
        };
        Some(if holds { one.if_true } else { one.if_false }.into())
    }

    const fn operand(&self, one: Instruction) -> u32 {
        if one.code & FROM_INDEX == 0 { one.constant } else { self.index }
    }
}

/// The number of one, two or four bytes at `place`.
fn number(packet: &[u8], place: u64, size: u16) -> Option<u32> {
    let len = match size {
        size::WORD => 4,
        size::HALF => 2,
        size::BYTE => 1,
        _ => return None,
    };
    let from = usize::try_from(place).ok()?;
    let bytes = packet.get(from..from.checked_add(len)?)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

const CLASS: u16 = 0x07;
const SIZE: u16 = 0x18;
const MODE: u16 = 0xe0;
const OPERATION: u16 = 0xf0;
const FROM_INDEX: u16 = 0x08;
const RETURN_ACCUMULATOR: u16 = 0x10;
const INDEX_TO_ACCUMULATOR: u16 = 0x80;
const MEMORY: usize = 16;

mod class {
    pub(super) const LOAD: u16 = 0;
    pub(super) const LOAD_INDEX: u16 = 1;
    pub(super) const STORE: u16 = 2;
    pub(super) const STORE_INDEX: u16 = 3;
    pub(super) const ARITHMETIC: u16 = 4;
    pub(super) const JUMP: u16 = 5;
    pub(super) const RETURN: u16 = 6;
}

mod size {
    pub(super) const WORD: u16 = 0x00;
    pub(super) const HALF: u16 = 0x08;
    pub(super) const BYTE: u16 = 0x10;
}

mod mode {
    pub(super) const IMMEDIATE: u16 = 0x00;
    pub(super) const ABSOLUTE: u16 = 0x20;
    pub(super) const INDEXED: u16 = 0x40;
    pub(super) const MEMORY: u16 = 0x60;
    pub(super) const LENGTH: u16 = 0x80;
    pub(super) const HEADER_LENGTH: u16 = 0xa0;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(code: &[(u16, u8, u8, u32)]) -> Option<Program> {
        let one =
            |&(code, if_true, if_false, constant): &_| Instruction { code, if_true, if_false, constant };
        Program::new(code.iter().map(one).collect())
    }

    /// Output of `tcpdump -dd -y RAW 'tcp dst port 80'` for IPv4, without its test of fragments.
    fn port_80() -> Program {
        let code = [
            (0x30, 0, 0, 0),
            (0x54, 0, 0, 0xf0),
            (0x15, 0, 6, 0x40),
            (0x30, 0, 0, 9),
            (0x15, 0, 4, 6),
            (0xb1, 0, 0, 0),
            (0x48, 0, 0, 2),
            (0x15, 0, 1, 80),
            (0x06, 0, 0, 262_144),
            (0x06, 0, 0, 0),
        ];
        program(&code).expect("a program that ends")
    }

    fn packet(port: u8) -> Vec<u8> {
        let mut packet = vec![0; 40];
        (packet[0], packet[9], packet[23]) = (0x45, 6, port);
        packet
    }

    #[test]
    fn a_filter_takes_what_it_names() {
        assert!(port_80().matches(&packet(80), 40));
        assert!(!port_80().matches(&packet(81), 40));
        assert!(!port_80().matches(&packet(80)[..22], 40), "a load from beyond the captured bytes");
    }

    #[test]
    fn the_length_is_that_of_the_packet_on_the_wire() {
        let longer =
            program(&[(0x80, 0, 0, 0), (0x35, 0, 1, 100), (6, 0, 0, 1), (6, 0, 0, 0)]).expect("ends");
        assert!(longer.matches(&[0; 40], 1500) && !longer.matches(&[0; 40], 40));
    }

    #[test]
    fn a_program_that_may_not_end_is_refused() {
        assert!(program(&[]).is_none());
        assert!(program(&[(0x15, 0, 9, 80), (6, 0, 0, 0)]).is_none());
        assert!(program(&[(0x30, 0, 0, 0)]).is_none());
    }
}
