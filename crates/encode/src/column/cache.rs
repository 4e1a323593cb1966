//! Caches, one for each kind, that find a value's index by the bytes of its field.
//!
//! These caches decide nothing: what one forgets is parsed again, and the dictionary gives it the
//! same index. So neither their sizes nor their hashes are part of the output.

use super::decimal_cache::{self, DecimalCache};
use super::dictionary::Dictionary;
use super::found::{Found, Span};
use super::key::Key;
use super::kind::{FieldCache, PhysicalKind};
use super::text_cache::TextCache;
use crate::split::FieldOffsets;

/// Floats are looked up by their digits once the dictionary has more values than this: the table of
/// [`DecimalCache`] is too large for a small file.
const DECIMALS_ABOVE_VALUES: usize = 512;

/// The cache of all kinds but floats. What is too long for it is left to the kind.
impl<K: PhysicalKind> FieldCache<K> for TextCache {
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
}

/// The cache of floats: short decimals by their digits, all others by their text.
#[derive(Default)]
pub(super) struct FloatCache {
    decimals: DecimalCache,
    texts: TextCache,
    /// The fields that aren't short decimals, with their rows in `found`.
    others: Vec<(usize, Span)>,
}

impl<K: PhysicalKind> FieldCache<K> for FloatCache {
    fn find_all(
        &mut self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        dictionary: &Dictionary<K::Values>,
        found: &mut [Found],
    ) {
        if !self.decimals.has_begun() {
            return FieldCache::<K>::find_all(&mut self.texts, text, fields, dictionary, found);
        }
        self.decimals
            .find_all(text, fields, found, &mut self.others);
        self.texts.find_each(text, &self.others, found);
    }

    fn find(&self, text: &[u8], (start, end): Span) -> Found {
        let found = self.decimals.find(decimal_cache::slot(text, start, end));
        if found == Found::UNKNOWN {
            return FieldCache::<K>::find(&self.texts, text, (start, end));
        }
        found
    }

    fn insert(&mut self, text: &[u8], (start, end): Span, index: u32, values: usize) {
        if values > DECIMALS_ABOVE_VALUES && self.decimals.begin() {
            // The values that they know will be found among the decimals.
            self.texts.clear();
        }
        let slot = decimal_cache::slot(text, start, end);
        if !self.decimals.insert(slot, index) {
            FieldCache::<K>::insert(&mut self.texts, text, (start, end), index, values);
        }
    }

    fn clear(&mut self) {
        self.decimals.clear();
        self.texts.clear();
    }
}
