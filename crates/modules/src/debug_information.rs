//! Finds the struct of a module's state in the debug information (DWARF) of its plug-in.
//!
//! `inet_csk_ca(sk)` is a pointer to any type, and a module assigns it to a variable of its own: `struct bictcp *ca`.
//! The state is the struct of the module's own files, no larger than `icsk_ca_priv`, to which most functions have such
//! a variable; a parameter counts half, since functions hand on other structs too.

use std::collections::BTreeMap;

use gimli::{
    Attribute, AttributeValue, DebuggingInformationEntry, DwAt, Dwarf, EndianSlice, EntriesTreeNode,
    LittleEndian, SectionId, Unit, UnitOffset, constants as dw,
};
use object::{Object, ObjectSection};
use tcp::congestion::Module;

use crate::error::ModuleError;
use crate::interface::PRIVATE;
use crate::state::{State, Variable};

type Reader<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a, 'u> = DebuggingInformationEntry<'u, 'u, Reader<'a>>;

impl State {
    /// The struct to which most functions of a plug-in point; none where debug information has none.
    pub(crate) fn likeliest(plugin: &[u8]) -> Option<Self> {
        states(plugin).into_iter().next()
    }

    /// The struct that the choice of a module names, if it names one.
    ///
    /// # Errors
    /// The plug-in has no debug information, or no such struct.
    pub(crate) fn named(module: &Module, plugin: &[u8]) -> Result<Option<Self>, ModuleError> {
        if module.state.is_empty() {
            return Ok(None);
        }
        let found = states(plugin);
        let known: Vec<_> = found.iter().map(|state| state.name.clone()).collect();
        let chosen = found.into_iter().find(|state| state.name == module.state);
        chosen.map(Some).ok_or_else(|| {
            let message = format!("the module has no struct {} for its state", module.state);
            let help = match known.as_slice() {
                [] => "its debug information has none: make it by lasthop cc build, or leave the key out"
                    .to_owned(),
                known => format!("it has {}", known.join(", ")),
            };
            ModuleError::of(&module.file, message, help).at("state")
        })
    }
}

/// The structs that may be the state, the likeliest first; none where there is no debug information, or none that can
/// be read.
fn states(plugin: &[u8]) -> Vec<State> {
    // The numbers of a big-endian machine have other bits.
    if cfg!(target_endian = "big") { Vec::new() } else { read(plugin).unwrap_or_default() }
}

fn read(plugin: &[u8]) -> Option<Vec<State>> {
    let file = object::File::parse(plugin).ok()?;
    let section = |id: SectionId| -> Result<_, gimli::Error> {
        let data = file.section_by_name(id.name()).and_then(|section| section.data().ok());
        Ok(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
    };
    let dwarf = Dwarf::load(section).ok()?;
    let mut found: Vec<(u32, State)> = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        if let Ok(unit) = dwarf.unit(header) {
            found.extend(Types { dwarf: &dwarf, unit: &unit }.states());
        }
    }
    // Stable: of two alike the first in the file.
    found.sort_by_key(|(votes, _)| std::cmp::Reverse(*votes));
    Some(found.into_iter().map(|(_, state)| state).collect())
}

/// The types of a file in C.
struct Types<'a, 'u> {
    dwarf: &'u Dwarf<Reader<'a>>,
    unit: &'u Unit<Reader<'a>>,
}

/// The votes of one function, by the struct's place.
type Votes = BTreeMap<UnitOffset, (u32, Option<String>)>;

/// A type without its names and qualifiers.
struct Plain<'a, 'u> {
    entry: Entry<'a, 'u>,
    /// Its last name by `typedef`.
    alias: Option<String>,
}

impl<'a, 'u> Types<'a, 'u> {
    /// The possible states of the file, with their votes, in the order of the file.
    fn states(&self) -> Vec<(u32, State)> {
        let mut all = Votes::new();
        if let Ok(mut tree) = self.unit.entries_tree(None)
            && let Ok(root) = tree.root()
        {
            let mut children = root.children();
            while let Ok(Some(child)) = children.next() {
                if child.entry().tag() == dw::DW_TAG_subprogram {
                    let mut votes = Votes::new();
                    self.vote(child, &mut votes, 0);
                    for (place, (weight, alias)) in votes {
                        all.entry(place).or_insert((0, alias)).0 += weight;
                    }
                }
            }
        }
        all.into_iter()
            .filter_map(|(place, (votes, alias))| Some((votes, self.state(place, alias)?)))
            .collect()
    }

