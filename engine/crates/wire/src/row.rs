//! Rows and who wants them: most are only counted, a few are read as text.

use crate::error::{Violation, WireError};
use crate::payload::PayloadReader;
use crate::value::text_of_binary;

/// How the values of a row are encoded: as text for `COM_QUERY`, binary for
/// `COM_STMT_EXECUTE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// `ProtocolText::ResultsetRow`.
    Text,
    /// `ProtocolBinary::ResultsetRow`.
    Binary,
}

/// What of a column's definition is needed to read its values (`Protocol::ColumnDefinition41`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The type's number (`MYSQL_TYPE_*`).
    pub kind: u8,
    /// The flags (`UNSIGNED_FLAG`, `ZEROFILL_FLAG` and so on).
    pub flags: u16,
    /// The display width in bytes.
    pub length_bytes: u32,
    /// Digits after the decimal point; 31 means as many as there are.
    pub decimals: u8,
    /// The number of the collation.
    pub charset: u16,
}

impl Column {
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, Violation> {
        const NAMES: usize = 6;
        let mut reader = PayloadReader::new(payload, "a column definition");
        for _ in 0..NAMES {
            reader.lenenc_bytes()?;
        }
        reader.lenenc_int()?;
        let charset = reader.u16()?;
        let length_bytes = reader.u32()?;
        let kind = reader.u8()?;
        let flags = reader.u16()?;
        let decimals = reader.u8()?;
        Ok(Self {
            kind,
            flags,
            length_bytes,
            decimals,
            charset,
        })
    }
}

/// One row, not yet looked into.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub(crate) payload: &'a [u8],
    pub(crate) columns: &'a [Column],
    pub(crate) format: RowFormat,
}

impl<'a> Row<'a> {
    /// The columns that the row has a value for, in order.
    pub fn columns(&self) -> &'a [Column] {
        self.columns
    }

    /// Every value as text, as the server would write it in the text protocol; None is NULL.
    /// Bytes that are not UTF-8 are replaced. Allocates.
    ///
    /// # Errors
    /// A [`Violation`] where the row and its columns do not fit.
    pub fn values(&self) -> Result<Vec<Option<String>>, WireError> {
        let values = match self.format {
            RowFormat::Text => self.text_values(),
            RowFormat::Binary => self.binary_values(),
        };
        Ok(values?)
    }

    fn text_values(&self) -> Result<Vec<Option<String>>, Violation> {
        let mut reader = PayloadReader::new(self.payload, "a text row");
        let mut values = Vec::with_capacity(self.columns.len());
        for _ in self.columns {
            let value = reader.lenenc_bytes_or_null()?;
            values.push(value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
        }
        reader.finish()?;
        Ok(values)
    }

    fn binary_values(&self) -> Result<Vec<Option<String>>, Violation> {
        /// The null bitmap begins with two bits that mean nothing.
        const NULL_BITMAP_OFFSET: usize = 2;
        let mut reader = PayloadReader::new(self.payload, "a binary row");
        reader.u8()?;
        let null_bitmap = reader.bytes((self.columns.len() + NULL_BITMAP_OFFSET).div_ceil(8))?;
        let mut values = Vec::with_capacity(self.columns.len());
        for (index, column) in self.columns.iter().enumerate() {
            let bit = index + NULL_BITMAP_OFFSET;
            let is_null = (null_bitmap[bit / 8] >> (bit % 8)) & 1 == 1;
            values.push(if is_null {
                None
            } else {
                Some(text_of_binary(column, &mut reader)?)
            });
        }
        reader.finish()?;
        Ok(values)
    }
}

/// Takes the rows that a [`crate::ResponseParser`] meets.
pub trait RowSink {
    /// Whether the next row is wanted. Asked when a result set begins, and then before each row;
    /// while the answer is no, rows are counted without being kept or looked at.
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
    /// Wants up to `max_rows` rows, of all results of a response together, and none once those it
    /// has take four mebibytes.
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
