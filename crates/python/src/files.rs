//! The files of a run: its records, written into a folder as they come.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use sim::{ROWS, Records};

/// A file that could not be written.
pub(crate) struct FileError {
    pub(crate) file: PathBuf,
    pub(crate) error: io::Error,
}

/// The tables and captures of one run, in an existing folder.
pub(crate) struct RecordFiles {
    folder: PathBuf,
    tables: BTreeMap<&'static str, Table>,
    captures: BTreeMap<String, BufWriter<File>>,
}

type Table = parquet::Writer<BufWriter<File>>;

impl RecordFiles {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), tables: BTreeMap::new(), captures: BTreeMap::new() }
    }

    /// Appends records.
    pub(crate) fn write(&mut self, records: &Records) -> Result<(), FileError> {
        for (name, batch) in &records.tables {
            let path = self.folder.join(format!("{name}.parquet"));
            self.append_rows(name, batch, &path).map_err(|error| FileError { file: path, error })?;
        }
        for (point, bytes) in &records.captures {
            let path = self.folder.join(format!("capture-{point}.pcapng"));
            self.append_bytes(point, bytes, &path).map_err(|error| FileError { file: path, error })?;
        }
        Ok(())
    }

    /// Completes every file.
    pub(crate) fn finish(self) -> Result<(), FileError> {
        for (name, table) in self.tables {
            let path = self.folder.join(format!("{name}.parquet"));
            table.finish().map_err(|error| FileError { file: path, error })?;
        }
        for (point, mut capture) in self.captures {
            let path = self.folder.join(format!("capture-{point}.pcapng"));
            capture.flush().map_err(|error| FileError { file: path, error })?;
        }
        Ok(())
    }

    fn append_rows(&mut self, name: &'static str, batch: &RecordBatch, path: &Path) -> io::Result<()> {
        if !self.tables.contains_key(name) {
            self.tables.insert(name, begin_table(path, batch)?);
        }
        let table = self.tables.get_mut(name).expect("it was begun");
        row_groups(batch).try_for_each(|group| table.write(&group))
    }

    fn append_bytes(&mut self, point: &str, bytes: &[u8], path: &Path) -> io::Result<()> {
        if !self.captures.contains_key(point) {
            self.captures.insert(point.to_owned(), BufWriter::new(File::create(path)?));
        }
        self.captures.get_mut(point).expect("it was begun").write_all(bytes)
    }
}

/// A table that is written as its rows come.
pub(crate) struct TableFile {
    path: PathBuf,
    table: Option<Table>,
}

impl TableFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), table: None }
    }

    pub(crate) fn append(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        let failed = |error| FileError { file: self.path.clone(), error };
        if self.table.is_none() {
            self.table = Some(begin_table(&self.path, batch).map_err(failed)?);
        }
        self.table.as_mut().map_or(Ok(()), |table| table.write(batch)).map_err(failed)
    }

    pub(crate) fn finish(self) -> Result<(), FileError> {
        let Some(table) = self.table else { return Ok(()) };
        table.finish().map(drop).map_err(|error| FileError { file: self.path, error })
    }
}

/// Writes one complete table.
pub(crate) fn write_table(path: &Path, batches: &[RecordBatch]) -> Result<(), FileError> {
    let write = || {
        let Some(first) = batches.first() else { return Ok(()) };
        let mut table = begin_table(path, first)?;
        batches.iter().flat_map(row_groups).try_for_each(|group| table.write(&group))?;
        table.finish().map(drop)
    };
    write().map_err(|error| FileError { file: path.to_owned(), error })
}

fn begin_table(path: &Path, batch: &RecordBatch) -> io::Result<Table> {
    parquet::Writer::new(BufWriter::new(File::create(path)?), batch.schema())
}

/// A batch cut where a run that is written as it goes would cut it, so that both give the same bytes.
fn row_groups(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> {
    let starts = (0..batch.num_rows()).step_by(ROWS);
    starts.map(|start| batch.slice(start, ROWS.min(batch.num_rows() - start)))
}
