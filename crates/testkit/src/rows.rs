//! Rows made from the catalog: what a field of a kind may be, without knowing any table.

use std::fmt::Write;

use tracelake_schema::{Column, Kind, Table, Zone};

/// A small linear congruential generator: tests need variety, not chance.
pub struct Dice(u64);

impl Dice {
    /// Begins with a seed; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number, of 48 bits.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        // Knuth's MMIX constants; the low bits have short periods, so the high ones are used.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// An index below `length`.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }

    /// A byte below `limit`.
    pub fn byte(&mut self, limit: u8) -> u8 {
        u8::try_from(self.below(limit.into())).unwrap()
    }
}

/// Rows of one part: times ascend, optional fields are empty at times, the last row of all has
/// the time that means "after the trace".
pub fn sample(table: &Table, number: u32, rows: usize) -> String {
    let mut dice = Dice::new(u64::from(number) + 1000 * table.name.len() as u64);
    let mut text = String::new();
    for row in 0..rows {
        for (position, &index) in table.fields.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            let time = table.time == Some(index);
            match (time, row + 1 == rows) {
                (true, true) => write!(text, "{}", i64::MAX),
                (true, false) => {
                    write!(text, "{}", u64::from(number) * 1_000_000 + row as u64 * 300)
                }
                (false, _) => write!(text, "{}", field(&table.columns[index], &mut dice)),
            }
            .unwrap();
        }
        text.push('\n');
    }
    text
}

/// A plausible field of a column.
pub fn field(column: &Column, dice: &mut Dice) -> String {
    if !column.mandatory && dice.below(6) == 0 {
        return String::new();
    }
    match column.kind {
        Kind::DateTime(zone) => {
            let ending = match zone {
                Zone::Published => "+01:00",
                Zone::None => "",
            };
            let (day, second) = (1 + dice.below(28), dice.below(60));
            format!("2023-11-{day:02} 18:17:{second:02}.25{ending}")
        }
        Kind::Integer => match dice.below(8) {
            0 => "0".to_owned(),
            1 => i64::MAX.to_string(),
            2 => format!("-{}", dice.below(1000)),
            _ => dice.below(1 << 40).to_string(),
        },
        Kind::Code => dice.below(4).to_string(),
        Kind::Boolean => dice.below(2).to_string(),
        Kind::Float => match dice.below(5) {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            2 => format!(
                "{}.{}e-{:02}",
                dice.below(10),
                dice.below(1000),
                dice.below(12)
            ),
            _ => format!("0.{:04}", dice.below(10_000)),
        },
        Kind::Text | Kind::Struct | Kind::List => match dice.below(4) {
            0 => dice.below(20).to_string(),
            _ => format!("{:0>43x}=", dice.below(97)),
        },
    }
}