    /// The structs to which the variables and parameters of a function point, with those of its blocks.
    fn vote(&self, node: EntriesTreeNode<'_, 'u, '_, Reader<'a>>, votes: &mut Votes, depth: usize) {
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let weight = match child.entry().tag() {
                dw::DW_TAG_variable => 2,
                dw::DW_TAG_formal_parameter => 1,
                dw::DW_TAG_lexical_block if depth < DEEPEST => {
                    self.vote(child, votes, depth + 1);
                    continue;
                }
                _ => continue,
            };
            if let Some(aimed) = self.aimed(child.entry()) {
                let vote = votes.entry(aimed.entry.offset()).or_insert((0, aimed.alias));
                vote.0 = vote.0.max(weight);
            }
        }
    }

    /// The struct of the module's own to which a variable points, if it is one and `icsk_ca_priv` has room for it.
    fn aimed(&self, variable: &DebuggingInformationEntry<'_, 'u, Reader<'a>>) -> Option<Plain<'a, 'u>> {
        let pointer = self.plain(reference(variable.attr_value(dw::DW_AT_type).ok()??)?)?;
        if pointer.entry.tag() != dw::DW_TAG_pointer_type {
            return None;
        }
        let aimed = self.type_of(&pointer.entry)?;
        let fits = number(&aimed.entry, dw::DW_AT_byte_size).is_some_and(|size| size <= PRIVATE as u64);
        let is_state = aimed.entry.tag() == dw::DW_TAG_structure_type && fits && self.is_own(&aimed.entry);
        is_state.then_some(aimed)
    }

    /// Whether a type stands in the module's files, and not in the headers of lasthop or of the system.
    fn is_own(&self, entry: &Entry<'a, 'u>) -> bool {
        let folder = || {
            let Some(AttributeValue::FileIndex(index)) = value(entry, dw::DW_AT_decl_file) else {
                return None;
            };
            let header = self.unit.line_program.as_ref()?.header();
            let file = header.file(index)?;
            let path = self.dwarf.attr_string(self.unit, file.path_name()).ok()?;
            let folder = self.dwarf.attr_string(self.unit, file.directory(header)?).ok()?;
            Some(format!("{}/{}", folder.to_string_lossy(), path.to_string_lossy()))
        };
        folder().is_some_and(|path| !path.split('/').any(|part| part == "include"))
    }

    fn state(&self, place: UnitOffset, alias: Option<String>) -> Option<State> {
        let entry = self.unit.entry(place).ok()?;
        let name = self.name(&entry).or(alias)?;
        let mut variables = Vec::new();
        self.members(place, "", 0, &mut variables, 0);
        (!variables.is_empty()).then_some(State { name, variables })
    }

    /// Adds the numbers in a struct or union that begins at a bit.
    fn members(&self, place: UnitOffset, prefix: &str, bit: usize, into: &mut Vec<Variable>, depth: usize) {
        let Ok(mut tree) = self.unit.entries_tree(Some(place)) else { return };
        let Ok(root) = tree.root() else { return };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let member = child.entry();
            if member.tag() != dw::DW_TAG_member || depth > DEEPEST {
                continue;
            }
            let Some(kind) =
                value(member, dw::DW_AT_type).and_then(reference).and_then(|kind| self.plain(kind))
            else {
                continue;
            };
            // The members of a struct without a name are the outer struct's.
            let name = match (prefix, self.name(member)) {
                ("", name) => name.unwrap_or_default(),
                (prefix, None) => prefix.to_owned(),
                (prefix, Some(name)) => format!("{prefix}.{name}"),
            };
            let (offset, bits) = extent(member, &kind.entry);
            self.add(&kind.entry, (name, bit + offset, bits), into, depth);
        }
    }

    /// Adds the numbers of a type at a bit: of the number's own length, unless it is a bit field.
    fn add(
        &self,
        kind: &Entry<'a, 'u>,
        (name, bit, bits): (String, usize, Option<usize>),
        into: &mut Vec<Variable>,
        depth: usize,
    ) {
        match kind.tag() {
            dw::DW_TAG_structure_type | dw::DW_TAG_union_type => {
                self.members(kind.offset(), &name, bit, into, depth + 1);
            }
            dw::DW_TAG_array_type => {
                let Some(element) = self.type_of(kind) else { return };
                let Some(size) = number(&element.entry, dw::DW_AT_byte_size) else { return };
                for place in
                    0..self.length(kind.offset()).filter(|length| *length <= LONGEST_ARRAY).unwrap_or(0)
                {
                    let bit = bit + place * size as usize * 8;
                    self.add(&element.entry, (format!("{name}[{place}]"), bit, None), into, depth + 1);
                }
            }
            _ => {
                let bits = bits.or_else(|| Some(number(kind, dw::DW_AT_byte_size)? as usize * 8));
                let Some((signed, bits)) = self.is_signed(kind).zip(bits) else { return };
                if (1..=64).contains(&bits) && bit + bits <= PRIVATE * 8 && into.len() < MOST_VARIABLES {
                    into.push(Variable { name: name.into(), bit, bits, signed });
                }
            }
        }
    }

    /// Whether a number has a sign; none for what is no whole number.
    fn is_signed(&self, kind: &Entry<'a, 'u>) -> Option<bool> {
        if kind.tag() == dw::DW_TAG_enumeration_type {
            return Some(self.type_of(kind).and_then(|below| self.is_signed(&below.entry)).unwrap_or(false));
        }
        let Some(AttributeValue::Encoding(encoding)) =
            value(kind, dw::DW_AT_encoding).filter(|_| kind.tag() == dw::DW_TAG_base_type)
        else {
            return None;
        };
        match encoding {
            dw::DW_ATE_signed | dw::DW_ATE_signed_char => Some(true),
            dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_boolean => Some(false),
            _ => None,
        }
    }

    /// Number of elements of an array with one dimension.
    fn length(&self, place: UnitOffset) -> Option<usize> {
        let mut tree = self.unit.entries_tree(Some(place)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut length = None;
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() == dw::DW_TAG_subrange_type {
                let counted = number(entry, dw::DW_AT_count);
                let last = || number(entry, dw::DW_AT_upper_bound)?.checked_add(1);
                if length.replace(counted.or_else(last)?).is_some() {
                    return None;
                }
            }
        }
        usize::try_from(length?).ok()
    }

    fn type_of(&self, entry: &Entry<'a, 'u>) -> Option<Plain<'a, 'u>> {
        self.plain(reference(value(entry, dw::DW_AT_type)?)?)
    }

    /// A type without its names and qualifiers.
    fn plain(&self, mut place: UnitOffset) -> Option<Plain<'a, 'u>> {
        let mut alias = None;
        for _ in 0..DEEPEST {
            let entry = self.unit.entry(place).ok()?;
            match entry.tag() {
                dw::DW_TAG_typedef => alias = self.name(&entry),
                dw::DW_TAG_const_type | dw::DW_TAG_volatile_type | dw::DW_TAG_atomic_type => {}
                _ => return Some(Plain { entry, alias }),
            }
            place = reference(value(&entry, dw::DW_AT_type)?)?;
        }
        None
    }

    fn name(&self, entry: &DebuggingInformationEntry<'_, 'u, Reader<'a>>) -> Option<String> {
        let name = self.dwarf.attr_string(self.unit, value(entry, dw::DW_AT_name)?).ok()?;
        Some(name.to_string_lossy().into_owned())
    }
}

