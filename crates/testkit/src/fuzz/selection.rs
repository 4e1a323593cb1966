//! Lakes of a selection against a plain decoder that selects afterwards: the rows and the rejects of every
//! class, the counting law, and what `verify` finds again in the source.
//!
//! Input: a byte each for the table, options, the order of the fields and those left out, as `pipeline` has them;
//! then one for the rules, one for the number of classes, one for the columns, and one each for the start and the
//! length of the range of time; then a script as in `pipeline`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::pipeline::{
    Bad, Value, check_output, check_rejects, ended, fields, gzip, records, rows, schema_csv, value,
};
use super::setting::{context, directory, options, trace};
use tracelake_convert::plan::{Request, plan};
use tracelake_convert::run::{RunOptions, convert};
use tracelake_core::options::OnBadRow;
use tracelake_core::selection::{ColumnNames, Sample, TimePoint, TimeRange};
use tracelake_schema::{Column, Table};
use tracelake_verify::verify;

/// The unit of the range of time, in microseconds: half of what lies between two rows of a script.
const TIME_STEP: i64 = 500_000;

/// Tries one input.
pub fn run(data: &[u8]) {
    let (
        [
            table,
            choices,
            order,
            left_out,
            rules,
            of,
            columns,
            from,
            length,
        ],
        script,
    ) = options(data);
    let table = &trace().tables[usize::from(table) % trace().tables.len()];
    let own_schema = choices & 1 > 0;
    let fields = fields(table, own_schema, order, left_out);
    let text = rows(table, &fields, script, choices);

    let directory = directory();
    let source = directory.path().join("source");
    fs::create_dir_all(source.join(&*table.name)).unwrap();
    if own_schema {
        fs::write(source.join("schema.csv"), schema_csv(table, &fields)).unwrap();
    }
    let path = source.join(&*table.name).join("part-00000-of-00001.csv.gz");
    fs::write(&path, gzip(&text, choices & 16 > 0)).unwrap();

    let from = i64::from(from) * TIME_STEP;
    let range = (from, from + i64::from(length) * TIME_STEP + 1);
    let selected = |index: &usize| rules & 4 == 0 || columns >> (index % 8) & 1 > 0;
    let columns: Vec<usize> = (0..table.columns.len()).filter(selected).collect();
    let mut selection = Selection {
        sample: None,
        time: (rules & 2 > 0).then_some(range),
        columns: match columns.is_empty() {
            true => (0..table.columns.len()).collect(),
            false => columns,
        },
    };
    let of = u32::from(of % 4) + 1;
    let mut sampled = 0;
    for class in 0..of {
        selection.sample = (rules & 1 > 0).then_some(Sample { class, of });
        let lake = directory.path().join(class.to_string());
        sampled += check_class(table, &fields, &text, &selection, &source, &lake);
    }
    if rules & 1 > 0 && trace().sampled_column(&table.name, None).is_some() {
        selection.sample = Some(Sample { class: 0, of: 1 });
        let whole = directory.path().join("whole");
        let all = check_class(table, &fields, &text, &selection, &source, &whole);
        assert_eq!(sampled, all, "classes don't unite to the whole");
    }
}

/// The part of its source that a lake has.
struct Selection {
    sample: Option<Sample>,
    time: Option<(i64, i64)>,
    columns: Vec<usize>,
}

