//! The usage of a running task: one measurement of one window.

use crate::number::Amount;
use crate::profile::{self, Knots};
use crate::random::{Balance, Random, bell, mix, quantile, raise, scale};

/// The fractional bits of the values in the profile's tables.
const FINE_BITS: u32 = 32;
/// The capacity of the largest machine.
const ONE: u64 = 1 << FINE_BITS;
/// The shift from units of 2^-32 to amounts of 2^-20.
const TO_AMOUNT: u32 = 12;

/// The distributions that each job draws from once, in the order of [`Habits::base`].
const DRAWN: [Knots; 11] = [
    profile::CPU,
    profile::CPU_PEAK,
    profile::MEMORY,
    profile::ASSIGNED,
    profile::CACHE,
    profile::CACHE_MAPPED,
    profile::DISK_IO,
    profile::DISK_IO_PEAK,
    profile::DISK_SPACE,
    profile::CPI,
    profile::MAI,
];

/// The usage that a job's tasks have in common: tasks of a job run the same program.
#[derive(Debug, Clone)]
pub(crate) struct Habits {
    key: u64,
    base: [u64; DRAWN.len()],
    aggregated: bool,
}

/// How the tasks so far are spread over each distribution.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    drawn: [Balance; DRAWN.len()],
}

impl Spread {
    /// Draws the habits of a job of this many tasks.
    pub(crate) fn habits(&mut self, random: &mut Random, size: u64) -> Habits {
        let places = self
            .drawn
            .each_mut()
            .map(|balance| balance.place(random, size));
        let mut base = [0; DRAWN.len()];
        for (value, (knots, &place)) in base.iter_mut().zip(DRAWN.iter().zip(&places)) {
            *value = quantile(knots, place);
        }
        // Jobs of middling CPU usage are those that run in one container, as in the published rows.
        let aggregated = !profile::ONE_CONTAINER.contains(&places[0]);
        Habits {
            key: random.word(),
            base,
            aggregated,
        }
    }
}

/// The measured quantities of one row of task usage.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measurement {
    pub(crate) cpu_mean: Amount,
    pub(crate) cpu_maximum: Amount,
    pub(crate) cpu_sampled: Amount,
    pub(crate) memory: Amount,
    pub(crate) memory_assigned: Amount,
    pub(crate) memory_maximum: Amount,
    pub(crate) cache_unmapped: Amount,
    pub(crate) cache_total: Amount,
    pub(crate) disk_io: Amount,
    pub(crate) disk_io_maximum: Amount,
    pub(crate) disk_space: Amount,
    pub(crate) cpi: Amount,
    pub(crate) mai: Amount,
    pub(crate) sample_portion: Amount,
    pub(crate) aggregated: bool,
}

/// The noise of one row: a part that stays with the task and a part that is new in every window.
struct Noise {
    task: u64,
    window: u64,
    draws: u64,
}

impl Noise {
    /// Scatters a value between tasks and between windows, each by thousandths of an octave.
    fn on(&mut self, value: u64, tasks: i64, windows: i64) -> u64 {
        self.draws += 1;
        let task = bell(mix(self.task, self.draws), tasks * 4096 / 1000);
        let window = bell(mix(self.window, self.draws), windows * 4096 / 1000);
        raise(value, task + window)
    }
}

