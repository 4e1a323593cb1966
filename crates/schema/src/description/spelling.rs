//! How the values of a column may be spelled.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::column_spec::{ColumnSpec, WordsSpec};
use super::fault::{Result, Within, bail, ensure};
use super::files::nulls;
use super::spec::TableSpec;
use super::words::{printable, unique};
use crate::{Kind, Spelling, Syntax, Zone};

/// The most spellings of true, and of false.
const MOST_WORDS: usize = 16;

/// The spellings that a syntax has, and their values.
const PLAIN_WORDS: [(&str, bool); 6] = [
    ("0", false),
    ("1", true),
    ("false", false),
    ("true", true),
    ("False", false),
    ("True", true),
];

/// The most names of zones, and the most letters of one.
const MOST_ZONES: usize = 64;
const MOST_ZONE_LETTERS: usize = 10;

/// Names of zones, and their offsets from UTC in minutes.
pub(super) type Zones = Arc<[(String, i64)]>;

/// Defaults for columns that say nothing of their own.
pub(super) struct OfTable {
    nulls: Arc<[String]>,
    syntax: Syntax,
    zones: Zones,
}

impl OfTable {
    pub(super) fn read(table: &TableSpec, zones: &Zones) -> Result<Self> {
        let of_csv = table.csv.as_ref().map_or(&[][..], |csv| &csv.null);
        ensure!(
            of_csv.is_empty() || table.null.is_empty(),
            "null: say it once, in [[table]] or in [table.csv]"
        );
        let syntax = table.syntax;
        let is_typed = syntax == Syntax::Parquet || table.parquet;
        let is_spelled =
            |column: &ColumnSpec| column.null.is_some() || column.words.is_some() || column.numbers;
        ensure!(
            !is_typed || table.null.is_empty() && !table.column.iter().any(is_spelled),
            "null, words and numbers are about text, and the values of Parquet are typed"
        );
        let of_csv = null_spellings(of_csv, syntax).within("csv")?;
        let nulls = match of_csv.is_empty() {
            true => null_spellings(&table.null, syntax)?,
            false => of_csv,
        };
        Ok(Self {
            nulls,
            syntax,
            zones: Arc::clone(zones),
        })
    }

    /// The spellings of a column, or of a field within one.
    pub(super) fn spelling(&self, column: &ColumnSpec, kind: Kind) -> Result<Spelling> {
        ensure!(
            !column.integral_floats || kind == Kind::Integer,
            "only a column of kind integer has integral_floats"
        );
        ensure!(
            !column.numbers || kind == Kind::Text && self.syntax != Syntax::Csv,
            "numbers: only of a column of kind text, and in `csv` any text may be one anyway"
        );
        let of_column = column.null.as_deref();
        let of_column = of_column.map(|spelled| null_spellings(spelled, self.syntax));
        let nulls = of_column
            .transpose()?
            .unwrap_or_else(|| Arc::clone(&self.nulls));
        let words = column.words.as_ref();
        let words = words.map(|spec| words_of(spec, kind, &nulls)).transpose();
        Ok(Spelling {
            words: words.within("words")?.unwrap_or_default(),
            nulls,
            zones: match kind {
                Kind::DateTime(Zone::Published) => Arc::clone(&self.zones),
                _ => Arc::default(),
            },
            integral_floats: column.integral_floats,
            numbers: column.numbers,
            run: None,
            also: column.also.as_slice().into(),
            may_be_absent: column.may_be_absent,
            capture: None,
        })
    }
}

/// The spellings of NULL. An empty text is NULL in CSV anyway; in JSON it's a value unless it is one of them.
fn null_spellings(spelled: &[String], syntax: Syntax) -> Result<Arc<[String]>> {
    let beside_empty = nulls(spelled)?;
    let has_empty = spelled.iter().any(String::is_empty);
    if syntax == Syntax::Csv || !has_empty {
        return Ok(beside_empty);
    }
    let empty = [String::new()].into_iter();
    Ok(empty.chain(beside_empty.iter().cloned()).collect())
}

/// The names of zones of a description.
pub(super) fn zones(spec: &BTreeMap<String, String>) -> Result<Zones> {
    ensure!(
        spec.len() <= MOST_ZONES,
        "a description has at most {MOST_ZONES}"
    );
    let zones = spec.iter().map(|(name, offset)| {
        let is_name = (1..=MOST_ZONE_LETTERS).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        ensure!(
            is_name && name != "Z" && name != "T",
            "{name:?} is not a name of at most {MOST_ZONE_LETTERS} letters from A to Z, such as PDT"
        );
        let Some(minutes) = minutes(offset) else {
            bail!("{name}: {offset:?} is not an offset from UTC such as \"-07:00\"");
        };
        Ok((name.clone(), minutes))
    });
    zones.collect()
}

/// The minutes of an offset such as `-07:00`.
fn minutes(offset: &str) -> Option<i64> {
    let (sign, clock) = match offset.split_at_checked(1)? {
        ("+", clock) => (1, clock),
        ("-", clock) => (-1, clock),
        _ => return None,
    };
    let (hours, minutes) = clock.split_once(':')?;
    let number = |digits: &str, most: i64| {
        let is_two = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse::<i64>().ok().filter(|_| is_two);
        number.filter(|number| *number <= most)
    };
    Some(sign * (number(hours, 23)? * 60 + number(minutes, 59)?))
}

/// The spellings of true and false.
fn words_of(spec: &WordsSpec, kind: Kind, nulls: &[String]) -> Result<Arc<[(String, bool)]>> {
    ensure!(
        kind == Kind::Boolean,
        "only a column of kind boolean has them"
    );
    let most = spec.yes.len().max(spec.no.len());
    ensure!(
        (1..=MOST_WORDS).contains(&most),
        "1 to {MOST_WORDS} spellings of `true`, of `false` or of both"
    );
    let yes = spec.yes.iter().map(|word| (word, true));
    let words = yes.chain(spec.no.iter().map(|word| (word, false)));
    unique("spelling", words.clone().map(|(word, _)| word.as_str()))?;
    let words = words.map(|(word, value)| {
        ensure!(!word.is_empty(), "a spelling is empty");
        ensure!(!nulls.contains(word), "{word:?} is a spelling of NULL, too");
        let plain = PLAIN_WORDS.iter().find(|(plain, _)| plain == word);
        ensure!(
            plain.is_none_or(|(_, meaning)| *meaning == value),
            "{word:?} can't mean {value}"
        );
        Ok((printable(word)?, value))
    });
    words.collect()
}
