//! Figures of the docs are those of the code; those of the crate encode are compared there.

use tracelake_convert::{lake_file, part, plan};
use tracelake_core::settings::{PART_ROWS, ROW_GROUP_ROWS, ROW_GROUP_ROWS_RANGE};
use tracelake_encode::batch;
use tracelake_testkit::figures::{DESIGN, LIMITS, assert_stated, digits, kib, mib};

#[test]
fn figures_are_those_of_the_constants() {
    let (least, most) = ROW_GROUP_ROWS_RANGE.into_inner();
    assert_eq!(part::CHUNKS_AHEAD, 4);
    let ahead = "up to four chunks are read ahead".to_owned();
    assert_stated(&[
        (LIMITS, ahead.clone()),
        (DESIGN, ahead),
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
                "{} to {} (`ROW_GROUP_ROWS_RANGE`)",
                digits(least),
                digits(most)
            ),
        ),
        (
            LIMITS,
            format!("{} rows with texts or lists", lake_file::WIDE_ROWS),
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
    ]);
}
