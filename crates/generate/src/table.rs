//! Writes tables: formats rows as lines and hands the lines to a thread that compresses them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind};
use tracelake_core::event::Event;
use tracelake_schema::{Table, Trace};

use crate::file::{Message, parts_of};
use crate::fleet_rows::{
    BatchInstance, BatchTask, ContainerSample, ContainerState, MachineSample, MachineState,
};
use crate::format::RowFormat;
use crate::job_rows::{JobEvent, TaskConstraint, TaskEvent};
use crate::machine_rows::{MachineAttribute, MachineEvent};
use crate::random::{Random, mix};
use crate::row::Row;
use crate::usage_rows::{JoinedUsage, TaskUsage};

/// How many bytes of lines to compress at a time.
const CHUNK: usize = 256 << 10;
/// How many chunks may wait for a compressing thread.
const CHUNKS: usize = 4;
/// How many rows to write between two reports of progress.
const STRIDE: u64 = 1 << 16;

/// A writing thread has failed, and joining it gives the reason; or the context is cancelled.
#[derive(Debug)]
pub(crate) struct Stopped;

/// A table, and the receiver of its lines.
pub(crate) type Inbox = (Arc<Table>, Receiver<Message>);

macro_rules! table_writers {
    ($($name:ident: $row:ty,)*) => {
        /// A writer for each type of row. Rows that the trace has no table for are dropped.
        pub(crate) struct TableWriters {
            $(pub(crate) $name: TableWriter<$row>,)*
        }

        impl TableWriters {
            fn open(
                context: &Context,
                trace: &Trace,
                seed: u64,
                inboxes: &mut Vec<Inbox>,
            ) -> Result<Self, Error> {
                Ok(Self { $($name: TableWriter::of(context, trace, seed, inboxes)?,)* })
            }

            fn end(&mut self, which: fn(&Table) -> bool) -> Result<(), Stopped> {
                $(self.$name.end_part(which)?;)*
                Ok(())
            }
        }
    };
}

table_writers! {
    job_events: JobEvent,
    task_events: TaskEvent,
    machine_events: MachineEvent,
    machine_attributes: MachineAttribute,
    task_constraints: TaskConstraint,
    task_usage: TaskUsage,
    joined_usage: JoinedUsage,
    machine_states: MachineState,
    machine_samples: MachineSample,
    container_states: ContainerState,
    container_samples: ContainerSample,
    batch_tasks: BatchTask,
    batch_instances: BatchInstance,
}

impl TableWriters {
    /// Maps the columns of every table to quantities of rows.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if there is no such type of row or quantity.
    pub(crate) fn of(
        context: &Context,
        trace: &Trace,
        seed: u64,
    ) -> Result<(Self, Vec<Inbox>), Error> {
        let mut inboxes = Vec::new();
        let tables = Self::open(context, trace, seed, &mut inboxes)?;
        let known = |table: &Table| inboxes.iter().any(|(it, _)| it.name == table.name);
        if let Some(table) = trace.tables.iter().find(|table| !known(table)) {
            let stream = match &*table.synthetic {
                "" => {
                    let reason = format!(
                        "{} can't be generated, because no simulation makes the rows of {}",
                        trace.name, table.name
                    );
                    return Err(
                        Error::new(ErrorKind::Usage, reason).hint("convert published files")
                    );
                }
                stream => format!("the stream {stream:?} is unknown or taken"),
            };
            let reason = format!(
                "{}: {} cannot be generated: {stream}",
                trace.name, table.name
            );
            return Err(Error::new(ErrorKind::Usage, reason));
        }
        Ok((tables, inboxes))
    }

    /// Ends the part of every table that is split.
    pub(crate) fn end_part(&mut self) -> Result<(), Stopped> {
        self.end(|table| parts_of(table, 2) > 1)
    }

    /// Ends the only part of the tables that are not split.
    pub(crate) fn end_whole(&mut self) -> Result<(), Stopped> {
        self.end(|table| parts_of(table, 2) <= 1)
    }
}

/// The table of one type of row.
pub(crate) struct TableWriter<R> {
    open: Option<Open<R>>,
}

struct Open<R> {
    context: Context,
    table: Arc<Table>,
    format: RowFormat<R>,
    lines: Vec<u8>,
    sender: SyncSender<Message>,
    chance: Random,
    part: u32,
    rows: u64,
}

impl<R: Row> TableWriter<R> {
    fn of(
        context: &Context,
        trace: &Trace,
        seed: u64,
        inboxes: &mut Vec<Inbox>,
    ) -> Result<Self, Error> {
        let Some(table) = trace
            .tables
            .iter()
            .find(|table| table.synthetic == R::STREAM)
        else {
            return Ok(Self { open: None });
        };
        let format = RowFormat::of(trace, table)?;
        let (sender, receiver) = sync_channel(CHUNKS);
        inboxes.push((Arc::clone(table), receiver));
        let stream = u64::try_from(inboxes.len()).unwrap_or(0);
        let chance = Random::new(mix(seed, stream));
        let lines = Vec::with_capacity(CHUNK + 4096);
        let open = Open {
            context: context.clone(),
            table: Arc::clone(table),
            format,
            lines,
            sender,
            chance,
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
        if open.rows == 0 {
            open.format.begin(&mut open.lines);
        }
        open.format.write(row, &mut open.chance, &mut open.lines);
        open.rows += 1;
        if open.rows.is_multiple_of(STRIDE) {
            open.report()?;
        }
        if open.lines.len() >= CHUNK {
            open.flush()
        } else {
            Ok(())
        }
    }

    /// Whether the trace has such a table.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn end_part(&mut self, which: fn(&Table) -> bool) -> Result<(), Stopped> {
        let Some(open) = self.open.as_mut().filter(|open| which(&open.table)) else {
            return Ok(());
        };
        if open.rows == 0 {
            open.format.begin(&mut open.lines);
        }
        open.flush()?;
        open.report()?;
        let ended = Message::EndOfPart { rows: open.rows };
        (open.part, open.rows) = (open.part + 1, 0);
        open.sender.send(ended).map_err(|_| Stopped)
    }
}

impl<R> Open<R> {
    fn report(&self) -> Result<(), Stopped> {
        self.context.emit(Event::Generated {
            table: self.table.name.clone(),
            part: self.part,
            rows: self.rows,
        });
        match self.context.is_cancelled() {
            true => Err(Stopped),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Stopped> {
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(CHUNK + 4096));
        self.sender.send(Message::Lines(lines)).map_err(|_| Stopped)
    }
}
