//! The selection that a request asks for, checked against its trace.

use std::collections::BTreeSet;
use std::sync::Arc;

use tracelake_core::date_time;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::field_order::{FieldOrder, SampleRule, TimeRule};
use tracelake_core::options::{did_you_mean, unknown_table};
use tracelake_core::selection::{ColumnNames, Sample, TimeRange};
use tracelake_core::settings::Settings;
use tracelake_schema::{Column, Derived, Kind, Table, Trace};

use super::recognised::Recognised;
use super::request::Request;
use super::tables::TablePlan;

/// A selection, checked: every name in it exists.
pub(super) struct Selection<'a> {
    /// The trace with the selected columns.
    pub(super) trace: Arc<Trace>,
    /// The trace with all columns.
    whole: Arc<Trace>,
    sample: Option<Sample>,
    sample_by: Option<&'a str>,
    /// In the order of the trace, each with its table.
    columns: Option<ColumnNames>,
    time: Option<TimeRange>,
}

impl<'a> Selection<'a> {
    /// The selection of a request.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a key or a column that doesn't exist, and for a time that isn't one of the trace.
    pub(super) fn of(request: &'a Request, source: &Recognised) -> Result<Self> {
        let settings = &request.settings;
        let whole = &source.trace;
        let columns = settings
            .columns
            .as_ref()
            .map(|names| in_order(names, whole, request, source))
            .transpose()?;
        let trace = match &columns {
            Some(columns) => whole.with_columns(columns.with_tables()),
            None => Arc::clone(whole),
        };
        if let Some(sample_by) = &settings.sample_by
            && whole.sample_key(sample_by).is_none()
        {
            return Err(unknown_key(sample_by, whole));
        }
        if settings.sample.is_some() && whole.sample_keys.is_empty() {
            let reason = format!("no table of {} has a key to sample by", whole.name);
            return Err(Error::new(ErrorKind::Usage, reason).hint("leave --sample out"));
        }
        let time = settings.time.map(|range| in_units(range, whole));
        Ok(Self {
            trace,
            whole: Arc::clone(whole),
            sample: settings.sample,
            sample_by: settings.sample_by.as_deref(),
            columns,
            time: time.transpose()?,
        })
    }

    /// Writes the selection into the settings that a lake records, in its one canonical form.
    pub(super) fn note(&self, settings: &mut Settings) {
        settings.columns.clone_from(&self.columns);
        settings.time = self.time;
    }

    /// Refuses a selection without the columns that derived tables are made of.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`], with the columns that are missing.
    pub(super) fn check_derived(&self, derived: &[Arc<Derived>]) -> Result<()> {
        for derived in derived {
            let (Some(table), Some(whole)) = (
                self.trace.table(&derived.from),
                self.whole.table(&derived.from),
            ) else {
                continue;
            };
            let missing: Vec<String> = whole
                .columns
                .iter()
                .map(|column| &*column.name)
                .filter(|name| derived.needs(name) && table.column(name).is_none())
                .map(|name| format!("{}.{name}", table.name))
                .collect();
            if !missing.is_empty() {
                let rule = derived.rule.name();
                let reason = format!("--derive {rule} needs {}", missing.join(", "));
                return Err(Error::new(ErrorKind::Usage, reason)
                    .hint("add it to --columns, or leave --derive out"));
            }
        }
        Ok(())
    }

    /// Applies the selection to a table.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a range of time that isn't one in the table's unit.
    pub(super) fn apply(&self, plan: &mut TablePlan) -> Result<()> {
        let order = &mut plan.order;
        order.rules.sample = self.sample_rule(order);
        order.rules.time = self.time_rule(order)?;
        let selected = self.trace.table(&order.whole.name);
        if let Some(table) =
            selected.filter(|table| table.columns.len() < order.whole.columns.len())
        {
            *order = order.clone().with_columns(table);
        }
        Ok(())
    }

