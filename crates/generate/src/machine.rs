//! The machines of the simulated cluster: what they are, and when they go down and return.

use crate::machine_rows::{MachineAttribute, MachineEvent};
use crate::number::Amount;
use crate::profile;
use crate::random::{Random, mix, quantile, whole};
use crate::row::Value;
use crate::table::{Stopped, TableWriters};

/// The kinds of machine events.
const ADD: u8 = 0;
const REMOVE: u8 = 1;
const UPDATE: u8 = 2;

/// One machine, up or down.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) id: u64,
    platform: u64,
    capacity: Option<(Amount, Amount)>,
    /// When it goes down in the current window, or never.
    pub(crate) down_at: u64,
    /// When it returns; 0 while it is up.
    back_at: u64,
    /// Up during the whole of the current window, so that tasks may be placed on it.
    pub(crate) usable: bool,
    /// Whether its performance counters are read.
    pub(crate) counters: bool,
}

/// An attribute that machines may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attribute {
    pub(crate) name: u64,
    /// The number of its values; 0 if they are written as hashes.
    pub(crate) values: u64,
}

/// All machines, in the order of their ids.
#[derive(Debug)]
pub(crate) struct Machines {
    pub(crate) list: Vec<Machine>,
    pub(crate) attributes: Vec<Attribute>,
    seed: u64,
    down: usize,
    /// The share of machines without counters, in 2^-32.
    no_counters: u64,
    next_id: u64,
}

/// The rows about machines of one window, in order of time.
#[derive(Debug, Default)]
pub(crate) struct MachineRows {
    pub(crate) events: Vec<MachineEvent>,
    pub(crate) attributes: Vec<MachineAttribute>,
}

impl MachineRows {
    /// Writes the rows.
    pub(crate) fn write(&self, tables: &mut TableWriters) -> Result<(), Stopped> {
        self.events
            .iter()
            .try_for_each(|row| tables.machine_events.push(row))?;
        self.attributes
            .iter()
            .try_for_each(|row| tables.machine_attributes.push(row))
    }
}

impl Machines {
    /// The machines that existed before the trace.
    pub(crate) fn new(count: u64, no_counters: u64, seed: u64, random: &mut Random) -> Self {
        let seed = mix(seed, 11);
        let attributes = (0..profile::COUNTED_ATTRIBUTES + profile::HASHED_ATTRIBUTES)
            .map(|index| Attribute {
                name: mix(seed, 1000 + index),
                values: match index {
                    // Most attributes say whether or how much a machine has of something.
                    _ if index >= profile::COUNTED_ATTRIBUTES => 0,
                    0..18 => 1,
                    18..26 => 2,
                    26..33 => 4,
                    _ => 20,
                },
            })
            .collect();
        let mut machines = Self {
            list: Vec::new(),
            attributes,
            seed,
            down: 0,
            no_counters,
            next_id: 5,
        };
        for index in 0..count {
            // The oldest ids are small and close together, later ones far apart.
            machines.next_id += if index < 35.min(count / 2) {
                1 + random.below(3)
            } else {
                let step = 13_000_000_000 / count;
                1 + random.below(step * index / count + 40)
            };
            machines.push(random);
        }
        machines
    }

    /// The machine at this position.
    pub(crate) fn machine(&self, position: u32) -> &Machine {
        &self.list[usize::try_from(position).unwrap_or(0)]
    }

    /// The id of the machine at this position.
    pub(crate) fn id(&self, position: u32) -> u64 {
        self.machine(position).id
    }

    fn push(&mut self, random: &mut Random) -> usize {
        let index = self.list.len();
        let weights: Vec<u32> = profile::MACHINES.iter().map(|kind| kind.0).collect();
        let (_, platform, cpus, memory) = profile::MACHINES[random.weighted(&weights)];
        self.list.push(Machine {
            id: self.next_id,
            platform: mix(self.seed, u64::from(platform)),
            capacity: Some((units(cpus), units(memory))),
            down_at: u64::MAX,
            back_at: 0,
            usable: true,
            // Spread evenly, so that the share is right for few machines too.
            counters: !steps(u64::try_from(index).unwrap_or(0), self.no_counters),
        });
        index
    }

    /// Adds the events and attributes from before the trace.
    pub(crate) fn before(&self, rows: &mut MachineRows) {
        for (index, machine) in self.list.iter().enumerate() {
            rows.events.push(machine.event(0, ADD));
            self.describe(index, 0, rows);
        }
    }

    fn describe(&self, index: usize, time: u64, rows: &mut MachineRows) {
        let machine = self.list[index].id;
        for attribute in &self.attributes {
            // A few attributes are rare; most are the same on every machine of a platform.
            let chance = mix(attribute.name, machine);
            if attribute.values == 1 && chance.is_multiple_of(4) && attribute.name % 9 < 2 {
                continue;
            }
            let varies = attribute.values == 0 || chance.is_multiple_of(5);
            let value = attribute.value(if varies { chance } else { 3 });
            let name = attribute.name;
            rows.attributes.push(MachineAttribute {
                time,
                machine,
                name,
                value,
                deleted: false,
            });
        }
    }

