//! The smallest and the largest value of a page, a column chunk or a column.

use std::borrow::Borrow;

use parquet::basic::BoundaryOrder;

/// The smallest and the largest of at least one value.
pub(super) struct MinMax<V: ?Sized + ToOwned> {
    pub(super) min: V::Owned,
    pub(super) max: V::Owned,
}

impl<V: ?Sized + ToOwned<Owned: Clone>> Clone for MinMax<V> {
    fn clone(&self) -> Self {
        Self {
            min: self.min.clone(),
            max: self.max.clone(),
        }
    }
}

impl<V: ?Sized + ToOwned + Ord> MinMax<V> {
    /// Widens `bounds` to a value; true if none before was larger.
    pub(super) fn add(bounds: &mut Option<Self>, value: &V) -> bool {
        let Some(Self { min, max }) = bounds else {
            let (min, max) = (value.to_owned(), value.to_owned());
            *bounds = Some(Self { min, max });
            return true;
        };
        if value < (*min).borrow() {
            value.clone_into(min);
        }
        let order = value.cmp((*max).borrow());
        if order.is_gt() {
            value.clone_into(max);
        }
        order.is_ge()
    }

    /// Widens `bounds` to those of `other`.
    pub(super) fn merge(bounds: &mut Option<Self>, other: &Self) {
        Self::add(bounds, other.min.borrow());
        Self::add(bounds, other.max.borrow());
    }

    fn is_before(&self, next: &Self) -> bool {
        self.min.borrow() <= next.min.borrow() && self.max.borrow() <= next.max.borrow()
    }
}

/// The order of pages; those without a value don't count.
pub(super) fn boundary_order<'a, V: ?Sized + ToOwned + Ord + 'a>(
    pages: impl Iterator<Item = &'a MinMax<V>> + Clone,
) -> BoundaryOrder {
    let pairs = || pages.clone().zip(pages.clone().skip(1));
    if pairs().all(|(page, next)| page.is_before(next)) {
        BoundaryOrder::ASCENDING
    } else if pairs().all(|(page, next)| next.is_before(page)) {
        BoundaryOrder::DESCENDING
    } else {
        BoundaryOrder::UNORDERED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(values: &[i64]) -> MinMax<i64> {
        let mut bounds = None;
        for value in values {
            MinMax::add(&mut bounds, value);
        }
        bounds.unwrap()
    }

    #[test]
    fn pages_ascend_descend_or_neither() {
        let (low, middle, high) = (bounds(&[3, 1, 2]), bounds(&[2, 3]), bounds(&[9, 4]));
        assert_eq!((low.min, low.max), (1, 3));
        let order = |pages: &[&MinMax<i64>]| boundary_order(pages.iter().copied());
        assert_eq!(order(&[]), BoundaryOrder::ASCENDING);
        assert_eq!(order(&[&low, &middle, &high]), BoundaryOrder::ASCENDING);
        assert_eq!(order(&[&high, &middle, &low]), BoundaryOrder::DESCENDING);
        assert_eq!(order(&[&low, &high, &middle]), BoundaryOrder::UNORDERED);
    }
}
