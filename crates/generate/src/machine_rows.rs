//! Rows about machines: events and attributes.

use crate::number::Amount;
use crate::profile;
use crate::random::mix;
use crate::row::{CodeNames, Hash, Quantity, Row, Value, quantities};

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
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "event.time" => row.time,
        "event.type" => row.kind,
        "machine.id" => row.machine,
        "machine.platform" => Hash(row.platform),
        "machine.switch" => Hash(mix(row.machine / profile::SWITCHED, 1)),
        "machine.missing" => 0_u8,
        "machine.cpus" => row.capacity.map(|it| it.0),
        "machine.memory" => row.capacity.map(|it| it.1),
    };
}

impl Row for MachineAttribute {
    const STREAM: &'static str = "machine attributes";
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "event.time" => row.time,
        "machine.id" => row.machine,
        "attribute.name" => Hash(row.name),
        "attribute.value" => row.value,
        "attribute.deleted" => row.deleted,
    };
}
