//! Figures of the docs are those of the code.

#![cfg(test)]

use tracelake_testkit::figures::{DESIGN, LIMITS, assert_stated, digits, kib, mib};

use super::super::choice::{
    LONG_TEXT, STORE_UNCOMPRESSED_ABOVE_PERCENT, TELLING_BYTES, TRY_PLAIN_IDS_BELOW_REPEATS,
};
use super::super::encode::MOST_GROUPS;
use super::super::encoder::{
    BLOOM_FILTER_REPEATS, CHOOSING_PAGE_ROWS, PAGE_ITEMS, PAGE_ROWS, PLAIN_PAGE_BYTES,
    UNREPEATED_BUT_ONE_IN, UNREPEATED_ROWS,
};
use super::super::page::SPARE_INDICES;
use super::super::text::STATISTICS_TEXT_BYTES;
use crate::rows::ROW_GROUP_TIME_BYTES;

#[test]
fn figures_are_those_of_the_constants() {
    let percent = format!("more than {STORE_UNCOMPRESSED_ABOVE_PERCENT} %");
    let telling = format!("less than {} KiB", kib(TELLING_BYTES));
    assert_stated(&[
        (LIMITS, percent.clone()),
        (DESIGN, percent),
        (LIMITS, telling.clone()),
        (DESIGN, telling),
        (
            DESIGN,
            format!("has at least {} values", digits(UNREPEATED_ROWS)),
        ),
        (
            DESIGN,
            format!("at most one in {UNREPEATED_BUT_ONE_IN} repeats"),
        ),
        (
            DESIGN,
            format!("texts of more than {LONG_TEXT} bytes on average"),
        ),
        (
            DESIGN,
            format!("Texts of more than {STATISTICS_TEXT_BYTES} bytes"),
        ),
        (
            DESIGN,
            format!("{} values, {MOST_GROUPS} groups of eight", MOST_GROUPS * 8),
        ),
        (
            LIMITS,
            format!(
                "between one part and the next one, for all parts | {} MiB",
                mib(SPARE_INDICES * size_of::<u32>())
            ),
        ),
        (LIMITS, format!("about {} rows", digits(PAGE_ROWS))),
        (DESIGN, format!("pages of {} rows", digits(PAGE_ROWS))),
        (
            LIMITS,
            format!("chooses the encoding {}", digits(CHOOSING_PAGE_ROWS)),
        ),
        (
            LIMITS,
            format!(
                "once its times have {} MiB, which is {} rows",
                mib(ROW_GROUP_TIME_BYTES),
                digits(ROW_GROUP_TIME_BYTES / 8)
            ),
        ),
        (
            LIMITS,
            format!("more than {TRY_PLAIN_IDS_BELOW_REPEATS} times on average keep the dictionary"),
        ),
        (LIMITS, format!("{} items of lists", digits(PAGE_ITEMS))),
        (
            LIMITS,
            format!("where values are PLAIN, {} KiB", kib(PLAIN_PAGE_BYTES)),
        ),
        (LIMITS, format!("come {BLOOM_FILTER_REPEATS} times or more")),
    ]);
}