    /// Makes machines go down, return and change from `from` up to `to`.
    pub(crate) fn step(&mut self, from: u64, to: u64, random: &mut Random, rows: &mut MachineRows) {
        self.close_window();
        for index in 0..self.list.len() {
            let machine = &mut self.list[index];
            if (1..to).contains(&machine.back_at) {
                let at = machine.back_at.max(from);
                machine.back_at = 0;
                self.down -= 1;
                rows.events.push(self.list[index].event(at, ADD));
                if at + 1000 < to && random.happens(300_000) {
                    // A returning machine is often corrected within a millisecond.
                    rows.events
                        .push(self.list[index].event(at + random.between(500, 1000), UPDATE));
                }
            }
        }
        let count = u64::try_from(self.list.len()).unwrap_or(1);
        // At least one event in four windows, so that a small trace has some too.
        let rate = (count * profile::MACHINE_EVENTS).max(250_000);
        for _ in 0..rate / 1_000_000 + u64::from(random.happens(rate % 1_000_000)) {
            self.change(random.between(from, to - 1000), random, rows);
        }
        rows.events.sort_by_key(|event| event.time);

        let rate = count * profile::ATTRIBUTE_EVENTS;
        for _ in 0..rate / 1_000_000 + u64::from(random.happens(rate % 1_000_000)) {
            let machine = &self.list[usize::try_from(random.below(count)).unwrap_or(0)];
            if !machine.usable {
                continue;
            }
            let attributes = u64::try_from(self.attributes.len()).unwrap_or(1);
            let pick = usize::try_from(random.below(attributes)).unwrap_or(0);
            let attribute = self.attributes[pick];
            let deleted = random.happens(20_000);
            let value = if deleted {
                Value::None
            } else {
                attribute.value(random.word())
            };
            rows.attributes.push(MachineAttribute {
                time: random.between(from, to),
                machine: machine.id,
                name: attribute.name,
                value,
                deleted,
            });
        }
        rows.attributes.sort_by_key(|row| row.time);
    }

    /// Machines that went down during the last window stay down.
    fn close_window(&mut self) {
        for machine in &mut self.list {
            machine.down_at = u64::MAX;
            machine.usable = machine.back_at == 0;
        }
    }

    fn change(&mut self, time: u64, random: &mut Random, rows: &mut MachineRows) {
        let count = self.list.len();
        if random.happens(10_000) {
            self.next_id += 1 + random.below(5_000_000);
            let index = self.push(random);
            if random.happens(300_000) {
                self.list[index].capacity = None;
                self.list[index].platform = mix(self.seed, u64::from(profile::UNKNOWN_PLATFORM));
            }
            self.list[index].usable = false;
            rows.events.push(self.list[index].event(time, ADD));
            self.describe(index, time, rows);
            return;
        }
        // The first machine never goes down, so there is always one.
        let index =
            1 + usize::try_from(random.below(u64::try_from(count).unwrap_or(1))).unwrap_or(0);
        let Some(machine) = self.list.get_mut(index).filter(|machine| machine.usable) else {
            return;
        };
        machine.usable = false;
        if random.happens(500_000) && self.down <= count / 20 {
            let away = quantile(profile::REPAIR, random.quantile());
            machine.down_at = time;
            machine.back_at = time + away;
            self.down += 1;
            rows.events.push(self.list[index].event(time, REMOVE));
        } else {
            rows.events.push(machine.event(time, UPDATE));
        }
    }
}

impl Machine {
    fn event(&self, time: u64, kind: u8) -> MachineEvent {
        MachineEvent {
            time,
            machine: self.id,
            kind,
            platform: self.platform,
            capacity: self.capacity,
        }
    }
}

impl Attribute {
    /// One of the attribute's values.
    pub(crate) fn value(self, chance: u64) -> Value {
        match self.values {
            // A few values are common and most are rare.
            0 => Value::Hashed(mix(self.name, chance % (1 + chance / 64 % 40))),
            values => Value::Counted(1 + mix(self.name, chance) % values),
        }
    }
}

/// Whether a share of 2^-32 reaches another whole number at this index: exactly the share of all
/// indices, evenly spread.
fn steps(index: u64, share: u64) -> bool {
    let half = 1 << 31;
    (share * (index + 1) + half) >> 32 != (share * index + half) >> 32
}

/// A published value, which is exact in units of 2^-20.
fn units(value: f64) -> Amount {
    Amount(whole(value * 1_048_576.0 + 0.5)).rounded()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_come_and_go_in_turn() {
        let mut random = Random::new(5);
        let mut machines = Machines::new(200, 0, 5, &mut random);
        let mut rows = MachineRows::default();
        machines.before(&mut rows);
        let mut up: Vec<u64> = rows.events.iter().map(|event| event.machine).collect();
        assert_eq!(up.len(), 200);
        assert!(up.windows(2).all(|pair| pair[0] < pair[1]), "ids rise");
        for window in 2..2000 {
            let mut rows = MachineRows::default();
            let from = window * 300_000_000;
            machines.step(from, from + 300_000_000, &mut random, &mut rows);
            for event in &rows.events {
                let there = up.iter().position(|&id| id == event.machine);
                match event.kind {
                    ADD => {
                        assert_eq!(there, None);
                        up.push(event.machine);
                    }
                    REMOVE => {
                        up.remove(there.expect("removed machines were up"));
                    }
                    _ => assert!(there.is_some()),
                }
            }
        }
        assert!(up.len() > 150);
    }

    #[test]
    fn shares_are_exact() {
        let share = (1 << 32) / 100;
        assert_eq!(
            (0..10_000).filter(|&index| steps(index, share)).count(),
            100
        );
    }
}
