//! Columns whose values are written PLAIN, against the plain twin.

use proptest::prelude::*;
use tracelake_core::line_ending::LineEnding;
use tracelake_core::options::Codec;

use super::super::double::Double;
use super::super::encoder::CHOOSING_PAGE_ROWS;
use super::super::integer::{Int32, Int64};
use super::super::kind::PhysicalKind;
use super::super::text::Text;
use super::{CODE, MEASURE, TEXT, TIME, check, chunk_text};
use crate::split::Records;

/// Rows of values that hardly repeat: as many as decide on the encoding.
fn beginning() -> impl Iterator<Item = String> {
    let row = |row: usize| {
        let scattered = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let (percent, rest) = (scattered % 100, scattered / 100);
        format!("{row},,{scattered},{percent}.{rest:06},1,{scattered:0>40}\n")
    };
    let starts = (0..CHOOSING_PAGE_ROWS).step_by(1000);
    starts.map(move |start| (start..start + 1000).map(row).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn plain_values_nulls_and_faults_equal_the_plain_twin(
        chunks in prop::collection::vec(chunk_text(), 1..6),
    ) {
        let chunks: Vec<String> = beginning().chain(chunks).collect();
        let footer = check(&chunks, Codec::None);
        for column in [TIME, CODE, MEASURE, TEXT] {
            let chunk = footer.row_group(0).column(column);
            prop_assert_eq!(chunk.dictionary_page_offset(), None, "{}", column);
        }
    }
}

/// How many of 16 equal fields are left to be parsed one by one.
fn left<K: PhysicalKind>(field: &str) -> usize {
    let text = format!("{field},\n").repeat(16) + &" ".repeat(16);
    let mut records = Records::default();
    records.split(text.as_bytes(), 2, LineEnding::Lf);
    let fields = records.column(0, 0..records.len());
    let (mut parsed, mut others) = (vec![K::Parsed::default(); 16], Vec::new());
    let done = K::parse_column(text.as_bytes(), fields, &mut parsed, &mut others);
    16 - done + others.len()
}

#[test]
#[cfg_attr(not(avx512), ignore = "needs a processor with AVX-512")]
fn what_is_spelled_plainly_is_parsed_eight_at_a_time() {
    assert_eq!(left::<Double>("12.345678"), 0);
    assert_eq!(left::<Double>("-0.5"), 16);
    assert_eq!(left::<Int64>("1234567890123456"), 0);
    assert_eq!(left::<Int32>("2147483647"), 0);
    assert_eq!(left::<Int32>("2147483648"), 16);
    assert_eq!(left::<Text>("+/aZ09=="), 0);
    assert_eq!(left::<Text>("\""), 16);
    assert_eq!(left::<Text>(""), 16);
}
