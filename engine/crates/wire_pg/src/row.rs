//! Rows and who wants them: most are only counted, a few are read as text.

use crate::error::{Violation, WireError};
use crate::message::Reader;
use crate::value::text_of_binary;

/// How a value is encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// As the type's output function writes it.
    #[default]
    Text,
    /// As the type's send function writes it.
    Binary,
}

impl Format {
    /// Its code on the wire.
    pub(crate) fn code(self) -> [u8; 2] {
        match self {
            Self::Text => [0, 0],
            Self::Binary => [0, 1],
        }
    }
}

/// What of a column's description is needed to read its values (`RowDescription`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The type's OID.
    pub kind: u32,
    /// How its values come.
    pub format: Format,
}

impl Column {
    /// Reads a `RowDescription` into memory that is there.
    pub(crate) fn read_all(body: &[u8], columns: &mut Vec<Self>) -> Result<(), Violation> {
        let mut reader = Reader::new(body, "a RowDescription");
        columns.clear();
        for _ in 0..reader.u16()? {
            reader.text()?;
            let (_table, _number) = (reader.u32()?, reader.u16()?);
            let kind = reader.u32()?;
            let (_size, _modifier) = (reader.u16()?, reader.u32()?);
            let format = match reader.u16()? {
                0 => Format::Text,
                1 => Format::Binary,
                value => {
                    let message = "a column's format";
                    let value = u32::from(value);
                    return Err(Violation::UnknownValue { message, value });
                }
            };
            columns.push(Self { kind, format });
        }
        reader.finish()
    }
}

/// One row, not yet looked into.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub(crate) body: &'a [u8],
    /// None where the server was not asked to describe them.
    pub(crate) columns: Option<&'a [Column]>,
    /// How values come that are not described.
    pub(crate) results: Format,
}

impl Row<'_> {
    /// Every value as text, as the server would write it; None is NULL. Bytes that are not UTF-8 are replaced.
    /// Allocates.
    ///
    /// # Errors
    /// [`Violation`] if the row does not hold what its description says, [`WireError::ColumnType`] for a binary
    /// value of a type that is not known, [`WireError::Misuse`] for binary values that nothing describes.
    pub fn values(&self) -> Result<Vec<Option<String>>, WireError> {
        let mut reader = Reader::new(self.body, "a DataRow");
        let count = usize::from(reader.u16()?);
        if let Some(columns) = self.columns {
            let columns = columns.len();
            if columns != count {
                let values = count;
                return Err(Violation::FieldCount { values, columns }.into());
            }
        }
        let mut values = Vec::new();
        for place in 0..count {
            let Some(value) = reader.value()? else {
                values.push(None);
                continue;
            };
            let column = self.columns.map(|columns| columns[place]);
            let format = column.map_or(self.results, |column| column.format);
            values.push(Some(match (format, column) {
                (Format::Text, _) => String::from_utf8_lossy(value).into_owned(),
                (Format::Binary, Some(column)) => text_of_binary(column.kind, value)?,
                (Format::Binary, None) => {
                    let what = "reading binary rows of an Execute without a Describe";
                    return Err(WireError::Misuse { what });
                }
            }));
        }
        reader.finish()?;
        Ok(values)
    }
}

/// Takes the rows that a [`crate::ResponseParser`] meets.
pub trait RowSink {
    /// Whether the next row is wanted. Asked when a result begins, and then before each row; while the answer is no,
    /// rows are counted without being kept or looked at.
    fn wants_row(&self) -> bool;

    /// Takes a row that was wanted.
    ///
    /// # Errors
    /// Whatever [`Row::values`] says; it ends the parsing.
    fn row(&mut self, row: Row<'_>) -> Result<(), WireError>;
}

/// Wants no rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiscardRows;

impl RowSink for DiscardRows {
    #[inline]
    fn wants_row(&self) -> bool {
        false
    }

    fn row(&mut self, _row: Row<'_>) -> Result<(), WireError> {
        Ok(())
    }
}

/// How much of rows a collector keeps unless told otherwise.
const DEFAULT_MAX_KEPT_BYTES: usize = 4 << 20;

/// Keeps the first rows as text, until there are enough of them or they take too much memory.
#[derive(Debug, Clone, Default)]
pub struct RowCollector {
    max_rows: usize,
    max_bytes: usize,
    kept_bytes: usize,
    rows: Vec<Vec<Option<String>>>,
}

impl RowCollector {
    /// Wants up to `max_rows` rows, of all results of an answer together, and none once those it has take four
    /// mebibytes.
    pub fn new(max_rows: usize) -> Self {
        Self {
            max_rows,
            max_bytes: DEFAULT_MAX_KEPT_BYTES,
            kept_bytes: 0,
            rows: Vec::new(),
        }
    }

    /// The same with another limit for the memory that rows take; the last may exceed it.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// The rows so far.
    pub fn rows(&self) -> &[Vec<Option<String>>] {
        &self.rows
    }

    /// How much memory the rows so far take, about.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// The rows so far, which are forgotten here.
    pub fn take(&mut self) -> Vec<Vec<Option<String>>> {
        self.kept_bytes = 0;
        std::mem::take(&mut self.rows)
    }
}

impl RowSink for RowCollector {
    fn wants_row(&self) -> bool {
        self.rows.len() < self.max_rows && self.kept_bytes < self.max_bytes
    }

    fn row(&mut self, row: Row<'_>) -> Result<(), WireError> {
        let values = row.values()?;
        let texts = values.iter().flatten();
        self.kept_bytes += size_of_val(&values[..]) + texts.map(String::len).sum::<usize>();
        self.rows.push(values);
        Ok(())
    }
}
