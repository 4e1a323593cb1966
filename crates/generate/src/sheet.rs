//! Tables as they are written: rows become lines, lines go to a thread that compresses them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tracelake_schema::{Table, Trace};

use crate::Error;
use crate::file::Message;
use crate::random::{Random, mix, whole};
use crate::stream::{
    JobEvent, MachineAttribute, MachineEvent, Row, TaskConstraint, TaskEvent, TaskUsage,
};

/// The bytes of lines that are compressed at a time.
const CHUNK: usize = 256 << 10;
/// How many chunks may wait for a thread that compresses.
const CHUNKS: usize = 4;
/// The rows between two reports of progress.
const STRIDE: u64 = 1 << 16;

/// Told the table, the part and the rows of the part so far.
pub(crate) type Progress<'p> = &'p (dyn Fn(&str, u32, u64) + Sync);

/// A thread that writes has failed; it says why when it is joined.
#[derive(Debug)]
pub(crate) struct Stopped;

/// A table and where its lines come out.
pub(crate) type Inbox = (&'static Table, Receiver<Message>);

/// The tables of a trace, by stream. Streams that a trace has no table for go nowhere.
pub(crate) struct Sheets<'p> {
    pub(crate) job_events: Sheet<'p, JobEvent>,
    pub(crate) task_events: Sheet<'p, TaskEvent>,
    pub(crate) machine_events: Sheet<'p, MachineEvent>,
    pub(crate) machine_attributes: Sheet<'p, MachineAttribute>,
    pub(crate) task_constraints: Sheet<'p, TaskConstraint>,
    pub(crate) task_usage: Sheet<'p, TaskUsage>,
}

impl<'p> Sheets<'p> {
    /// Maps the columns of every table to quantities of the cluster.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the cluster has no such stream or quantity.
    pub(crate) fn of(
        trace: &'static Trace,
        seed: u64,
        progress: Progress<'p>,
    ) -> Result<(Self, Vec<Inbox>), Error> {
        let mut inboxes = Vec::new();
        let sheets = Self {
            job_events: Sheet::of(trace, seed, progress, &mut inboxes)?,
            task_events: Sheet::of(trace, seed, progress, &mut inboxes)?,
            machine_events: Sheet::of(trace, seed, progress, &mut inboxes)?,
            machine_attributes: Sheet::of(trace, seed, progress, &mut inboxes)?,
            task_constraints: Sheet::of(trace, seed, progress, &mut inboxes)?,
            task_usage: Sheet::of(trace, seed, progress, &mut inboxes)?,
        };
        let known = |table: &Table| inboxes.iter().any(|(it, _)| it.name == table.name);
        if let Some(table) = trace.tables.iter().find(|table| !known(table)) {
            let stream = match table.synthetic {
                "" => "it has no stream".to_owned(),
                stream => format!("the stream {stream:?} is unknown or taken"),
            };
            return Err(Error::Unsupported(format!(
                "{}: {} cannot be generated: {stream}",
                trace.name, table.name
            )));
        }
        Ok((sheets, inboxes))
    }

    /// Ends the part of every table that is split.
    pub(crate) fn end_part(&mut self) -> Result<(), Stopped> {
        self.end(|table| table.parts > 1)
    }

    /// Ends the only part of the tables that are not split.
    pub(crate) fn end_whole(&mut self) -> Result<(), Stopped> {
        self.end(|table| table.parts <= 1)
    }

    fn end(&mut self, which: fn(&Table) -> bool) -> Result<(), Stopped> {
        self.job_events.end_part(which)?;
        self.task_events.end_part(which)?;
        self.machine_events.end_part(which)?;
        self.machine_attributes.end_part(which)?;
        self.task_constraints.end_part(which)?;
        self.task_usage.end_part(which)
    }
}

/// The table of one stream.
pub(crate) struct Sheet<'p, R> {
    open: Option<Open<'p, R>>,
}

struct Open<'p, R> {
    table: &'static Table,
    fields: Vec<Field<R>>,
    lines: Vec<u8>,
    sender: SyncSender<Message>,
    chance: Random,
    progress: Progress<'p>,
    part: u32,
    rows: u64,
}

/// A field of a row, and the share of rows in which chance leaves it empty, in 2^-32.
struct Field<R> {
    write: fn(&R, &mut Vec<u8>),
    empty: u64,
}

impl<'p, R: Row> Sheet<'p, R> {
    fn of(
        trace: &'static Trace,
        seed: u64,
        progress: Progress<'p>,
        inboxes: &mut Vec<Inbox>,
    ) -> Result<Self, Error> {
        let Some(table) = trace
            .tables
            .iter()
            .find(|table| table.synthetic == R::STREAM)
        else {
            return Ok(Self { open: None });
        };
        let fields = table.fields.iter().map(|&column| {
            let column = &table.columns[column];
            let quantity = R::QUANTITIES
                .iter()
                .find(|quantity| quantity.0 == column.synthetic);
            let Some(&(name, write)) = quantity else {
                return Err(Error::Unsupported(format!(
                    "{}: {}.{} cannot be generated: {} have no quantity {:?}",
                    trace.name,
                    table.name,
                    column.name,
                    R::STREAM,
                    column.synthetic
                )));
            };
            let chance = !column.mandatory && !R::OWN_EMPTY.contains(&name);
            Ok(Field {
                write,
                empty: if chance { share(column.empty) } else { 0 },
            })
        });
        let fields = fields.collect::<Result<_, _>>()?;
        let (sender, receiver) = sync_channel(CHUNKS);
        inboxes.push((table, receiver));
        let stream = u64::try_from(inboxes.len()).unwrap_or(0);
        let chance = Random::new(mix(seed, stream));
        let lines = Vec::with_capacity(CHUNK + 4096);
        let open = Open {
            table,
            fields,
            lines,
            sender,
            chance,
            progress,
            part: 0,
            rows: 0,
        };
        Ok(Self { open: Some(open) })
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: &R) -> Result<(), Stopped> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        for (index, field) in open.fields.iter().enumerate() {
            if index > 0 {
                open.lines.push(b',');
            }
            if field.empty == 0 || open.chance.word() >> 32 >= field.empty {
                (field.write)(row, &mut open.lines);
            }
        }
        open.lines.push(b'\n');
        open.rows += 1;
        if open.rows.is_multiple_of(STRIDE) {
            (open.progress)(open.table.name, open.part, open.rows);
        }
        if open.lines.len() >= CHUNK {
            open.flush()
        } else {
            Ok(())
        }
    }

    fn end_part(&mut self, which: fn(&Table) -> bool) -> Result<(), Stopped> {
        let Some(open) = self.open.as_mut().filter(|open| which(open.table)) else {
            return Ok(());
        };
        open.flush()?;
        (open.progress)(open.table.name, open.part, open.rows);
        let ended = Message::EndOfPart { rows: open.rows };
        (open.part, open.rows) = (open.part + 1, 0);
        open.sender.send(ended).map_err(|_| Stopped)
    }
}

impl<R> Open<'_, R> {
    fn flush(&mut self) -> Result<(), Stopped> {
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(CHUNK + 4096));
        self.sender.send(Message::Lines(lines)).map_err(|_| Stopped)
    }
}

/// A share from 0 to 1 in units of 2^-32.
pub(crate) fn share(value: f64) -> u64 {
    whole(value.clamp(0.0, 1.0) * 4_294_967_296.0)
}
