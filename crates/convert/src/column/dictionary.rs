//! The distinct values of one column in a row group, in the order in which they first appear.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use tracelake_schema::Kind;

/// The distinct values of a column.
///
/// # Memory
/// About 16 bytes a number; of a text its bytes and 12 more.
pub(super) struct Dictionary {
    values: Values,
    /// The index of each value, by the value's hash. Its order is never looked at.
    indices: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Values of one kind.
pub(super) enum Values {
    /// Whatever is not text, as a number whose order is the order of the values: see
    /// [`from_float`].
    Numbers(Vec<i64>),
    /// Texts, one behind the other.
    Texts {
        /// Where each one ends.
        ends: Vec<usize>,
        /// Their bytes.
        bytes: Vec<u8>,
    },
}

/// A float as an integer: equal only for equal bits, and in the order of the floats, where -0 comes
/// before 0.
pub(super) fn from_float(value: f64) -> i64 {
    flip(value.to_bits().cast_signed())
}

/// The float that [`from_float`] made an integer of.
pub(super) fn to_float(number: i64) -> f64 {
    f64::from_bits(flip(number).cast_unsigned())
}

/// Of a negative number inverts all bits but the sign; twice is once too often.
fn flip(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

impl Dictionary {
    pub(super) fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Text | Kind::Struct | Kind::List => Values::Texts {
                ends: Vec::new(),
                bytes: Vec::new(),
            },
            Kind::Integer | Kind::Float | Kind::Boolean | Kind::Code => Values::Numbers(Vec::new()),
        };
        Self {
            values,
            indices: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Forgets all values.
    pub(super) fn clear(&mut self) {
        self.indices.clear();
        match &mut self.values {
            Values::Numbers(numbers) => numbers.clear(),
            Values::Texts { ends, bytes } => {
                ends.clear();
                bytes.clear();
            }
        }
    }

    /// Forgets all values and gives their room back.
    pub(super) fn release(&mut self) {
        self.clear();
        self.indices = HashTable::new();
        match &mut self.values {
            Values::Numbers(numbers) => *numbers = Vec::new(),
            Values::Texts { ends, bytes } => (*ends, *bytes) = (Vec::new(), Vec::new()),
        }
    }

    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Bytes of a page of these values, about.
    pub(super) fn bytes(&self) -> usize {
        match &self.values {
            Values::Numbers(numbers) => numbers.len() * 8,
            Values::Texts { ends, bytes } => ends.len() * 4 + bytes.len(),
        }
    }

    /// The index of a number, which is added if it is new.
    pub(super) fn number(&mut self, number: i64) -> u32 {
        let Values::Numbers(numbers) = &mut self.values else {
            return 0;
        };
        let hash = |number: &i64| self.hasher.hash_one(number);
        let entry = self.indices.entry(
            hash(&number),
            |&index| numbers[index as usize] == number,
            |&index| hash(&numbers[index as usize]),
        );
        let next = next(numbers.len());
        let index = *entry.or_insert(next).get();
        if index == next {
            numbers.push(number);
        }
        index
    }

    /// The index of a text, if it is known.
    pub(super) fn find_text(&self, text: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(text);
        let found = self
            .indices
            .find(hash, |&index| self.values.text(index as usize) == text);
        found.copied()
    }

    /// The index of a text, which is added if it is new.
    pub(super) fn text(&mut self, text: &[u8]) -> u32 {
        if let Some(index) = self.find_text(text) {
            return index;
        }
        let index = next(self.len());
        if let Values::Texts { ends, bytes } = &mut self.values {
            bytes.extend_from_slice(text);
            ends.push(bytes.len());
        }
        let hash = self.hasher.hash_one(text);
        self.indices.insert_unique(hash, index, |&index| {
            self.hasher.hash_one(self.values.text(index as usize))
        });
        index
    }
}

impl Values {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Texts { ends, .. } => ends.len(),
        }
    }

    /// One of the texts; empty where the values are numbers.
    pub(super) fn text(&self, index: usize) -> &[u8] {
        match self {
            Self::Numbers(_) => &[],
            Self::Texts { ends, bytes } => {
                let start = if index == 0 { 0 } else { ends[index - 1] };
                &bytes[start..ends[index]]
            }
        }
    }
}

fn next(len: usize) -> u32 {
    // A column has fewer values than a row group has rows.
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_numbered_as_they_appear() {
        let mut numbers = Dictionary::new(Kind::Integer);
        assert_eq!(
            [7, -1, 7, 0].map(|number| numbers.number(number)),
            [0, 1, 0, 2]
        );
        assert_eq!((numbers.len(), numbers.bytes()), (3, 24));
        let mut texts = Dictionary::new(Kind::Text);
        assert_eq!(
            ["b", "", "b", "a"].map(|text| texts.text(text.as_bytes())),
            [0, 1, 0, 2]
        );
        assert_eq!(texts.find_text(b"a"), Some(2));
        assert_eq!(texts.find_text(b"c"), None);
        assert_eq!(
            (texts.values().text(0), texts.values().text(1)),
            (&b"b"[..], &b""[..])
        );
        texts.clear();
        assert_eq!((texts.len(), texts.find_text(b"a")), (0, None));
    }

    proptest! {
        #[test]
        fn floats_keep_their_bits_and_their_order(a in any::<f64>(), b in any::<f64>()) {
            prop_assert_eq!(to_float(from_float(a)).to_bits(), a.to_bits());
            if a < b {
                prop_assert!(from_float(a) < from_float(b));
            }
            prop_assert!(from_float(-0.0) < from_float(0.0));
        }
    }
}
