//! How column chunks are compressed.

use std::cell::RefCell;
use std::io;

use parquet::basic::{Compression, ZstdLevel};
use tracelake_core::options::Codec;

/// A codec as the Parquet crate has it; a footer gives it without its level.
pub(crate) fn compression(codec: Codec) -> Compression {
    match codec {
        Codec::Zstd(level) => {
            let level = ZstdLevel::try_new(level.into());
            Compression::ZSTD(level.expect("zstd has levels from 1 to 22"))
        }
        Codec::Snappy => Compression::SNAPPY,
        Codec::None => Compression::UNCOMPRESSED,
    }
}

/// The redundancy of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redundancy {
    /// Bytes that repeat: values on whole bytes.
    Matches,
    /// Bytes that are more frequent than others, while hardly anything repeats. Of packed bits a repetition looks
    /// the same only every few values, and hashes do not repeat in a dictionary.
    Frequencies,
}

/// The level at which zstd compresses what has no matches, unless a level above its default is asked for. A
/// part of task_usage is 0.1 % larger than with level 3 for all pages, and takes 4 % less CPU time; a part of
/// job_events is 0.2 % smaller and takes 5 % less.
const LEVEL_OF_FREQUENCIES: u8 = 1;

/// Up to this level, what zstd makes of a page depends on the page alone. At higher ones it salts its hashes
/// by what the context did before, so each page gets a new one.
const REUSED_UP_TO_LEVEL: u8 = 3;

thread_local! {
    /// The context of zstd of each thread. With new ones for each part, a conversion of parts of 4,000 rows
    /// took a tenth more time: their memory was made, cleared and given back again and again.
    static ZSTD: RefCell<zstd::bulk::Compressor<'static>> = RefCell::default();
}

/// Compresses a page.
///
/// # Errors
/// When the codec has no memory left.
///
/// # Memory
/// The context of zstd for its level, about 1 MiB for each thread at level 3.
pub(super) fn compress(codec: Codec, page: &[u8], redundancy: Redundancy) -> io::Result<Vec<u8>> {
    match codec {
        Codec::Zstd(level) => {
            let level = match redundancy {
                Redundancy::Frequencies if level <= Codec::DEFAULT_LEVEL => LEVEL_OF_FREQUENCIES,
                Redundancy::Frequencies | Redundancy::Matches => level,
            };
            if level > REUSED_UP_TO_LEVEL {
                return zstd::bulk::compress(page, level.into());
            }
            ZSTD.with_borrow_mut(|zstd| {
                zstd.set_compression_level(level.into())?;
                zstd.compress(page)
            })
        }
        Codec::Snappy => {
            let compressed = snap::raw::Encoder::new().compress_vec(page);
            compressed.map_err(io::Error::other)
        }
        Codec::None => Ok(page.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pages whose sizes are on both sides of those at which zstd takes other parameters.
    fn pages() -> impl Strategy<Value = Vec<u8>> {
        let most = prop_oneof![
            Just(1_usize << 10),
            Just(20 << 10),
            Just(150 << 10),
            Just(600 << 10)
        ];
        let word = prop_oneof!["[a-d]{1,9}", "[A-Za-z0-9+/]{44}", Just("0".repeat(300))];
        let words = prop::collection::vec(word, 1..60);
        (words, most).prop_map(|(words, most)| {
            let text = words.concat().into_bytes();
            text.iter()
                .copied()
                .cycle()
                .enumerate()
                .map(|(at, byte)| {
                    // Some of what repeats is broken up.
                    if at.wrapping_mul(0x9e37_79b9) >> 13 & 63 == 0 {
                        byte ^ 1
                    } else {
                        byte
                    }
                })
                .take(most)
                .collect()
        })
    }

    #[test]
    fn what_has_no_matches_takes_a_low_level_unless_a_high_one_is_asked_for() {
        let page = b"0.0625,0.03125,0.015625,".repeat(400);
        let by_zstd = |level: i32| zstd::bulk::compress(&page, level).unwrap();
        for level in 1..=9 {
            let expected = match level {
                ..=Codec::DEFAULT_LEVEL => by_zstd(1),
                level => by_zstd(level.into()),
            };
            let found = compress(Codec::Zstd(level), &page, Redundancy::Frequencies).unwrap();
            assert!(found == expected, "{level}");
        }
        assert!(by_zstd(1) != by_zstd(3) && by_zstd(1) != by_zstd(9));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Else the bytes of a file would depend on what its thread did before.
        #[test]
        fn what_a_page_becomes_depends_on_the_page_alone(
            pages in prop::collection::vec((pages(), 1..12_u8), 1..8),
        ) {
            for (page, level) in pages {
                let ours = compress(Codec::Zstd(level), &page, Redundancy::Matches).unwrap();
                prop_assert!(ours == zstd::bulk::compress(&page, level.into()).unwrap());
            }
        }
    }
}
