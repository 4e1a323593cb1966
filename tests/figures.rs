//! Figures of the docs are those of the code.

use std::fs;
use std::path::Path;

use tracelake_convert::{lake_file, part, plan};
use tracelake_core::settings::{PART_ROWS, ROW_GROUP_ROWS, ROW_GROUP_ROWS_RANGE};
use tracelake_core::words::group_digits;
use tracelake_encode::{batch, limits};

const LIMITS: &str = "limits.md";
const DESIGN: &str = "design.md";

fn digits(number: impl TryInto<u64>) -> String {
    group_digits(number.try_into().ok().unwrap())
}

fn kib(bytes: usize) -> usize {
    bytes >> 10
}

fn mib(bytes: impl TryInto<u64>) -> u64 {
    bytes.try_into().ok().unwrap() >> 20
}

#[test]
fn figures_are_those_of_the_constants() {
    let (least, most) = ROW_GROUP_ROWS_RANGE.into_inner();
    let percent = format!("more than {} %", limits::STORE_UNCOMPRESSED_ABOVE_PERCENT);
    let telling = format!("less than {} KiB", kib(limits::TELLING_BYTES));
    assert_eq!(part::CHUNKS_AHEAD, 4);
    let ahead = "up to four chunks are read ahead".to_owned();
    let figures = [
        (LIMITS, percent.clone()),
        (DESIGN, percent),
        (LIMITS, telling.clone()),
        (DESIGN, telling),
        (LIMITS, ahead.clone()),
        (DESIGN, ahead),
        (
            DESIGN,
            format!("has at least {} values", digits(limits::UNREPEATED_ROWS)),
        ),
        (
            DESIGN,
            format!("at most one in {} repeats", limits::UNREPEATED_BUT_ONE_IN),
        ),
        (
            DESIGN,
            format!("texts of more than {} bytes on average", limits::LONG_TEXT),
        ),
        (
            DESIGN,
            format!("Texts of more than {} bytes", limits::STATISTICS_TEXT_BYTES),
        ),
        (
            DESIGN,
            format!(
                "{} values, {} groups of eight",
                limits::MOST_GROUPS * 8,
                limits::MOST_GROUPS
            ),
        ),
        (
            DESIGN,
            format!(
                "whenever it is {} MiB longer",
                mib(tracelake_lake::WRITE_BEHIND)
            ),
        ),
        (
            DESIGN,
            format!(
                "returns about {} KiB of whole lines",
                kib(tracelake_source::CHUNK)
            ),
        ),
        (
            LIMITS,
            format!(
                "between one part and the next one, for all parts | {} MiB",
                mib(limits::SPARE_INDICES * size_of::<u32>())
            ),
        ),
        (
            LIMITS,
            format!(
                "{} to {} (`ROW_GROUP_ROWS_RANGE`)",
                digits(least),
                digits(most)
            ),
        ),
        (
            LIMITS,
            format!("{} rows with texts or lists", lake_file::WIDE_ROWS),
        ),
        (LIMITS, format!("about {} rows", digits(limits::PAGE_ROWS))),
        (
            DESIGN,
            format!("pages of {} rows", digits(limits::PAGE_ROWS)),
        ),
        (
            LIMITS,
            format!(
                "chooses the encoding {}",
                digits(limits::CHOOSING_PAGE_ROWS)
            ),
        ),
        (
            LIMITS,
            format!(
                "once its times have {} MiB, which is {} rows",
                mib(limits::ROW_GROUP_TIME_BYTES),
                digits(limits::ROW_GROUP_TIME_BYTES / 8)
            ),
        ),
        (
            LIMITS,
            format!(
                "more than {} times on average keep the dictionary",
                limits::TRY_PLAIN_IDS_BELOW_REPEATS
            ),
        ),
        (
            LIMITS,
            format!("{} items of lists", digits(limits::PAGE_ITEMS)),
        ),
        (
            LIMITS,
            format!(
                "where values are PLAIN, {} KiB",
                kib(limits::PLAIN_PAGE_BYTES)
            ),
        ),
        (
            LIMITS,
            format!("come {} times or more", limits::BLOOM_FILTER_REPEATS),
        ),
        (
            LIMITS,
            format!("{} rows and 64 MiB", digits(ROW_GROUP_ROWS)),
        ),
        (
            LIMITS,
            format!("A batch has {} rows", digits(batch::BATCH_ROWS)),
        ),
        (
            LIMITS,
            format!("may have {} MiB", mib(tracelake_source::LINE_LIMIT)),
        ),
        (LIMITS, format!("above {}", digits(plan::PARTS_LIMIT))),
        (LIMITS, format!("parts of {} rows", digits(PART_ROWS))),
    ];
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let missing = figures.iter().filter(|(page, figure)| {
        let text = fs::read_to_string(docs.join(page)).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        !words.join(" ").contains(figure)
    });
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "the docs don't say {missing:?}");
}
