//! The requests of a batch of a lake.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch};
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_schema::{Column, Requests};

use crate::finding::corrupt;

/// How blocks are numbered in the file: those of one service as they are, those of several so that no two services share a
/// number.
pub(super) struct Blocks {
    /// The services with numbers of their own, in order.
    services: Vec<String>,
}

impl Blocks {
    /// Tells the blocks of these services apart, if there are several.
    pub(super) fn of(services: BTreeSet<String>) -> Self {
        Self {
            services: services.into_iter().collect(),
        }
    }

    /// How many services are told apart, at least one.
    pub(super) fn clocks(&self) -> u64 {
        self.services.len().max(1) as u64
    }

    /// The number in the file of a block of a service.
    fn number(&self, service: Option<&str>, block: i64) -> Result<i64> {
        let wrong =
            |reason: String, hint: &'static str| Error::new(ErrorKind::Misfit, reason).hint(hint);
        let number = u64::try_from(block).map_err(|_| {
            let reason = format!("hash_ids has the block {block}, and blocks are numbered from 0");
            wrong(
                reason,
                "convert again without the column of blocks (--columns)",
            )
        })?;
        let place = self
            .services
            .iter()
            .position(|one| Some(&**one) == service)
            .unwrap_or_default() as u64;
        let renumbered = number
            .checked_mul(self.clocks())
            .and_then(|number| number.checked_add(place));
        let renumbered = renumbered.and_then(|number| i64::try_from(number).ok());
        renumbered.ok_or_else(|| {
            let reason = format!(
                "the block {block} of hash_ids is too large to be told from those of other services"
            );
            wrong(reason, "export one service at a time (--service)")
        })
    }
}

/// The columns of a batch.
pub(super) struct RequestBatch<'a> {
    time: &'a ArrayRef,
    /// How many microseconds a unit of the time is.
    micros: i64,
    input_length: &'a Int64Array,
    output_length: &'a Int64Array,
    hash_ids: Option<&'a ListArray>,
    session_id: Option<&'a ArrayRef>,
    service: Option<&'a ArrayRef>,
}

impl<'a> RequestBatch<'a> {
    /// The columns of a batch; `None` if it has others.
    pub(super) fn of(batch: &'a RecordBatch, requests: &Requests, time: &Column) -> Option<Self> {
        let column = |name: &str| batch.column_by_name(name);
        let integers = |name: &str| column(name)?.as_primitive_opt::<Int64Type>();
        // None if the table has no such column, and nothing at all if the batch lacks it.
        let optional = |name: &Option<String>| match name {
            Some(name) => column(name).map(Some),
            None => Some(None),
        };
        Some(Self {
            time: column(&time.name)?,
            micros: 1_000_000 / time.units_per_second(),
            input_length: integers(&requests.input_length)?,
            output_length: integers(&requests.output_length)?,
            hash_ids: match optional(&requests.hash_ids)? {
                Some(lists) => Some(lists.as_list_opt()?),
                None => None,
            },
            session_id: optional(&requests.session_id)?,
            service: optional(&requests.service)?,
        })
    }

    /// When a request arrived, in microseconds.
    pub(super) fn arrival(&self, row: usize) -> Result<Option<i64>> {
        if self.time.is_null(row) {
            return Ok(None);
        }
        let (units, shown) = if let Some(times) = self.time.as_primitive_opt::<Float64Type>() {
            let time = times.value(row);
            #[expect(clippy::cast_precision_loss, reason = "it is 1, 1,000 or 1,000,000")]
            let micros = (time * self.micros as f64).round();
            (whole(micros), time.to_string())
        } else {
            let times = self.time.as_primitive_opt::<Int64Type>();
            let dates = self.time.as_primitive_opt::<TimestampMicrosecondType>();
            let time = times.map(|times| times.value(row));
            let time = time.or(dates.map(|dates| dates.value(row)));
            let time = time.ok_or_else(|| corrupt("the column of times doesn't have times"))?;
            (time.checked_mul(self.micros), time.to_string())
        };
        let too_far = || {
            Error::new(
                ErrorKind::Misfit,
                format!("the time {shown} is too far from 0 for a request"),
            )
            .hint("leave it out with --time FROM..TO")
        };
        units.map(Some).ok_or_else(too_far)
    }

    /// The service of a request.
    pub(super) fn service(&self, row: usize) -> Option<Cow<'a, str>> {
        text(self.service?, row)
    }

    /// Whether a request has no tokens of the input, or none of the output.
    pub(super) fn is_empty(&self, row: usize) -> bool {
        let has_tokens = |tokens: &Int64Array| tokens.is_valid(row) && tokens.value(row) > 0;
        !(has_tokens(self.input_length) && has_tokens(self.output_length))
    }

    /// Writes the members of a request's object after `timestamp`.
    pub(super) fn write(&self, row: usize, blocks: &Blocks, out: &mut Vec<u8>) -> Result<()> {
        let lengths = [
            ("input_length", self.input_length),
            ("output_length", self.output_length),
        ];
        for (name, tokens) in lengths {
            match tokens.is_valid(row) {
                true => append(out, format_args!(",\"{name}\":{}", tokens.value(row))),
                false => append(out, format_args!(",\"{name}\":null")),
            }
        }
        if let Some(lists) = self.hash_ids.filter(|lists| lists.is_valid(row)) {
            let items = lists.value(row);
            let items = items.as_primitive_opt::<Int64Type>();
            let items = items.ok_or_else(|| corrupt("hash_ids doesn't have integers"))?;
            let service = self.service(row);
            append(out, format_args!(",\"hash_ids\":["));
            for (at, block) in items.iter().enumerate() {
                let comma = if at > 0 { "," } else { "" };
                match block {
                    Some(block) => {
                        let number = blocks.number(service.as_deref(), block)?;
                        append(out, format_args!("{comma}{number}"));
                    }
                    None => append(out, format_args!("{comma}null")),
                }
            }
            out.push(b']');
        }
        if let Some(session) = self.session_id.and_then(|sessions| text(sessions, row)) {
            append(
                out,
                format_args!(",\"session_id\":{}", serde_json::Value::from(session)),
            );
        }
        Ok(())
    }
}

/// A whole number of microseconds.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole(micros: f64) -> Option<i64> {
    (micros.abs() < 2_f64.powi(63)).then_some(micros as i64)
}

/// A text, or an integer as text; `None` if it is NULL.
fn text(values: &ArrayRef, row: usize) -> Option<Cow<'_, str>> {
    if values.is_null(row) {
        return None;
    }
    match values.as_string_opt::<i32>() {
        Some(texts) => Some(texts.value(row).into()),
        None => {
            let integers = values.as_primitive_opt::<Int64Type>()?;
            Some(integers.value(row).to_string().into())
        }
    }
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("memory takes any text");
}
