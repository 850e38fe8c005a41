//! Columns of a Parquet file that a run left.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{FileReader, SerializedFileReader};
use slackwater_scenario::bounded;

use super::ShelfError;

/// An open table.
pub(super) struct TableFile {
    path: PathBuf,
    reader: SerializedFileReader<File>,
}

impl TableFile {
    /// Opens `folder/name.parquet`; `None` where a run left no such table.
    pub(super) fn open(folder: &Path, name: &str) -> Result<Option<Self>, ShelfError> {
        let path = folder.join(format!("{name}.parquet"));
        let file = match bounded::open(&path) {
            Ok((file, _)) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ShelfError::File { path, source }),
        };
        match SerializedFileReader::new(file) {
            Ok(reader) => Ok(Some(Self { path, reader })),
            Err(source) => Err(ShelfError::Parquet { path, source }),
        }
    }

    /// A column of whole numbers.
    pub(super) fn ints(&self, column: &'static str) -> Result<Vec<i64>, ShelfError> {
        self.column(column, "whole numbers", |reader, rows, out| match reader {
            ColumnReader::Int64ColumnReader(mut r) => {
                Some(r.read_records(rows, None, None, out).map(|_| ()))
            }
            _ => None,
        })
    }

    /// A column of numbers.
    pub(super) fn floats(&self, column: &'static str) -> Result<Vec<f64>, ShelfError> {
        self.column(column, "numbers", |reader, rows, out| match reader {
            ColumnReader::DoubleColumnReader(mut r) => {
                Some(r.read_records(rows, None, None, out).map(|_| ()))
            }
            _ => None,
        })
    }

    /// A column of texts.
    pub(super) fn texts(&self, column: &'static str) -> Result<Vec<ByteArray>, ShelfError> {
        self.column(column, "texts", |reader, rows, out| match reader {
            ColumnReader::ByteArrayColumnReader(mut r) => {
                Some(r.read_records(rows, None, None, out).map(|_| ()))
            }
            _ => None,
        })
    }

    fn column<T>(
        &self,
        name: &'static str,
        expected: &'static str,
        mut read: impl FnMut(ColumnReader, usize, &mut Vec<T>) -> Option<ParquetResult<()>>,
    ) -> Result<Vec<T>, ShelfError> {
        let wrong = || ShelfError::Column {
            path: self.path.clone(),
            column: name,
            expected,
        };
        let parquet = |source| ShelfError::Parquet {
            path: self.path.clone(),
            source,
        };
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let index = schema.columns().iter().position(|c| c.name() == name);
        let index = index.ok_or_else(wrong)?;
        let mut out = vec![];
        for group in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(group).map_err(parquet)?;
            let rows = group.metadata().num_rows() as usize;
            let reader = group.get_column_reader(index).map_err(parquet)?;
            read(reader, rows, &mut out)
                .ok_or_else(wrong)?
                .map_err(parquet)?;
        }
        Ok(out)
    }
}
