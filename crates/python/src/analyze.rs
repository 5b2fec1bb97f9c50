//! Analysis of captures.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use analysis::{Filter, Frames, Input, Instruction, KeyLog, Program, Seen, Selection, Survey};
use pyo3::prelude::*;
use units::Duration;
use wire::capture::{LinkType, ReadError, Reader};
use wire::pcapng::Section;

use crate::error::Failure;
use crate::files::{FileError, TableFile};
use crate::table::Table;

/// The fields of an instruction of a filter.
type Fields = (u16, u8, u8, u32);

/// A notable packet: time in seconds, frame number, both ends from the sender, kind, cause, sequence number, length.
type Row = (f64, u64, String, String, &'static str, Option<&'static str>, u64, u32);

/// The files of a capture, and the choice of their frames (see `lasthop.selection`).
#[derive(FromPyObject)]
pub(crate) struct Chosen {
    files: Vec<PathBuf>,
    from_ns: u64,
    to_ns: Option<u64>,
    programs: Option<BTreeMap<u16, Vec<Fields>>>,
    key_log: Option<PathBuf>,
}

/// Reads a capture and returns its report as JSON (see `analysis::Report`). With a path for `segments`, its packets are
/// written there as that table; with one for `annotated`, its frames are written there with verdicts as comments.
#[pyfunction]
#[pyo3(signature = (chosen, segments=None, annotated=None))]
pub(crate) fn analyze(
    py: Python<'_>,
    chosen: Chosen,
    segments: Option<PathBuf>,
    annotated: Option<PathBuf>,
) -> Result<String, Failure> {
    py.detach(|| {
        let survey = Survey::read(chosen.frames()?);
        if let Some(path) = segments {
            write_rows(&chosen, &survey, &path)?;
        }
        if let Some(path) = annotated {
            write_annotated(&chosen, &survey, &path)?;
        }
        Ok(crate::json::json_of(&survey.report()))
    })
}

/// Reads a capture once, from standard input if it has no file, and calls `each` with every notable packet when it
/// comes: retransmissions, packets out of order, probes, and resets. Returns the report as JSON.
#[pyfunction]
pub(crate) fn analyze_as_it_comes(
    py: Python<'_>,
    chosen: Chosen,
    each: Py<PyAny>,
) -> Result<String, Failure> {
    py.detach(|| {
        let frames = if chosen.files.is_empty() { chosen.standard_input()? } else { chosen.frames()? };
        let survey = Survey::watch(frames, |seen| match row_of(seen) {
            Some(row) => Python::attach(|py| each.call1(py, (row,)).map(drop)),
            None => Ok(()),
        });
        Ok(crate::json::json_of(&survey.map_err(Failure::Python)?.report()))
    })
}

/// Reads the TCP packets of a capture as a table (see `analysis::packets`).
#[pyfunction]
pub(crate) fn capture_packets(py: Python<'_>, chosen: Chosen) -> Result<Table, Failure> {
    py.detach(|| Ok(Table::new(analysis::packets(chosen.frames()?))))
}

/// Reads the packets of QUIC in a capture as a table (see `analysis::quic_packets`).
#[pyfunction]
pub(crate) fn quic_packets(py: Python<'_>, chosen: Chosen) -> Result<Table, Failure> {
    py.detach(|| Ok(Table::new(analysis::quic_packets(chosen.frames()?))))
}

impl Chosen {
    fn frames(&self) -> Result<Frames<Input>, Failure> {
        let readers: Result<Vec<_>, _> = self.files.iter().map(|path| open(path)).collect();
        Ok(Frames::new(readers?, self.selection()?))
    }

    fn standard_input(&self) -> Result<Frames<Input>, Failure> {
        let reader = analysis::open(std::io::stdin());
        let reader = reader.map_err(|error| unreadable(Path::new("-"), error))?;
        Ok(Frames::new([reader], self.selection()?))
    }

    fn selection(&self) -> Result<Selection, Failure> {
        let key_log = self.key_log.as_deref().map(read_key_log).transpose()?.unwrap_or_default();
        Ok(Selection {
            from: Duration::from_nanos(self.from_ns),
            to: self.to_ns.map(Duration::from_nanos),
            filter: self.programs.as_ref().map(filter_of),
            key_log,
        })
    }
}

fn read_key_log(path: &Path) -> Result<KeyLog, Failure> {
    let bytes = std::fs::read(path).map_err(|error| FileError { file: path.to_owned(), error })?;
    let log = KeyLog::parse(&String::from_utf8_lossy(&bytes));
    log.map_err(|error| Failure::KeyLog { file: path.to_owned(), error })
}

fn filter_of(programs: &BTreeMap<u16, Vec<Fields>>) -> Filter {
    let mut filter = Filter::default();
    for (link_type, fields) in programs {
        let instructions = fields.iter().map(|&(code, if_true, if_false, constant)| Instruction {
            code,
            if_true,
            if_false,
            constant,
        });
        if let Some(program) = Program::new(instructions.collect()) {
            filter.add(LinkType(*link_type), program);
        }
    }
    filter
}

/// The row of a notable packet; `None` for the others.
fn row_of(seen: &Seen<'_>) -> Option<Row> {
    let (kind, cause) = seen.notable()?;
    let [sender, receiver] = seen.ends().map(|end| end.to_string());
    let observed = &seen.observed;
    Some((seen.at.as_secs_f64(), seen.number.0, sender, receiver, kind, cause, observed.seq, observed.len))
}

fn write_rows(chosen: &Chosen, survey: &Survey, path: &Path) -> Result<(), Failure> {
    let mut table = TableFile::new(path);
    analysis::rows(chosen.frames()?, survey, |batch| table.append(&batch))?;
    if let Some(batch) = analysis::quic_segments(chosen.frames()?, survey) {
        table.append(&batch)?;
    }
    Ok(table.finish()?)
}

fn write_annotated(chosen: &Chosen, survey: &Survey, path: &Path) -> Result<(), Failure> {
    let failed = |error| FileError { file: path.to_owned(), error };
    let out = BufWriter::new(File::create(path).map_err(failed)?);
    let application = concat!("lasthop ", env!("CARGO_PKG_VERSION")).to_owned();
    let section = Section { application, ..Section::default() };
    analysis::annotate(chosen.frames()?, survey, out, &section).map_err(failed)?;
    Ok(())
}

fn open(path: &Path) -> Result<Reader<Input>, Failure> {
    let file = File::open(path).map_err(|error| FileError { file: path.to_owned(), error })?;
    analysis::open(file).map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, error: ReadError) -> Failure {
    match error {
        ReadError::Io { error, .. } => FileError { file: path.to_owned(), error }.into(),
        other => Failure::Capture { file: path.to_owned(), error: other },
    }
}
