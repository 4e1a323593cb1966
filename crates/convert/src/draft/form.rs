//! How the lines of a sample are written: what separates fields, which lines are comments, and whether there is a header.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use tracelake_core::options::NULLS;
use tracelake_schema::{Csv, Separator};

use super::kind::{Guess, KeptAsText, Kinds, is_name};

/// Separators of one byte that are tried, the most common first.
const SEPARATORS: [u8; 4] = *b",;\t|";

/// Separators that end in a tab.
const WITH_TAB: [&str; 3] = [",\t", ";\t", "|\t"];

/// Years that name columns.
const YEARS: RangeInclusive<u32> = 1900..=2100;

/// First bytes of comments.
const COMMENTS: [char; 3] = ['#', '%', ';'];

/// U+FEFF, which some programs write at the start of a text.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// A line of a sample, with its number.
pub(super) type Line<'a> = (usize, &'a str);

/// How a separator cuts some lines.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub(super) separator: Separator,
    /// The number of fields that most lines have.
    pub(super) fields: usize,
    /// How many lines have it.
    lines: usize,
}

impl Cut {
    fn of(separator: Separator, lines: &[Line<'_>]) -> Self {
        let fields = lines
            .iter()
            .map(|(_, line)| separator.fields(line.as_bytes()).count());
        Self::counted(separator, fields)
    }

    /// Of the numbers of fields in each line.
    fn counted(separator: Separator, fields: impl Iterator<Item = usize>) -> Self {
        // The first line with as many fields.
        let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (at, count) in fields.enumerate() {
            counts.entry(count).or_insert((0, at)).0 += 1;
        }
        let most = counts
            .into_iter()
            .max_by_key(|(_, (lines, first))| (*lines, std::cmp::Reverse(*first)));
        let (fields, (lines, _)) = most.unwrap_or((1, (0, 0)));
        Self {
            separator,
            fields,
            lines,
        }
    }

    /// Whether most lines have several fields.
    pub(super) fn separates(&self) -> bool {
        self.fields > 1
    }
}

/// Finds what separates the fields of the lines, and a separator that cuts every line evenly, too.
pub(super) fn separator(lines: &[Line<'_>]) -> (Cut, Option<Separator>) {
    let cuts = SEPARATORS.map(|byte| Cut::of(Separator::Byte(byte), lines));
    let [commas, _, tabs, _] = cuts;
    if let Some(texts) = with_tab(lines, tabs) {
        return (texts, None);
    }
    best(cuts, lines.len()).unwrap_or_else(|| (blanks(lines).unwrap_or(commas), None))
}

/// Finds what separates the fields of records, which are counted for a separator.
pub(super) fn separator_of_records(
    mut fields: impl FnMut(Separator) -> Vec<usize>,
) -> (Separator, Option<Separator>) {
    let mut records = 0;
    let cuts = SEPARATORS.map(|byte| {
        let separator = Separator::Byte(byte);
        let counts = fields(separator);
        records = records.max(counts.len());
        Cut::counted(separator, counts.into_iter())
    });
    match best(cuts, records) {
        Some((cut, other)) => (cut.separator, other),
        None => (cuts[0].separator, None),
    }
}

/// The separator that cuts most lines into equally many fields, and into the most; of several, the most common one. And
/// another one that cuts all lines evenly.
fn best(cuts: [Cut; SEPARATORS.len()], lines: usize) -> Option<(Cut, Option<Separator>)> {
    let separating = || cuts.into_iter().filter(Cut::separates);
    let best = separating()
        .rev()
        .max_by_key(|cut| (cut.lines, cut.fields))?;
    let is_even = |cut: &Cut| cut.lines == lines && cut.separator != best.separator;
    let other = separating().find(is_even).map(|cut| cut.separator);
    Some((best, other))
}

/// A separator of two bytes, if every tab is the end of one.
fn with_tab(lines: &[Line<'_>], tabs: Cut) -> Option<Cut> {
    let texts = WITH_TAB.map(|text| Cut::of(Separator::several(text), lines));
    let is_like_tabs = |cut: &Cut| (cut.fields, cut.lines) == (tabs.fields, tabs.lines);
    texts
        .into_iter()
        .find(|cut| cut.separates() && is_like_tabs(cut))
}

/// Blanks, if they separate numbers or date-times; between words, they are part of a text.
fn blanks(lines: &[Line<'_>]) -> Option<Cut> {
    let runs = Cut::of(Separator::Blanks, lines);
    let singles = Cut::of(Separator::Byte(b' '), lines);
    let best = match singles.lines > runs.lines && singles.separates() {
        true => singles,
        false => runs,
    };
    let mut columns = vec![Kinds::ALL; best.fields];
    // The first line may be a header.
    for (_, line) in lines.iter().skip(usize::from(lines.len() > 1)) {
        let fields = best.separator.fields(line.as_bytes());
        for (kinds, field) in columns.iter_mut().zip(fields) {
            kinds.add(&line[field]);
        }
    }
    let has_numbers = columns.iter().any(|kinds| kinds.guess().is_typed());
    (best.separates() && has_numbers).then_some(best)
}

/// The first byte of the comments, if the first line is one.
pub(super) fn comment(lines: &[Line<'_>]) -> Option<char> {
    let is_comment = |mark: char| move |(_, line): &Line<'_>| line.starts_with(mark);
    let (_, first) = lines.first()?;
    let mark = COMMENTS.into_iter().find(|mark| first.starts_with(*mark))?;
    let mut rows = lines
        .iter()
        .filter(|line| !is_comment(mark)(line))
        .peekable();
    rows.peek()?;
    let separates = mark == ';' && rows.any(|(_, line)| line.contains(mark));
    (!separates).then_some(mark)
}

/// Whether the first row is a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    Is,
    MayBe,
    IsNot,
}

/// Evidence of a header from the first field of a column and the others.
#[derive(Clone, Copy)]
struct Vote {
    for_header: bool,
    against: bool,
    /// Whether it may be a name, or is empty.
    may_be_name: bool,
}

/// The fields of a column.
#[derive(Clone)]
pub(super) struct Column<'a> {
    /// The field in the first row.
    pub(super) first: &'a str,
    /// The kinds of the values that are neither empty nor a spelling of NULL.
    kinds: Kinds,
    /// The spellings of NULL among them.
    nulls: [bool; NULLS.len()],
    /// Whether there were blanks around one of them.
    pub(super) is_padded: bool,
    /// A number that is kept as a text, and whether there are other texts.
    kept: Option<(KeptAsText, &'a str)>,
    has_texts: bool,
    /// Whether the blanks around a field aren't part of it.
    has_blanks: bool,
    /// Whether all values are true or false, in any case.
    are_booleans: bool,
    /// Whether the field in the first row recurs.
    recurs: bool,
    /// Whether another field is no name.
    has_other: bool,
    /// Whether the other fields are 0, 1, 2 and so on, and how many there are.
    counts: bool,
    others: usize,
}

impl<'a> Column<'a> {
    /// A column with this field in the first row, which may be a name.
    pub(super) fn new(first: &'a str, has_blanks: bool) -> Self {
        Self {
            first,
            has_blanks,
            kinds: Kinds::ALL,
            nulls: [false; NULLS.len()],
            is_padded: false,
            kept: None,
            has_texts: false,
            are_booleans: true,
            recurs: false,
            has_other: false,
            counts: true,
            others: 0,
        }
    }

    /// Adds the field of another row, with the blanks around it.
    pub(super) fn add(&mut self, field: &'a str) {
        let value = self.value(field);
        self.recurs |= value == self.first;
        self.counts = self.counts && value.parse() == Ok(self.others);
        self.others += 1;
        if !self.first.is_empty() && !value.is_empty() && !self.has_other {
            self.has_other = !is_name(value);
        }
        self.add_value(field);
    }

    fn value(&self, field: &'a str) -> &'a str {
        match self.has_blanks {
            true => without_blanks(field),
            false => field,
        }
    }

    /// Adds a field that is a value, with the blanks around it.
    pub(super) fn add_value(&mut self, field: &'a str) {
        let value = self.value(field);
        self.is_padded |= value.len() < field.len();
        if let Some(null) = NULLS.iter().position(|null| *null == value) {
            self.nulls[null] = true;
        } else if !value.is_empty() {
            self.kinds.add(value);
            let is_word = |word: &str| value.eq_ignore_ascii_case(word);
            self.are_booleans = self.are_booleans && (is_word("true") || is_word("false"));
            if !self.has_texts && self.kinds.guess() == Guess::Text {
                match KeptAsText::of(value) {
                    Some(why) => self.kept = self.kept.or(Some((why, value))),
                    None => self.has_texts = !Kinds::of(value).guess().is_typed(),
                }
            }
        }
    }

    pub(super) fn guess(&self) -> Guess {
        self.kinds.guess()
    }

    /// The spellings of NULL among the values.
    pub(super) fn nulls(&self) -> impl Iterator<Item = &'static str> {
        let spelled = NULLS.into_iter().zip(self.nulls);
        spelled.filter_map(|(null, is_there)| is_there.then_some(null))
    }

    /// Whether there are values, and all are true or false.
    pub(super) fn are_booleans(&self) -> bool {
        self.are_booleans && self.guess() == Guess::Text
    }

    /// Why values that all look like numbers are texts, and one of them.
    pub(super) fn kept_as_text(&self) -> Option<(KeptAsText, &'a str)> {
        self.kept
            .filter(|_| !self.has_texts && self.guess() == Guess::Text)
    }

    /// Whether a value is of the column's kind.
    pub(super) fn has(&self, value: &str) -> bool {
        let mut kinds = self.kinds;
        kinds.add(value);
        !self.guess().is_typed()
            || value.is_empty()
            || NULLS.contains(&value)
            || kinds.guess().is_typed()
    }

    fn vote(&self) -> Vote {
        let (first, kind) = (self.first, self.guess());
        let is_name = is_name(first);
        let is_value = !first.is_empty() && !is_name;
        Vote {
            for_header: is_name && (kind.is_typed() || self.kept_as_text().is_some()),
            against: match kind {
                Guess::Empty => is_value,
                Guess::Text => !first.is_empty() && self.recurs || is_value && self.has_other,
                _ if NULLS.contains(&first) => true,
                Guess::DateTime(_) => matches!(Kinds::of(first).guess(), Guess::DateTime(_)),
                _ => first.parse::<f64>().is_ok(),
            },
            may_be_name: !is_value,
        }
    }

    /// Whether it is the index that pandas writes: without a name, and 0, 1, 2 and so on.
    fn is_index(&self) -> bool {
        self.first.is_empty() && self.counts && self.others > 0
    }
}

/// Judges whether the first row is a header: names are words, and other values have a kind or recur.
pub(super) fn header(columns: &[Column<'_>]) -> Header {
    let votes: Vec<Vote> = columns.iter().map(Column::vote).collect();
    let is_for = votes.iter().any(|vote| vote.for_header);
    let is_against = votes.iter().any(|vote| vote.against);
    let may_be_names = votes.iter().all(|vote| vote.may_be_name);
    let has_names = columns.iter().any(|column| is_name(column.first));
    let is_year =
        |column: &Column<'_>| column.first.parse().is_ok_and(|year| YEARS.contains(&year));
    let may_name = |column: &Column<'_>| column.vote().may_be_name || is_year(column);
    let is_only_header = columns
        .iter()
        .all(|column| column.others == 0 && may_name(column));
    let has_index = columns.first().is_some_and(Column::is_index);
    if !is_against && may_be_names && (is_for || has_index && has_names) {
        Header::Is
    } else if is_for || !is_against || is_only_header && has_names || is_numbered(columns) {
        Header::MayBe
    } else {
        Header::IsNot
    }
}

/// Whether the first row numbers the columns: 0, 1, 2 and so on, as pandas does where they have no names, or years.
/// Other columns, such as an index, have names or empty ones.
fn is_numbered(columns: &[Column<'_>]) -> bool {
    let mut numbers: Vec<u32> = Vec::new();
    for column in columns {
        match column.first.parse() {
            Ok(number) => numbers.push(number),
            Err(_) if column.first.is_empty() || is_name(column.first) => {}
            Err(_) => return false,
        }
    }
    let ascend = numbers
        .windows(2)
        .all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    let has_index = columns
        .first()
        .is_some_and(|column| column.first.is_empty());
    ascend
        && match numbers[..] {
            [] => false,
            [0] => has_index,
            [first, _] => has_index && first == 0 || YEARS.contains(&first),
            [..] => numbers.len() > 2,
        }
}

/// The fields of a line.
pub(super) fn fields(csv: Csv, line: &str) -> impl Iterator<Item = &str> {
    csv.fields(line.as_bytes()).map(move |range| &line[range])
}

/// A field without the spaces and tabs around it.
pub(super) fn without_blanks(field: &str) -> &str {
    field.trim_matches([' ', '\t'])
}
