//! Caches, one for each kind, that find a value's index by the bytes of its field.
//!
//! These caches decide nothing: what one forgets is parsed again, and the dictionary gives it the
//! same index. So neither their sizes nor their hashes are part of the output.

use tracelake_core::options::Accept;
use tracelake_schema::{Column, Kind};

use super::dictionary::Dictionary;
use super::digit_cache::{DigitCache, Form};
use super::found::{Found, Span};
use super::key::Key;
use super::kind::{FieldCache, PhysicalKind};
use super::text_cache::TextCache;
use crate::split::FieldOffsets;

/// Floats are looked up by their digits once the dictionary has more values than this, or the column more fields: the
/// table of [`DigitCache`] is too large for a small file.
const DECIMALS_ABOVE_VALUES: usize = 512;
const DECIMALS_ABOVE_FIELDS: usize = 1 << 15;

/// Integers are looked up by their digits unless more values than these, and a quarter of the dictionary, have too many
/// of them.
const MOST_LARGE_INTEGERS: usize = 16;

/// Floats of more digits are no longer looked up by their text once this many of them are new, and with them at most a
/// quarter of those that were looked up isn't.
const NEW_FLOATS: usize = 1 << 13;

/// The cache of texts and date-times. What is too long for it is left to the kind.
impl<K: PhysicalKind> FieldCache<K> for TextCache {
    fn new(_: &Column, _: &Accept) -> Self {
        Self::default()
    }

    fn find_all(
        &mut self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        dictionary: &Dictionary<K::Values>,
        found: &mut [Found],
    ) {
        self.find_column(text, fields, found, |field| K::find_long(dictionary, field));
    }

    fn find(&self, text: &[u8], (start, end): Span) -> Found {
        Key::new(text, start, end).map_or(Found::UNKNOWN, |key| self.find_key(key))
    }

    fn insert(&mut self, text: &[u8], (start, end): Span, index: u32, _values: usize) {
        // The empty text is never found.
        let key = Key::new(text, start, end).filter(|_| start < end);
        if let Some(key) = key {
            self.insert_key(key, index);
        }
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn release(&mut self) {
        *self = Self::default();
    }
}

/// The cache of numbers: those of few digits by these, all others by their text.
pub(super) struct NumberCache {
    numbers: DigitCache,
    texts: TextCache,
    /// The fields that weren't found by their digits, with their rows in `found`.
    others: Vec<(usize, Span)>,
    /// Whether looking them up by their digits has been given up, or may not be tried: a spelling of NULL may have the
    /// digits of a number.
    is_over: bool,
    /// Fields that were looked up by their text alone.
    by_text: usize,
    /// Integers of more digits.
    large: usize,
    /// Fields that were looked up by their text because they weren't found by their digits, and how many of these
    /// were remembered.
    asked: usize,
    remembered: usize,
    /// Whether hardly any number is found by its text.
    are_texts_over: bool,
}

impl NumberCache {
    /// Starts looking numbers up by their digits.
    fn begin(&mut self) {
        if self.numbers.begin() {
            // The values that they know will be found by their digits.
            self.texts.clear();
        }
    }

    /// Forgets all texts if hardly any number is found by its text: then looking it up costs more than parsing it again.
    fn drop_useless_texts(&mut self) {
        self.remembered += 1;
        let are_new = self.remembered >= NEW_FLOATS && self.remembered * 4 >= self.asked * 3;
        if are_new && self.numbers.form() == Form::Decimal && self.numbers.has_begun() {
            self.texts = TextCache::default();
            self.are_texts_over = true;
        }
    }

    /// Starts or stops looking numbers up by their digits, before one in `slot` is remembered.
    fn choose_lookup(&mut self, slot: usize, values: usize) {
        match self.numbers.form() {
            _ if self.is_over => {}
            Form::Decimal if values > DECIMALS_ABOVE_VALUES => self.begin(),
            Form::Decimal => {}
            Form::Integer => {
                self.large += usize::from(slot == 0);
                self.is_over = self.large > MOST_LARGE_INTEGERS + values / 4;
                match self.is_over {
                    true => self.numbers.release(),
                    false => self.begin(),
                }
            }
        }
    }
}

impl<K: PhysicalKind> FieldCache<K> for NumberCache {
    fn new(column: &Column, accept: &Accept) -> Self {
        let form = match column.kind {
            Kind::Float => Form::Decimal,
            Kind::Integer
            | Kind::Boolean
            | Kind::Text
            | Kind::Code
            | Kind::DateTime(_)
            | Kind::Struct
            | Kind::List => Form::Integer,
        };
        Self {
            numbers: DigitCache::new(form),
            texts: TextCache::default(),
            others: Vec::new(),
            is_over: accept.has_nulls_in(column),
            by_text: 0,
            large: 0,
            asked: 0,
            remembered: 0,
            are_texts_over: false,
        }
    }

