//! Files of random columns, as many as each known table has: none of them is taken for a table.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tracelake::{Context, ErrorKind, Request, plan};
use tracelake_schema::TRACES;
use tracelake_testkit::{Score, ensure};

/// How many files are made for each table.
const FILES: u64 = 60;

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_of<T: Copy>(&mut self, these: &[T]) -> T {
        these[usize::try_from(self.below(these.len() as u64)).unwrap()]
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count)
            .map(|_| self.below(256).to_le_bytes()[0])
            .collect()
    }
}

/// The values of a column.
#[derive(Clone, Copy)]
enum Kind {
    /// Whole numbers from 0 to this.
    Small(u64),
    /// Whole numbers with this number of digits.
    Large(u32),
    Words,
    /// Amounts with two decimals, up to this.
    Prices(u64),
    Dates,
    DateTimes,
    /// This number of bytes in hexadecimal.
    Hex(usize),
    /// This number of bytes in Base64.
    Base64(usize),
}

impl Kind {
    fn any(random: &mut Random) -> Self {
        match random.below(6) {
            0 => Self::Small(random.one_of(&[1, 3, 9, 99, 999])),
            1 => Self::Large(random.one_of(&[6, 9, 10, 12, 15, 18])),
            2 => Self::Words,
            3 => Self::Prices(random.one_of(&[1, 10, 100, 10_000])),
            4 => random.one_of(&[Self::Dates, Self::DateTimes]),
            _ => random.one_of(&[
                Self::Hex(4),
                Self::Hex(6),
                Self::Hex(16),
                Self::Hex(20),
                Self::Hex(32),
                Self::Base64(16),
                Self::Base64(32),
                Self::Base64(48),
            ]),
        }
    }

    fn value(self, random: &mut Random) -> String {
        match self {
            Self::Small(most) => random.below(most + 1).to_string(),
            Self::Large(digits) => random.below(10_u64.pow(digits)).to_string(),
            Self::Words => {
                let letters = 3 + random.below(7);
                let letter = |_| char::from(b'a' + random.below(26).to_le_bytes()[0]);
                (0..letters).map(letter).collect()
            }
            Self::Prices(most) => format!("{}.{:02}", random.below(most), random.below(100)),
            Self::Dates | Self::DateTimes => {
                let (month, day) = (1 + random.below(12), 1 + random.below(28));
                let date = format!("{}-{month:02}-{day:02}", 2000 + random.below(25));
                match self {
                    Self::Dates => date,
                    _ => format!("{date} {:02}:{:02}:00", random.below(24), random.below(60)),
                }
            }
            Self::Hex(bytes) => {
                let bytes = random.bytes(bytes);
                bytes.iter().map(|byte| format!("{byte:02x}")).collect()
            }
            Self::Base64(bytes) => STANDARD.encode(random.bytes(bytes)),
        }
    }
}

/// A file of random columns, with a header now and then.
fn file(random: &mut Random, columns: usize) -> String {
    let kinds: Vec<Kind> = (0..columns).map(|_| Kind::any(random)).collect();
    let mut text = String::new();
    if random.below(5) == 0 {
        let names: Vec<String> = (0..columns).map(|_| Kind::Words.value(random)).collect();
        text += &(names.join(",") + "\n");
    }
    for _ in 0..1 + random.below(60) {
        let fields: Vec<String> = kinds.iter().map(|kind| kind.value(random)).collect();
        text += &(fields.join(",") + "\n");
    }
    text
}

fn outcome(path: &Path) -> &'static str {
    match plan(&Context::new(), &Request::new(path)) {
        Ok(_) => "converted",
        Err(error) if error.kind() == ErrorKind::Usage => "asked",
        Err(error) if error.kind() == ErrorKind::Failed => "refused",
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

#[test]
fn random_files_are_never_converted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.csv");
    let mut random = Random(54);
    let mut score = Score::one_in(7, "files of random columns");
    let mut seen = BTreeSet::new();
    for trace in TRACES {
        for table in &trace.tables {
            // Of versions of one data set, whose tables have the same fields, one is enough.
            if !seen.insert((&trace.family, &*table.name, table.fields.len())) {
                continue;
            }
            for number in 0..FILES {
                let text = file(&mut random, table.fields.len());
                if !score.is_due() {
                    continue;
                }
                fs::write(&path, &text).unwrap();
                let outcome = outcome(&path);
                let what = format!("{} {number}", table.name);
                score.count(
                    &what,
                    ensure(outcome != "converted", || format!("converted:\n{text}")),
                );
            }
        }
    }
    score.close();
}
