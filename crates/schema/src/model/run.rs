//! Columns of a file that are one column of the lake.

use std::borrow::Cow;
use std::sync::Arc;

/// The columns of a file that are the items of a list, by their published names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// Consecutive numbers, with zeros in front up to as many digits.
    Range {
        /// The first number.
        first: u64,
        /// How many there are.
        count: u32,
        /// The least number of digits.
        digits: usize,
    },
    /// These names.
    Names(Arc<[String]>),
}

impl Run {
    /// The number of columns.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::Range { count, .. } => *count,
            Self::Names(names) => u32::try_from(names.len()).unwrap_or(u32::MAX),
        }
    }

    /// The published name of a column, counted from 0.
    ///
    /// # Example
    ///
    /// ```
    /// let run = tracelake_schema::Run::Range { first: 8, count: 3, digits: 2 };
    /// assert_eq!([0, 2].map(|item| run.name(item)), ["08", "10"]);
    /// ```
    #[must_use]
    pub fn name(&self, item: u32) -> Cow<'_, str> {
        match self {
            Self::Range { first, digits, .. } => {
                format!("{:0digits$}", first + u64::from(item)).into()
            }
            Self::Names(names) => names
                .get(item as usize)
                .map_or(Cow::Borrowed(""), |name| name.into()),
        }
    }

    /// The published names of all columns.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.count()).map(|item| self.name(item))
    }

    /// Whether a column has this published name.
    ///
    /// # Example
    ///
    /// ```
    /// let run = tracelake_schema::Run::Range { first: 8, count: 3, digits: 2 };
    /// assert_eq!(["08", "10", "8", "+8", "11", "x"].map(|name| run.has(name)), [true, true, false, false, false, false]);
    /// ```
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Range { first, .. } => {
                let item = name.parse().ok().and_then(|n: u64| n.checked_sub(*first));
                let item = item.and_then(|item| u32::try_from(item).ok());
                item.is_some_and(|item| item < self.count() && self.name(item) == name)
            }
            Self::Names(names) => names.iter().any(|one| &**one == name),
        }
    }
}
