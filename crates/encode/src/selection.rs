//! Which records of a chunk are selected: by the hash of a key, and by time.
//!
//! A test compares the hashes that are remembered with a plain twin, which remembers nothing.

use tracelake_core::fault::Fault;
use tracelake_core::field_order::{RowRules, RuleField, SampleRule, TimeRule};
use tracelake_core::selection::Sample;
use tracelake_schema::Kind;

use crate::cell::Cell;
use crate::key_hash::{KeyHasher, hash_integer};
use crate::split::Records;
use crate::value::{self, other_spelling};

/// Selects records by the rules of their table; reused from chunk to chunk.
#[derive(Debug)]
pub struct Selector {
    rules: RowRules,
    hasher: KeyHasher,
}

impl Selector {
    /// Prepares for the rules of a table; `None` if all rows are selected.
    #[must_use]
    pub fn new(rules: &RowRules) -> Option<Self> {
        (!rules.is_empty()).then(|| Self {
            rules: rules.clone(),
            hasher: KeyHasher::new(),
        })
    }

    /// Removes the records of a chunk that aren't selected.
    pub(crate) fn retain(&mut self, chunk: &[u8], records: &mut Records) {
        let RowRules { sample, time } = self.rules.clone();
        records.retain(|index, records| {
            let text = |position: usize| {
                let (start, end) = records.field(index, position);
                &chunk[start..end]
            };
            if let Some(rule) = &sample {
                let field = rule.field.position.map(text).unwrap_or_default();
                if !self
                    .samples(rule, field)
                    .map_err(|fault| at(&rule.field, fault))?
                {
                    return Ok(false);
                }
            }
            match &time {
                Some(rule) => {
                    let field = rule.field.position.map(text).unwrap_or_default();
                    in_time(rule, field).map_err(|fault| at(&rule.field, fault))
                }
                None => Ok(true),
            }
        });
    }

    /// Whether a key is sampled.
    #[inline]
    fn samples(&mut self, rule: &SampleRule, field: &[u8]) -> Result<bool, Fault> {
        let Sample { class, of } = rule.sample;
        let hash = if rule.field.is_null(field) {
            empty(&rule.field)?;
            self.hasher.null()
        } else if rule.field.column.kind == Kind::Integer {
            self.hasher.integer(integer(&rule.field, field)?)
        } else if let Some(hash) = self.hasher.known_text(field) {
            hash
        } else {
            value::text(field)?;
            self.hasher.text(field)
        };
        Ok(hash % of == class)
    }
}

/// Whether an integer key is sampled.
fn samples_integer(sample: Sample, key: i64) -> bool {
    hash_integer(key) % sample.of == sample.class
}

/// Whether rules select the row of which `cell` reads the key and the time, the time only if the key is sampled.
pub(crate) fn selects<E>(
    rules: &RowRules,
    mut cell: impl FnMut(&RuleField) -> Result<Cell, E>,
) -> Result<bool, E> {
    if let Some(rule) = &rules.sample {
        let is_sampled = match cell(&rule.field)? {
            Cell::Integer(key) => samples_integer(rule.sample, key),
            Cell::Text(key) => rule.sample.selects(key.as_bytes()),
            _ => rule.sample.selects(b""),
        };
        if !is_sampled {
            return Ok(false);
        }
    }
    let Some(rule) = &rules.time else {
        return Ok(true);
    };
    Ok(match cell(&rule.field)? {
        Cell::Integer(time) => rule.selects(Some(time)),
        Cell::Float(time) => rule.selects_float(Some(time)),
        // A date-time: nothing else of a time is a text.
        Cell::Text(time) => matches!(in_time(rule, time.as_bytes()), Ok(true)),
        _ => false,
    })
}

/// Whether rules select the row with this key and this time, as fields of CSV: the plain twin of [`Selector`].
///
/// # Errors
/// The fault of the key or the time.
#[cfg(test)]
fn decides(rules: &RowRules, key: &[u8], time: &[u8]) -> Result<bool, Fault> {
    if let Some(SampleRule { sample, field }) = &rules.sample {
        let is_selected = match (key, field.column.kind) {
            (b"", _) => empty(field).map(|()| sample.selects(b""))?,
            (key, Kind::Integer) => samples_integer(*sample, integer(field, key)?),
            (key, _) => sample.selects(value::text(key)?.as_bytes()),
        };
        if !is_selected {
            return Ok(false);
        }
    }
    rules
        .time
        .as_ref()
        .map_or(Ok(true), |rule| in_time(rule, time))
}

