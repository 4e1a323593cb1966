//! The result of a look-up.

/// The result of looking up a field: the index of its value, that it is NULL, or nothing
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