impl Habits {
    /// Measures a task over the window that starts at `start` (microseconds).
    pub(crate) fn measure(&self, task: u32, start: u64) -> Measurement {
        let [
            cpu,
            cpu_peak,
            memory,
            assigned,
            cache,
            mapped,
            io,
            io_peak,
            space,
            cpi,
            mai,
        ] = self.base;
        let key = mix(self.key, u64::from(task));
        let mut noise = Noise {
            task: key,
            window: mix(key, start),
            draws: 0,
        };

        // Nothing exceeds the largest machine.
        let cpu = noise.on(cpu, 120, 60).min(ONE);
        let cpu_maximum = times(cpu, noise.on(cpu_peak, 250, 200)).clamp(cpu, ONE);
        let memory = noise.on(memory, 40, 5).min(ONE);
        let memory_assigned = times(memory, assigned).max(memory);
        // Most maxima are within two per cent of the mean.
        let growth = scale(mix(noise.window, 101), 1 << 16).pow(3) >> 32;
        let memory_maximum = (memory + ((memory * growth) >> 21)).min(ONE);
        let unmapped = noise.on(cache, 350, 150);
        let total = unmapped + noise.on(mapped, 300, 100);
        let mut disk_io = noise.on(io, 300, 250);
        let mut disk_io_maximum = times(disk_io, noise.on(io_peak, 300, 300));
        let mut disk_space = noise.on(space, 150, 10);
        if scale(mix(key, 102), 1_000_000) < profile::DISKLESS {
            (disk_io, disk_space) = (0, 0);
            if key.is_multiple_of(2) {
                disk_io_maximum = 0;
            }
        }
        // The mean of one random second is only published where maxima are not sums.
        let cpu_sampled = if self.aggregated {
            0
        } else {
            noise.on(cpu - cpu / 16, 150, 500)
        };
        let lost = mix(noise.window, 103);
        let sample_portion = if scale(lost, 1_000_000) < profile::LOST_SAMPLES {
            // 1 to 8 of the 300 samples of a window.
            (1 + (lost & 7)) * ((1 << FINE_BITS) / 300)
        } else {
            0
        };
        Measurement {
            cpu_mean: amount(cpu).rounded(),
            cpu_maximum: amount(cpu_maximum).rounded(),
            cpu_sampled: amount(cpu_sampled).rounded(),
            memory: amount(memory).rounded(),
            memory_assigned: amount(memory_assigned).rounded(),
            memory_maximum: amount(memory_maximum).rounded(),
            cache_unmapped: amount(unmapped).rounded(),
            cache_total: amount(total).rounded(),
            disk_io: amount(disk_io).rounded(),
            disk_io_maximum: amount(disk_io_maximum).rounded(),
            disk_space: amount(disk_space).rounded(),
            // Ratios were published without rounding to ten bits.
            cpi: amount(noise.on(cpi, 150, 80)),
            mai: amount(noise.on(mai, 200, 120)),
            sample_portion: amount(sample_portion),
            aggregated: self.aggregated,
        }
    }
}

/// The product of two values in units of 2^-32.
fn times(left: u64, right: u64) -> u64 {
    u64::try_from((u128::from(left) * u128::from(right)) >> FINE_BITS).unwrap_or(u64::MAX)
}

/// The amount nearest to a value in units of 2^-32.
pub(crate) fn amount(value: u64) -> Amount {
    Amount((value + (1 << (TO_AMOUNT - 1))) >> TO_AMOUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_consistent() {
        let (mut random, mut spread) = (Random::new(1), Spread::default());
        for _ in 0..200 {
            let habits = spread.habits(&mut random, 3);
            for task in 0..20 {
                let row = habits.measure(task, 600_000_000);
                assert!(row.cpu_mean <= row.cpu_maximum && row.cpu_maximum <= Amount(1 << 20));
                assert!(row.memory <= row.memory_assigned && row.memory <= row.memory_maximum);
                assert!(row.cache_unmapped <= row.cache_total);
                assert!(row.disk_io <= row.disk_io_maximum);
            }
        }
    }

    #[test]
    fn a_measurement_depends_on_its_window() {
        let habits = Spread::default().habits(&mut Random::new(1), 3);
        let cpu = |task, start| habits.measure(task, start).cpi;
        assert_eq!(cpu(1, 600_000_000), cpu(1, 600_000_000));
        assert_ne!(cpu(1, 600_000_000), cpu(1, 900_000_000));
        assert_ne!(cpu(1, 600_000_000), cpu(2, 600_000_000));
    }
}