    fn sample_rule(&self, order: &FieldOrder) -> Option<SampleRule> {
        let column = self
            .whole
            .sampled_column(&order.whole.name, self.sample_by)?;
        Some(SampleRule {
            sample: self.sample?,
            field: order.rule_field(&column.column)?,
        })
    }

    fn time_rule(&self, order: &FieldOrder) -> Result<Option<TimeRule>> {
        let (Some(range), Some(index)) = (self.time, order.whole.time) else {
            return Ok(None);
        };
        let column = &order.whole.columns[index];
        let Some(field) = order.rule_field(&column.name) else {
            return Ok(None);
        };
        let bounds = bounds_of(range, &self.whole, column);
        let (from, to) = bounds.map_err(|error| error.field(&*order.whole.name))?;
        Ok(Some(TimeRule { from, to, field }))
    }
}

/// The first time of a range that was asked for, and the one after the last, as a column of times has them.
///
/// # Errors
/// [`ErrorKind::Usage`] for a range that isn't one of the trace.
pub fn time_bounds(asked: TimeRange, trace: &Trace, column: &Column) -> Result<(i64, Option<i64>)> {
    bounds_of(in_units(asked, trace)?, trace, column)
}

/// The bounds of a range in the unit of a trace.
fn bounds_of(range: TimeRange, trace: &Trace, column: &Column) -> Result<(i64, Option<i64>)> {
    let (from, to) = range
        .bounds(column.units_per_second())
        .map_err(usage_of_time)?;
    // Date-times count from 1970, and the range from time 0 of the trace.
    let epoch = trace.epoch.filter(|_| is_date_time(column));
    let start = epoch.unwrap_or(0).saturating_mul(column.units_per_second());
    Ok((
        from.saturating_add(start),
        to.map(|to| to.saturating_add(start)),
    ))
}

fn is_date_time(column: &Column) -> bool {
    matches!(column.kind, Kind::DateTime(_))
}

fn usage_of_time(reason: String) -> Error {
    Error::new(ErrorKind::Usage, format!("--time: {reason}"))
        .hint("write FROM..TO in the trace's unit, as 1h30m..2d or as dates")
}

/// A range of time in the unit of a trace, if its tables have the same one.
fn in_units(asked: TimeRange, trace: &Trace) -> Result<TimeRange> {
    let times = trace
        .tables
        .iter()
        .filter_map(|table| table.time.map(|time| &table.columns[time]));
    let are_date_times = times.clone().all(|column| is_date_time(column));
    let units: BTreeSet<i64> = times.map(|column| column.units_per_second()).collect();
    let epoch = trace.epoch.or(are_date_times.then_some(0));
    let range = match epoch {
        Some(epoch) => asked.since(epoch),
        None if asked.has_dates() => {
            let reason = format!(
                "the publisher of {} doesn't say when its time 0 was",
                trace.name
            );
            return Err(usage_of_time(reason).hint("count from time 0, such as 1d..2d"));
        }
        None => asked,
    };
    let within_span = |per_second| match trace.span {
        Some(span) if !overlaps(range, span, per_second)? => {
            Err(outside(asked, trace, span, epoch))
        }
        _ => Ok(()),
    };
    let mut distinct = units.into_iter();
    match (distinct.next(), distinct.next()) {
        (Some(per_second), None) => {
            within_span(per_second)?;
            range.in_units(per_second).map_err(usage_of_time)
        }
        (Some(_), Some(_)) if range.has_units() => {
            let reason = format!("the tables of {} have times in several units", trace.name);
            Err(usage_of_time(reason).hint("write durations, such as 1h30m..2d"))
        }
        (Some(_), Some(_)) => within_span(1_000_000).map(|()| range),
        (None, _) => {
            let reason = format!("no table of {} has a time", trace.name);
            Err(Error::new(ErrorKind::Usage, reason).hint("leave --time out"))
        }
    }
}