/// Makes and checks the lake of one class; returns how many rows it has.
fn check_class(
    table: &'static Table,
    fields: &[usize],
    text: &[u8],
    selection: &Selection,
    source: &Path,
    lake: &Path,
) -> u64 {
    let expected = Expected::of(table, fields, text, selection);
    let mut request = Request::new(source.to_owned());
    request.trace = Some(Arc::clone(trace()));
    let settings = &mut request.settings;
    settings.on_bad_row = OnBadRow::Reject;
    settings.sample = selection.sample;
    settings.time = selection.time.map(|(from, to)| TimeRange {
        from: TimePoint::Units(from),
        to: TimePoint::Units(to),
    });
    if selection.columns.len() < table.columns.len() {
        let name = |&index: &usize| format!("{}.{}", table.name, table.columns[index].name);
        let names = selection.columns.iter().map(name).collect();
        settings.columns = Some(ColumnNames(names));
    }
    let mut options = RunOptions::default();
    options.parts_at_once = 1;
    let planned = plan(&context(), &request).unwrap();
    let outcome = convert(&context(), &planned, &lake.into(), options).unwrap();
    outcome.manifest.check_counts().unwrap();
    let part = &outcome.manifest.tables[0].parts[0];
    assert_eq!(part.rows_out, expected.good.len() as u64);
    assert_eq!(part.rows_rejected, expected.bad.len() as u64);
    let has_rules = selection.time.is_some() && table.time.is_some()
        || selection.sample.is_some() && expected.is_sampled;
    let not_selected = has_rules.then_some(expected.not_selected);
    assert_eq!(part.rows_not_selected, not_selected);
    assert_eq!(part.sentinels_mapped, expected.mapped);

    let columns: Vec<&Column> = selection
        .columns
        .iter()
        .map(|&index| &*table.columns[index])
        .collect();
    check_output(&columns, &lake.join(&part.output.path), &expected.good);
    match &part.rejects {
        Some(rejects) => check_rejects(
            &fs::read_to_string(lake.join(&rejects.path)).unwrap(),
            &expected.bad,
        ),
        None => assert!(expected.bad.is_empty()),
    }
    let verdict = verify(&context(), &lake.into(), Some(&source.into())).unwrap();
    let wrong: Vec<_> = verdict.findings.iter().map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(verdict.values, part.rows_out * columns.len() as u64);
    part.rows_out
}

/// The lake of a selection, by a plain decoder.
struct Expected {
    good: Vec<Vec<Value>>,
    bad: Vec<Bad>,
    not_selected: u64,
    mapped: u64,
    is_sampled: bool,
}

impl Expected {
    fn of(table: &'static Table, fields: &[usize], text: &[u8], selection: &Selection) -> Self {
        let sampled_by = trace().sampled_column(&table.name, None);
        let key = sampled_by.and_then(|key| Some(table.column(&key.column)?.0));
        let mut expected = Self {
            good: Vec::new(),
            bad: Vec::new(),
            not_selected: 0,
            mapped: 0,
            is_sampled: key.is_some(),
        };
        for record in records(&ended(text), fields.len()) {
            let Some(cells) = &record.cells else {
                expected.bad.push(record.bad(None));
                continue;
            };
            let mut mapped = vec![0; table.columns.len()];
            let mut row = vec![Some(Value::Null); table.columns.len()];
            for (&index, cell) in fields.iter().zip(cells) {
                row[index] = value(&table.columns[index], cell, &mut mapped[index]);
            }
            // The key is checked in every row, the time in every row of the class.
            let sampled = match (selection.sample, key) {
                (Some(sample), Some(key)) => {
                    let hashed = row[key].as_ref().map(|key| sample.selects(&canonical(key)));
                    (Some(key), hashed)
                }
                _ => (None, Some(true)),
            };
            let in_time = match (selection.time, table.time) {
                (Some(range), Some(time)) => {
                    let is_in = row[time]
                        .as_ref()
                        .map(|value| in_range(table, range, value));
                    (Some(time), is_in)
                }
                _ => (None, Some(true)),
            };
            let faulty_rule = match (sampled, in_time) {
                ((key, None), _) => key,
                ((_, Some(false)), _) | (_, (_, Some(false))) => {
                    expected.not_selected += 1;
                    continue;
                }
                (_, (time, None)) => time,
                _ => None,
            };
            let is_wanted =
                |index: &&usize| selection.columns.contains(index) || faulty_rule == Some(**index);
            let mut wanted = fields.iter().filter(is_wanted);
            if let Some(&bad) = wanted.find(|&&index| row[index].is_none()) {
                let name = &table.columns[bad].name;
                expected.bad.push(record.bad(Some(name)));
                continue;
            }
            let columns = selection.columns.iter();
            expected.mapped += columns.clone().map(|&index| mapped[index]).sum::<u64>();
            let values = columns.filter_map(|&index| row[index].clone());
            expected.good.push(values.collect());
        }
        expected
    }
}

/// The text of a key that is hashed.
fn canonical(key: &Value) -> Vec<u8> {
    match key {
        Value::Integer(key) => key.to_string().into_bytes(),
        Value::Text(key) => key.clone().into_bytes(),
        Value::Null => Vec::new(),
        other => unreachable!("{other:?} is no key"),
    }
}

fn in_range(table: &Table, (from, to): (i64, i64), time: &Value) -> bool {
    let Value::Integer(time) = time else {
        return false;
    };
    let column = table.time.map(|time| &table.columns[time]);
    let mut sentinels = column.into_iter().flat_map(|column| &*column.sentinels);
    (from..to).contains(time) || sentinels.any(|sentinel| sentinel.value == *time)
}
