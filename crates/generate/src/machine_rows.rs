//! Rows about machines: events and attributes.

use crate::number::{Amount, decimal, general, hash};
use crate::profile;
use crate::random::mix;
use crate::row::{CodeNames, Quantity, Row, Value, flag, small};

/// A machine is added, removed or changed.
#[derive(Debug)]
pub(crate) struct MachineEvent {
    pub(crate) time: u64,
    pub(crate) machine: u64,
    pub(crate) kind: u8,
    pub(crate) platform: u64,
    /// CPUs and memory.
    pub(crate) capacity: Option<(Amount, Amount)>,
}

/// An attribute of a machine gets a value or is deleted.
#[derive(Debug)]
pub(crate) struct MachineAttribute {
    pub(crate) time: u64,
    pub(crate) machine: u64,
    pub(crate) name: u64,
    pub(crate) value: Value,
    pub(crate) deleted: bool,
}

impl Row for MachineEvent {
    const STREAM: &'static str = "machine events";
    const CODE_NAMES: CodeNames = &[("event.type", &["ADD", "REMOVE", "UPDATE"])];
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("event.type", |row, out| small(out, row.kind)),
        ("machine.id", |row, out| decimal(out, row.machine)),
        ("machine.platform", |row, out| hash(out, row.platform)),
        ("machine.switch", |row, out| {
            hash(out, mix(row.machine / profile::SWITCHED, 1));
        }),
        ("machine.missing", |_, out| small(out, 0)),
        ("machine.cpus", |row, out| {
            row.capacity.into_iter().for_each(|it| general(out, it.0))
        }),
        ("machine.memory", |row, out| {
            row.capacity.into_iter().for_each(|it| general(out, it.1))
        }),
    ];
}

impl Row for MachineAttribute {
    const STREAM: &'static str = "machine attributes";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("machine.id", |row, out| decimal(out, row.machine)),
        ("attribute.name", |row, out| hash(out, row.name)),
        ("attribute.value", |row, out| row.value.write(out)),
        ("attribute.deleted", |row, out| flag(out, row.deleted)),
    ];
}
