//! Frames as Arrow tables: a frame's vectors become Arrow's buffers as they are.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
    UInt32Array,
};
use arrow_schema::{Field, Schema};
use slackwater_results::output::{Column, Frame};

use crate::table::Table;

/// The table that `parts`, which have the same columns, make up.
pub(crate) fn table(parts: impl Iterator<Item = Frame>) -> Table {
    let parts: Vec<Vec<(&'static str, ArrayRef)>> = parts
        .map(|part| {
            part.columns
                .into_iter()
                .map(|(name, column)| (name, array(column)))
                .collect()
        })
        .collect();
    let fields: Vec<Field> = parts
        .first()
        .into_iter()
        .flatten()
        // Any number may be missing in a later part.
        .map(|(name, array)| {
            Field::new(
                *name,
                array.data_type().clone(),
                array.data_type().is_floating(),
            )
        })
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batches = parts
        .into_iter()
        .filter(|columns| columns.first().is_some_and(|(_, array)| !array.is_empty()))
        .map(|columns| {
            let arrays = columns.into_iter().map(|(_, array)| array).collect();
            RecordBatch::try_new(Arc::clone(&schema), arrays)
                .expect("the parts of a table have the same columns, each of one length")
        })
        .collect();
    Table::new(schema, batches)
}

fn array(column: Column) -> ArrayRef {
    match column {
        Column::Int(values) => Arc::new(Int64Array::from(values)),
        Column::Float(values) => {
            let there: Vec<bool> = values.iter().map(|v| !v.is_nan()).collect();
            let nulls = there.contains(&false).then(|| there.into());
            Arc::new(Float64Array::new(values.into(), nulls))
        }
        Column::Text { codes, words } => {
            let words = StringArray::from_iter_values(words.iter());
            let texts =
                DictionaryArray::<UInt32Type>::try_new(UInt32Array::from(codes), Arc::new(words));
            Arc::new(texts.expect("every code is an index into the words"))
        }
    }
}
