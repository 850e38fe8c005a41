//! Frames into Parquet files: whole numbers as packed differences, texts as dictionaries, Snappy on top.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use super::OutputError;
use super::frame::{Column, Frame};

/// Rows of a row group; parts are put together until they reach it.
const GROUP: usize = 200_000;

/// Writes the parts of one table to `path`; false, and no file, where there is no row.
///
/// # Errors
/// Where the file cannot be made or written.
pub fn write(
    path: &Path,
    parts: impl Iterator<Item = Frame>,
) -> core::result::Result<bool, OutputError> {
    let parquet = |source| OutputError::Parquet {
        path: path.to_owned(),
        source,
    };
    let mut writer = None;
    let mut group = Frame::default();
    for part in parts.filter(|p| p.rows() > 0) {
        group.append(part);
        if group.rows() >= GROUP {
            let frame = core::mem::take(&mut group);
            let w = open(path, &mut writer, &frame)?;
            write_group(w, &frame).map_err(parquet)?;
        }
    }
    if group.rows() > 0 {
        let w = open(path, &mut writer, &group)?;
        write_group(w, &group).map_err(parquet)?;
    }
    match writer {
        Some(w) => w.close().map_err(parquet).map(|_| true),
        None => Ok(false),
    }
}

fn open<'w>(
    path: &Path,
    writer: &'w mut Option<SerializedFileWriter<File>>,
    frame: &Frame,
) -> core::result::Result<&'w mut SerializedFileWriter<File>, OutputError> {
    if writer.is_none() {
        let file = File::create(path).map_err(OutputError::file(path))?;
        let made = new_writer(file, frame).map_err(|source| OutputError::Parquet {
            path: path.to_owned(),
            source,
        })?;
        *writer = Some(made);
    }
    Ok(writer.as_mut().expect("just made"))
}

fn new_writer(file: File, frame: &Frame) -> Result<SerializedFileWriter<File>> {
    let mut fields = Vec::new();
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("slackwater ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_dictionary_enabled(false)
        .set_compression(Compression::SNAPPY);
    for (name, column) in &frame.columns {
        let path = ColumnPath::from(*name);
        let builder = match column {
            Column::Int(_) => {
                properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
                Type::primitive_type_builder(name, Physical::INT64)
            }
            Column::Float(_) => Type::primitive_type_builder(name, Physical::DOUBLE),
            Column::Text { .. } => {
                properties = properties.set_column_dictionary_enabled(path, true);
                Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
                    .with_logical_type(Some(LogicalType::String))
            }
        };
        fields.push(Arc::new(
            builder.with_repetition(Repetition::REQUIRED).build()?,
        ));
    }
    let schema = Type::group_type_builder("row")
        .with_fields(fields)
        .build()?;
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))
}

fn write_group(writer: &mut SerializedFileWriter<File>, frame: &Frame) -> Result<()> {
    let mut group = writer.next_row_group()?;
    for (_, column) in &frame.columns {
        write_column(&mut group, column)?;
    }
    group.close().map(|_| ())
}

fn write_column(group: &mut SerializedRowGroupWriter<'_, File>, column: &Column) -> Result<()> {
    let mut writer = group
        .next_column()?
        .expect("a group has as many columns as its frame");
    match column {
        Column::Int(v) => writer.typed::<Int64Type>().write_batch(v, None, None)?,
        Column::Float(v) => writer.typed::<DoubleType>().write_batch(v, None, None)?,
        Column::Text { codes, words } => {
            let words: Vec<ByteArray> = words.iter().map(|w| w.as_str().into()).collect();
            let values: Vec<ByteArray> = codes.iter().map(|c| words[*c as usize].clone()).collect();
            writer
                .typed::<ByteArrayType>()
                .write_batch(&values, None, None)?
        }
    };
    writer.close()
}
