//! The numbers of a column, those of plain digits eight at a time, on processors with AVX-512.
//!
//! A million rows of task_usage become Arrow arrays in 0.65 s of CPU time, and in 0.78 s without this.
//!
//! Everything else, and everything on other processors, is left to [`crate::value`].

use crate::split::FieldOffsets;

/// How a number of plain digits is spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// Digits alone.
    Integer,
    /// Digits, perhaps with a point, or with an exponent.
    Float,
}

/// The spelling of a column's plain numbers, and what makes a value of the bits of an `i64` or an `f64`; `None` if it
/// doesn't fit.
pub(crate) type PlainNumbers<V> = (Spelling, fn(u64) -> Option<V>);

/// Reads the first fields of a column that are plain numbers; `put` makes the value of the bits of an `i64` or an
/// `f64`, `None` if it doesn't fit. Returns how many fields were read; `others` gets those whose value is still to be
/// read.
#[cfg(target_arch = "x86_64")]
pub(crate) fn read<V>(
    text: &[u8],
    fields: FieldOffsets<'_>,
    spelling: Spelling,
    values: &mut [V],
    others: &mut Vec<usize>,
    put: impl Fn(u64) -> Option<V>,
) -> usize {
    if !tracelake_core::instructions::has_avx512() {
        return 0;
    }
    // SAFETY: the processor has what the function is compiled for.
    #[expect(unsafe_code, reason = "measured above")]
    unsafe {
        read_wide(text, fields, spelling, values, others, put)
    }
}

/// Elsewhere no field is read here.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn read<V>(
    _: &[u8],
    _: FieldOffsets<'_>,
    _: Spelling,
    _: &mut [V],
    _: &mut Vec<usize>,
    _: impl Fn(u64) -> Option<V>,
) -> usize {
    0
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn read_wide<V>(
    text: &[u8],
    fields: FieldOffsets<'_>,
    spelling: Spelling,
    values: &mut [V],
    others: &mut Vec<usize>,
    put: impl Fn(u64) -> Option<V>,
) -> usize {
    let mut done = 0;
    for values in values.as_chunks_mut::<8>().0 {
        let Some(eight) = crate::wide::EightFields::new(text, fields.after(done)) else {
            break;
        };
        let (words, are_numbers) = match spelling {
            Spelling::Integer => {
                let integers = eight.integers();
                (integers.number, integers.are_numbers)
            }
            Spelling::Float => eight.floats(),
        };
        let mut bits = [0; 8];
        crate::wide::store(words, &mut bits);
        let mut unread = !are_numbers;
        for (row, (value, bits)) in values.iter_mut().zip(bits).enumerate() {
            match put(bits) {
                Some(number) => *value = number,
                None => unread |= 1 << row,
            }
        }
        while unread != 0 {
            others.push(done + unread.trailing_zeros() as usize);
            unread &= unread - 1;
        }
        done += 8;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tracelake_core::line_ending::LineEnding;

    use crate::split::Records;
    use crate::value;

    /// Numbers and what resembles them, in two columns.
    fn rows() -> impl Strategy<Value = Vec<(String, String)>> {
        let field = "-?[0-9]{0,18}|9007199254740[0-9]{3}|[0-9]{0,9}\\.[0-9]{0,9}|[0-9]\\.[0-9]{1,9}|\\.[0-9]{1,8}\
            |[0-9]\\.[0-9]{0,5}e-[0-9]{1,2}|[0-9.e:/-]{0,12}|[ -+--~]{0,12}";
        prop::collection::vec((field, field), 0..70)
    }

    /// The fields of a column of these rows that are read, by their record, and those that are left.
    fn read_column<V: Copy + Default>(
        rows: &[(String, String)],
        column: usize,
        spelling: Spelling,
        put: impl Fn(u64) -> Option<V>,
    ) -> (Vec<(String, V)>, usize) {
        let lines = rows.iter().map(|(one, other)| format!("{one},{other}\n"));
        let text: String = lines.collect();
        let mut records = Records::default();
        records.split(text.as_bytes(), 2, LineEnding::Lf);
        let fields = records.column(column, 0..records.len());
        let (mut values, mut others) = (vec![V::default(); records.len()], Vec::new());
        let done = read(
            text.as_bytes(),
            fields,
            spelling,
            &mut values,
            &mut others,
            put,
        );
        let plain = (0..done).filter(|record| !others.contains(record));
        let texts_and_values = plain.map(|record| {
            let (start, end) = fields.get(record);
            (text[start..end].to_owned(), values[record])
        });
        (texts_and_values.collect(), others.len())
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_plain_twin(rows in rows(), column in 0..2_usize) {
            let integer = |bits: u64| Some(bits.cast_signed());
            for (field, value) in read_column(&rows, column, Spelling::Integer, integer).0 {
                prop_assert_eq!(value::integer(field.as_bytes()), Ok(value), "{}", field);
            }
            let code = |bits| i32::try_from(bits).ok();
            for (field, value) in read_column(&rows, column, Spelling::Integer, code).0 {
                prop_assert_eq!(value::code(field.as_bytes()), Ok(value), "{}", field);
            }
            let float = |bits| Some(f64::from_bits(bits));
            for (field, value) in read_column(&rows, column, Spelling::Float, float).0 {
                let plain = value::float(field.as_bytes()).map(f64::to_bits);
                prop_assert_eq!(plain, Ok(value.to_bits()), "{}", field);
            }
        }
    }

    #[test]
    #[cfg_attr(not(avx512), ignore = "needs a processor with AVX-512")]
    fn what_traces_have_is_read() {
        for field in ["0", "7", "5612000000", "1234567890123456"] {
            let rows = vec![(field.to_owned(), String::new()); 16];
            let (read, left) = read_column(&rows, 0, Spelling::Integer, Some);
            assert!(read.len() >= 8 && left == 0, "{field}");
        }
        for field in [
            "0",
            "1",
            "0.01562",
            "7.534e-05",
            "0.0001234",
            "0.12345678",
            "172.0",
            "14.25",
            "100",
            "12.345678",
            "1234567.12345678",
            "123456789012.3",
            "9007199254740992",
        ] {
            let rows = vec![(field.to_owned(), String::new()); 16];
            let (read, left) = read_column(&rows, 0, Spelling::Float, Some);
            assert!(read.len() >= 8 && left == 0, "{field}");
        }
    }
}