/// Whether a range has a moment of a span, which is in seconds.
fn overlaps(range: TimeRange, (first, end): (i64, i64), per_second: i64) -> Result<bool> {
    let (from, to) = range.bounds(per_second).map_err(usage_of_time)?;
    let in_units = |seconds: i64| seconds.saturating_mul(per_second);
    Ok(from < in_units(end) && to.is_none_or(|to| to > in_units(first)))
}

/// The error for a range outside of the span in which a trace has rows. `epoch` is its time 0, which date-times may have
/// without saying so.
fn outside(asked: TimeRange, trace: &Trace, (first, end): (i64, i64), epoch: Option<i64>) -> Error {
    let shown = |seconds: i64| {
        let micros = |epoch: i64| seconds.saturating_add(epoch).saturating_mul(1_000_000);
        match epoch.map(|epoch| date_time::written(micros(epoch))) {
            Some(date) if trace.epoch.is_none() => date,
            Some(date) => format!("{seconds}s ({date})"),
            None => format!("{seconds}s"),
        }
    };
    usage_of_time(format!("'{asked}' is outside of {}", trace.name)).hint(format!(
        "its times are from {} to {}",
        shown(first),
        shown(end)
    ))
}

/// Columns in the order of their trace, each with its table.
fn in_order(
    names: &ColumnNames,
    trace: &Trace,
    request: &Request,
    source: &Recognised,
) -> Result<ColumnNames> {
    let mut wanted = BTreeSet::new();
    for (table, column) in names.pairs() {
        let table = match table {
            Some(name) => {
                let table = trace.tables.iter().find(|table| table.name == name);
                table.ok_or_else(|| unknown_table(name, trace))?
            }
            None => the_only_table(column, trace, request, source)?,
        };
        if table.column(column).is_none() {
            return Err(unknown_column(column, table));
        }
        wanted.insert((&*table.name, column));
    }
    let all = trace.tables.iter().flat_map(|table| {
        let names = table.columns.iter().map(|column| &*column.name);
        names.map(move |name| (&*table.name, name))
    });
    let names = all
        .filter(|pair| wanted.contains(pair))
        .map(|(table, column)| format!("{table}.{column}"));
    Ok(ColumnNames(names.collect()))
}

/// The table that a column without one belongs to: the only one that is converted.
fn the_only_table<'a>(
    column: &str,
    trace: &'a Trace,
    request: &Request,
    source: &Recognised,
) -> Result<&'a Table> {
    let is_wanted = |table: &&'a Arc<Table>| match &request.tables[..] {
        [] => source.of(table).is_some(),
        names => names.iter().any(|name| *name == table.name),
    };
    let mut tables = trace.tables.iter().filter(is_wanted);
    match (tables.next(), tables.next()) {
        (Some(table), None) => Ok(table),
        (first, _) => {
            let shown = escape(column.as_bytes(), 80);
            let reason = format!("--columns names {shown} without its table");
            let table = first.map_or("TABLE", |table| &*table.name);
            Err(Error::new(ErrorKind::Usage, reason).hint(format!(
                "write {table}.{shown}, or name one table with --tables"
            )))
        }
    }
}

fn unknown_column(name: &str, table: &Table) -> Error {
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    let shown = escape(name.as_bytes(), 80);
    let reason = format!("{} has no column '{shown}'", table.name);
    let meant = did_you_mean(name, names.iter().copied());
    Error::new(ErrorKind::Usage, reason).hint(format!("{meant}it has {}", names.join(", ")))
}

pub(crate) fn unknown_key(name: &str, trace: &Trace) -> Error {
    let names: Vec<&str> = trace.sample_keys.iter().map(|key| &*key.name).collect();
    let shown = escape(name.as_bytes(), 80);
    let reason = format!("no table of {} has the key '{shown}'", trace.name);
    let meant = did_you_mean(name, names.iter().copied());
    Error::new(ErrorKind::Usage, reason).hint(format!("{meant}its keys are {}", names.join(", ")))
}