/// Whether a time is selected.
#[inline]
fn in_time(rule: &TimeRule, field: &[u8]) -> Result<bool, Fault> {
    if rule.field.is_null(field) {
        return empty(&rule.field).map(|()| rule.selects(None));
    }
    Ok(match rule.field.column.kind {
        Kind::DateTime(zone) => {
            let time = value::date_time_of(&rule.field.column, field, zone)?;
            rule.selects(Some(time))
        }
        Kind::Float => rule.selects_float(Some(value::float(field)?)),
        Kind::Integer | Kind::Boolean | Kind::Text | Kind::Code | Kind::Struct | Kind::List => {
            rule.selects(Some(integer(&rule.field, field)?))
        }
    })
}

/// Reads an integer as its column does.
#[inline]
pub(crate) fn integer(rule: &RuleField, field: &[u8]) -> Result<i64, Fault> {
    value::integer(field).or_else(|fault| {
        other_spelling(&rule.column, field, fault, &rule.accept).map(|(value, _)| value)
    })
}

/// An empty field is NULL, or a fault.
#[inline]
fn empty(field: &RuleField) -> Result<(), Fault> {
    if field.mandatory {
        Err(Fault::Empty)
    } else {
        Ok(())
    }
}

/// The fault of a field that the files have. One that they lack is NULL in every row, and never mandatory.
#[cold]
fn at(field: &RuleField, fault: Fault) -> (usize, Fault) {
    (field.position.unwrap_or_default(), fault)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tracelake_core::field_order::FieldOrder;
    use tracelake_core::line_ending::LineEnding;

    use super::*;
    use crate::samples::{FIELDS, order};

    /// Rules by the machine or the platform, and by time, which every row of the table has.
    fn rules(
        order: &FieldOrder,
        key: Option<&str>,
        of: u32,
        range: Option<(i64, i64)>,
    ) -> RowRules {
        let sample = key.map(|key| SampleRule {
            sample: Sample { class: of / 2, of },
            field: order.rule_field(key).unwrap(),
        });
        let time = range.map(|(from, to)| TimeRule {
            from,
            to: Some(to),
            field: order.rule_field("time").unwrap(),
        });
        RowRules { sample, time }
    }

    /// A chunk of rows; some of them have faults in their shape, their time or their key.
    fn rows() -> impl Strategy<Value = Vec<String>> {
        let time = "0|[0-9]{1,3}|9223372036854775807|18446744073709551615|x|";
        let machine = "-?0{0,2}[0-9]{1,2}|9223372036854775807|99999999999999999999|";
        let platform = "[ab]{0,2}|\"|é";
        let row = (time, machine, platform).prop_map(|(time, machine, platform)| {
            format!("{time},{machine},0,{platform},0.5,0.25")
        });
        let malformed = Just("short,row".to_owned());
        prop::collection::vec(prop_oneof![9 => row, 1 => malformed], 0..60)
    }

    proptest! {
        #[test]
        fn equals_the_plain_twin(
            chunks in prop::collection::vec(rows(), 1..4),
            key in prop::option::of(prop_oneof![Just("machine_id"), Just("platform_id")]),
            of in 1_u32..5,
            time in prop::option::of((-5_i64..500, 500_i64..1000)),
        ) {
            let order = order();
            let rules = rules(&order, key, of, time);
            let Some(mut selector) = Selector::new(&rules) else {
                prop_assert!(key.is_none() && time.is_none());
                return Ok(());
            };
            let key = rules.sample.as_ref().and_then(|rule| rule.field.position).unwrap_or_default();
            for lines in chunks {
                let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
                let mut records = Records::default();
                records.split(text.as_bytes(), FIELDS, LineEnding::Lf);
                selector.retain(text.as_bytes(), &mut records);
                let (mut kept, mut faults, mut left) = (Vec::new(), Vec::new(), 0);
                for (number, line) in lines.iter().enumerate() {
                    let fields: Vec<&str> = line.split(',').collect();
                    if fields.len() != FIELDS {
                        continue;
                    }
                    match decides(&rules, fields[key].as_bytes(), fields[0].as_bytes()) {
                        Ok(false) => {
                            left += 1;
                            continue;
                        }
                        Ok(true) => {}
                        Err(fault) => faults.push((kept.len(), fault)),
                    }
                    kept.push((number, line.as_str()));
                }
                let found: Vec<(usize, &str)> = (0..records.len())
                    .map(|record| {
                        let (start, end) = records.record(record);
                        (records.line(record).unwrap(), &text[start..end])
                    })
                    .collect();
                prop_assert_eq!(found, kept);
                prop_assert_eq!(records.not_selected(), left);
                let found_faults: Vec<(usize, Fault)> = records
                    .faults()
                    .iter()
                    .map(|&(record, _, fault)| (record, fault))
                    .collect();
                prop_assert_eq!(found_faults, faults);
            }
        }
    }
}