/// The first bit of a member in its struct, and its length where it is a bit field.
fn extent<'a>(
    member: &DebuggingInformationEntry<'_, '_, Reader<'a>>,
    kind: &DebuggingInformationEntry<'_, '_, Reader<'a>>,
) -> (usize, Option<usize>) {
    let of = |name| number(member, name).and_then(|number| usize::try_from(number).ok());
    let bits = of(dw::DW_AT_bit_size);
    // DWARF 5 §5.7.6; before version 4 the bits were counted from the other end of the storage.
    let begin = of(dw::DW_AT_data_member_location).unwrap_or(0) * 8;
    if let Some(bit) = of(dw::DW_AT_data_bit_offset) {
        return (bit, bits);
    }
    let storage =
        of(dw::DW_AT_byte_size).or_else(|| number(kind, dw::DW_AT_byte_size).map(|size| size as usize));
    match (of(dw::DW_AT_bit_offset), bits, storage) {
        (Some(from_end), Some(bits), Some(bytes)) => {
            (begin + (bytes * 8).saturating_sub(from_end + bits), Some(bits))
        }
        _ => (begin, bits),
    }
}

fn value<'a>(
    entry: &DebuggingInformationEntry<'_, '_, Reader<'a>>,
    name: DwAt,
) -> Option<AttributeValue<Reader<'a>>> {
    entry.attr(name).ok().flatten().map(|attribute: Attribute<_>| attribute.value())
}

fn number(entry: &DebuggingInformationEntry<'_, '_, Reader<'_>>, name: DwAt) -> Option<u64> {
    value(entry, name)?.udata_value()
}

fn reference(value: AttributeValue<Reader<'_>>) -> Option<UnitOffset> {
    match value {
        AttributeValue::UnitRef(place) => Some(place),
        _ => None,
    }
}

/// The longest array whose elements are variables.
const LONGEST_ARRAY: usize = 8;

/// Most variables of a state: as many as it has bytes.
const MOST_VARIABLES: usize = PRIVATE;

/// The deepest nesting of blocks, structs and names of a type: a wrong file may have a circle.
const DEEPEST: usize = 16;
