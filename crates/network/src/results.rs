//! The results of a run: its summary, and the files that `lasthop run` writes.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ::scenario::Resolved;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sim::{ROWS, Records, Summary};

use crate::error::NetworkError;

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Results {
    /// The object that `lasthop run --json` prints: links, and the flows of the scenario.
    pub summary: Value,
    /// Tables and captures that the scenario records.
    pub files: Vec<File>,
    hash: String,
    specification: Value,
}

/// A file of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name in the result's folder, such as "packets.parquet" or "capture-client.pcapng".
    pub name: String,
    /// Its contents.
    pub contents: Vec<u8>,
}

/// Value of the first key of `run.json`: the format of results.
const FORMAT: &str = "lasthop run 1";

impl Results {
    pub(crate) fn new(resolved: &Resolved, summary: &Summary, records: &Records) -> Self {
        let mut files = Files::default();
        files.append(records);
        Self {
            summary: serde_json::to_value(summary).expect("numbers and texts"),
            files: files.finish(),
            hash: resolved.hash(),
            specification: resolved.to_value(),
        }
    }

    /// Writes the result into a folder, for `lasthop report`, `plot` and `explain`. The folder is made if need be;
    /// files of the same names in it are replaced.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<(), NetworkError> {
        let folder = folder.as_ref();
        let failed = |path: &Path, error| NetworkError::File { file: path.display().to_string(), error };
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let index = File { name: "run.json".into(), contents: self.index().into_bytes() };
        for file in self.files.iter().chain([&index]) {
            let path = folder.join(&file.name);
            fs::write(&path, &file.contents).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }

    /// The text of `run.json`.
    fn index(&self) -> String {
        let fingerprint = |file: &File| {
            let found = json!({ "bytes": file.contents.len(), "sha256": sha256(&file.contents) });
            (file.name.clone(), found)
        };
        let index = json!({
            "format": FORMAT,
            "scenario": self.summary["scenario"],
            "seed": self.summary["seed"],
            "clock": self.summary["clock"],
            "hash": self.hash,
            "versions": { "lasthop": env!("CARGO_PKG_VERSION") },
            "summary": self.summary,
            "files": self.files.iter().map(fingerprint).collect::<serde_json::Map<_, _>>(),
            "specification": self.specification,
        });
        serde_json::to_string_pretty(&index).expect("numbers and texts") + "\n"
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Tables and captures in memory, in the order in which they began.
#[derive(Default)]
pub struct Files {
    tables: Vec<(&'static str, parquet::Writer<Vec<u8>>)>,
    captures: Vec<(String, Vec<u8>)>,
}

impl Files {
    /// Appends the records of a part of a run.
    pub fn append(&mut self, records: &Records) {
        for (name, batch) in &records.tables {
            let place = self.tables.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                let table = parquet::Writer::new(Vec::new(), batch.schema()).expect(IN_MEMORY);
                self.tables.push((name, table));
                self.tables.len() - 1
            });
            for start in (0..batch.num_rows()).step_by(ROWS) {
                let group = batch.slice(start, ROWS.min(batch.num_rows() - start));
                self.tables[place].1.write(&group).expect(IN_MEMORY);
            }
        }
        for (point, bytes) in &records.captures {
            match self.captures.iter_mut().find(|(known, _)| known == point) {
                Some((_, capture)) => capture.extend(bytes),
                None => self.captures.push((point.clone(), bytes.clone())),
            }
        }
    }

    /// Ends the files.
    #[must_use]
    pub fn finish(self) -> Vec<File> {
        let tables = self.tables.into_iter().map(|(name, table)| File {
            name: format!("{name}.parquet"),
            contents: table.finish().expect(IN_MEMORY),
        });
        let captures = self.captures.into_iter();
        let captures =
            captures.map(|(point, contents)| File { name: format!("capture-{point}.pcapng"), contents });
        tables.chain(captures).collect()
    }
}

const IN_MEMORY: &str = "a vector takes every byte";
