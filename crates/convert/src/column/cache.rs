//! What finds the index of a value by the bytes of its field, for each kind.
//!
//! These caches decide nothing: what one forgets is parsed again, and the dictionary gives it the
//! same index. So neither their sizes nor their hashes are part of the output.

use super::decimal_cache::{self, DecimalCache};
use super::dictionary::Dictionary;
use super::double::Double;
use super::key::Key;
use super::kind::PhysicalKind;
use super::text_cache::TextCache;
use crate::split::FieldOffsets;

/// Floats are looked up by their digits once the dictionary has more values than this: the table of
/// [`DecimalCache`] is too large for a small file.
const DECIMALS_ABOVE_VALUES: usize = 512;

/// What is known of a field after its look-up: the index of its value, that it is NULL, or nothing
/// yet. Four bytes, because there is one for each field of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found(u32);

impl Found {
    /// An empty field of an optional column.
    pub(super) const NULL: Self = Self(u32::MAX);
    /// Not found; it may be new, forgotten or faulty.
    pub(super) const UNKNOWN: Self = Self(u32::MAX - 1);

    /// The index of a value in the dictionary, which has fewer than 2^20 of them.
    #[inline(always)]
    pub(super) fn at(index: u32) -> Self {
        debug_assert!(index < Self::UNKNOWN.0, "no dictionary is that large");
        Self(index)
    }

    /// The index; above any index if there is none.
    #[inline(always)]
    pub(super) fn raw(self) -> u32 {
        self.0
    }

    /// The index, if it was found.
    #[inline(always)]
    pub(super) fn index(self) -> Option<u32> {
        (self.0 < Self::UNKNOWN.0).then_some(self.0)
    }
}

/// Where a field starts and ends in a chunk of text.
pub(super) type Span = (usize, usize);

/// Finds indices by the bytes of fields.
pub(super) trait FieldCache<K: PhysicalKind>: Default + Send {
    /// Looks up fields of a chunk; `found` has an element for each, [`Found::UNKNOWN`].
    fn find_all(
        &mut self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        dictionary: &Dictionary<K>,
        found: &mut [Found],
    );

    /// Looks up one field; the dictionary isn't asked.
    fn find(&self, text: &[u8], field: Span) -> Found;

    /// Remembers the index of a field that isn't known, in a dictionary of `values` values.
    fn insert(&mut self, text: &[u8], field: Span, index: u32, values: usize);

    /// Forgets everything and keeps the room.
    fn clear(&mut self);

    /// Forgets everything and gives the room back.
    fn release(&mut self) {
        *self = Self::default();
    }
}

/// The cache of all kinds but floats. What is too long for it is left to the kind.
impl<K: PhysicalKind> FieldCache<K> for TextCache {
    fn find_all(
        &mut self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        dictionary: &Dictionary<K>,
        found: &mut [Found],
    ) {
        self.find_column(text, fields, found, |field| K::find_long(dictionary, field));
    }

    fn find(&self, text: &[u8], (start, end): Span) -> Found {
        Key::new(text, start, end).map_or(Found::UNKNOWN, |key| self.find_key(key))
    }

    fn insert(&mut self, text: &[u8], (start, end): Span, index: u32, _values: usize) {
        if let Some(key) = Key::new(text, start, end) {
            self.insert_key(key, index);
        }
    }

    fn clear(&mut self) {
        self.clear();
    }
}

/// The cache of floats: short decimals by their digits, all others by their text.
#[derive(Default)]
pub(super) struct FloatCache {
    decimals: DecimalCache,
    texts: TextCache,
    /// The fields that aren't short decimals, with their rows in `found`.
    others: Vec<(usize, Span)>,
}

impl FieldCache<Double> for FloatCache {
    fn find_all(
        &mut self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        dictionary: &Dictionary<Double>,
        found: &mut [Found],
    ) {
        if !self.decimals.has_begun() {
            return self.texts.find_all(text, fields, dictionary, found);
        }
        self.decimals
            .find_all(text, fields, found, &mut self.others);
        self.texts.find_each(text, &self.others, found);
    }

    fn find(&self, text: &[u8], (start, end): Span) -> Found {
        let found = self.decimals.find(decimal_cache::slot(text, start, end));
        if found == Found::UNKNOWN {
            return FieldCache::<Double>::find(&self.texts, text, (start, end));
        }
        found
    }

    fn insert(&mut self, text: &[u8], (start, end): Span, index: u32, values: usize) {
        if values > DECIMALS_ABOVE_VALUES && self.decimals.begin() {
            // What they know now will be found among the decimals.
            self.texts.clear();
        }
        let slot = decimal_cache::slot(text, start, end);
        if !self.decimals.insert(slot, index) {
            FieldCache::<Double>::insert(&mut self.texts, text, (start, end), index, values);
        }
    }

    fn clear(&mut self) {
        self.decimals.clear();
        self.texts.clear();
    }
}