    fn find_all(
        &mut self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        dictionary: &Dictionary<K::Values>,
        found: &mut [Found],
    ) {
        if !self.numbers.has_begun() {
            self.by_text += found.len();
            if self.by_text > DECIMALS_ABOVE_FIELDS && !self.is_over {
                self.begin();
            }
            return FieldCache::<K>::find_all(&mut self.texts, text, fields, dictionary, found);
        }
        self.numbers.find_all(text, fields, found, &mut self.others);
        if !self.are_texts_over {
            self.asked += self.others.len();
            self.texts.find_each(text, &self.others, found);
        }
    }

    fn find(&self, text: &[u8], field: Span) -> Found {
        let found = self.numbers.find(self.numbers.slot(text, field));
        if found == Found::UNKNOWN && !self.are_texts_over {
            return FieldCache::<K>::find(&self.texts, text, field);
        }
        found
    }

    fn insert(&mut self, text: &[u8], field: Span, index: u32, values: usize) {
        let slot = self.numbers.slot(text, field);
        self.choose_lookup(slot, values);
        if !self.numbers.insert(slot, index) && !self.are_texts_over {
            FieldCache::<K>::insert(&mut self.texts, text, field, index, values);
            self.drop_useless_texts();
        }
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.texts.clear();
        (self.large, self.asked, self.remembered) = (0, 0, 0);
        self.are_texts_over = false;
    }

    fn release(&mut self) {
        self.numbers.release();
        self.texts = TextCache::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracelake_core::line_ending::LineEnding;

    use crate::column::double::Double;
    use crate::column::integer::Int64;
    use crate::samples::machines;
    use crate::split::Records;

    /// A cache that remembers these integers in turn.
    fn knowing(column: &Column, integers: impl Iterator<Item = u32>) -> NumberCache {
        let mut cache = <NumberCache as FieldCache<Int64>>::new(column, &Accept::default());
        for (index, integer) in (0_u32..).zip(integers) {
            let text = integer.to_string();
            let field = (0, text.len());
            let values = index as usize + 1;
            FieldCache::<Int64>::insert(&mut cache, text.as_bytes(), field, index, values);
            let found = FieldCache::<Int64>::find(&cache, text.as_bytes(), field);
            assert_eq!(found, Found::at(index));
        }
        cache
    }

    #[test]
    fn integers_are_found_by_their_digits_unless_many_have_too_many() {
        let column = &machines().columns[1];
        assert_eq!(column.kind, Kind::Integer);
        assert!(knowing(column, 0..100).numbers.has_begun());
        assert!(knowing(column, 9_990..10_010).numbers.has_begun());
        let large = knowing(column, 100_000..100_100);
        assert!(large.is_over && !large.numbers.has_begun());
    }

    /// A cache that was asked for these floats, and remembers those that it didn't know.
    fn asked_for(whole: impl Fn(usize) -> usize) -> NumberCache {
        const ROWS: usize = 64;
        let columns = &mut machines().columns.iter();
        let column = columns.find(|column| column.kind == Kind::Float).unwrap();
        let mut cache = <NumberCache as FieldCache<Double>>::new(column, &Accept::default());
        let dictionary = Dictionary::new();
        let mut index = 0;
        for start in (0..3 * NEW_FLOATS).step_by(ROWS) {
            let rows = (start..start + ROWS).map(|row| format!("{}.123456,\n", whole(row)));
            let text: String = rows.collect();
            let mut records = Records::default();
            records.split(text.as_bytes(), 2, LineEnding::Lf);
            let fields = records.column(0, 0..ROWS);
            let (cache, text) = (&mut cache, text.as_bytes());
            let mut found = vec![Found::UNKNOWN; ROWS];
            FieldCache::<Double>::find_all(cache, text, fields, &dictionary, &mut found);
            let found = found.iter().enumerate();
            for (row, _) in found.filter(|(_, found)| **found == Found::UNKNOWN) {
                index += 1;
                FieldCache::<Double>::insert(cache, text, fields.get(row), index, index as usize);
            }
        }
        cache
    }

    #[test]
    fn floats_are_found_by_their_text_unless_nearly_all_are_new() {
        assert!(asked_for(|row| row).are_texts_over);
        // Each of 64 floats twice.
        assert!(!asked_for(|row| row / 128 * 64 + row % 64).are_texts_over);
        let mut cache = asked_for(|row| row);
        FieldCache::<Double>::clear(&mut cache);
        assert!(!cache.are_texts_over, "another row group asks again");
    }

    /// `0` may mean NULL where `00` is a number.
    #[test]
    fn numbers_are_not_found_by_their_digits_where_some_mean_null() {
        let column = &machines().columns[1];
        let spelling = tracelake_schema::Spelling {
            nulls: ["0".to_owned()].into(),
            ..column.spelling.clone()
        };
        let column = Column {
            spelling,
            ..(**column).clone()
        };
        assert!(!knowing(&column, 1..100).numbers.has_begun());
    }
}
