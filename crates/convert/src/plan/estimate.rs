//! Estimates the disk space and the time of a conversion, from the sizes of the sources alone.

use tracelake_core::options::{Codec, Format};
use tracelake_encode::output::OutputSettings;
use tracelake_schema::Syntax;

/// The most bytes that an output has beside its rows.
const SMALL_OUTPUT: u64 = 48_000;

/// How much faster or slower a machine may be than the one that was measured.
const MACHINES: u64 = 2;

/// How many tenths as fast any number of threads converts one file as one thread does; see design.md.
const ONE_FILE_TENTHS: u64 = 23;

/// A file of a source, as an estimate sees it.
#[derive(Debug, Clone, Copy)]
pub struct SourceSize {
    /// How its rows are written.
    pub syntax: Syntax,
    /// How it is compressed.
    pub packed: Packed,
    /// Its size in bytes; `None` if the server doesn't say.
    pub bytes: Option<u64>,
    /// Whether all of its rows are converted, and not those of some parts only.
    pub is_whole: bool,
}

/// How the rows of a file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    /// Not at all.
    Plain,
    /// With gzip.
    Gzip,
    /// With zstd.
    Zstd,
    /// With xz.
    Xz,
    /// With bzip2.
    Bzip2,
    /// In the pages of Parquet.
    Parquet,
}

/// The cost of a conversion, each as the least and the most that is likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes of all outputs.
    pub bytes: (u64, u64),
    /// The least that the largest output has, in bytes.
    pub largest: u64,
    /// Seconds.
    pub seconds: (u64, u64),
}

impl Estimate {
    /// Estimates what files take with some threads; `None` if the size of one isn't known.
    #[must_use]
    pub fn of(
        files: impl IntoIterator<Item = SourceSize>,
        output: OutputSettings,
        threads: usize,
    ) -> Option<Self> {
        let (mut low, mut high, mut largest) = (0_u128, 0_u128, 0_u128);
        let (mut quick, mut slow, mut longest) = (0_u128, 0_u128, 0_u128);
        for file in files {
            let bytes = u128::from(file.bytes?);
            let (smallest, most) = output_share(file.packed, output);
            let (fast, long) = nanoseconds(&file);
            let least = bytes * smallest / 1_000;
            if file.is_whole {
                low += least;
                largest = largest.max(least);
            }
            high += bytes * most / 1_000 + u128::from(SMALL_OUTPUT);
            quick += bytes * fast;
            slow += bytes * long;
            longest = longest.max(bytes * long);
        }
        let threads = (threads as u128).max(1);
        let seconds = |work: u128| work / 1_000_000_000;
        let one_file = longest * 10 / u128::from(ONE_FILE_TENTHS);
        let slowest = (slow / threads).max(one_file.min(slow));
        let machines = u128::from(MACHINES);
        Some(Self {
            bytes: (fit(low), fit(high)),
            largest: fit(largest),
            seconds: (
                fit(seconds(quick / threads / machines)),
                fit(seconds(slowest * machines) + 1),
            ),
        })
    }
}

fn fit(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The least and the most that an output takes, in thousandths of its source.
///
/// The range holds for each table of at least 64 KiB in the sample, in published rows and in traces of `generate`. The
/// middle of a range is off by a factor of up to 3 for gzip, and of up to 6 for plain text, because the size of a text
/// doesn't say how much of it repeats.
fn output_share(packed: Packed, output: OutputSettings) -> (u128, u128) {
    let [plain, gzip] = match (output.format(), output.codec()) {
        (Format::Parquet, Codec::Zstd(_)) => [(9, 330), (160, 1_240)],
        (Format::Parquet, Codec::Snappy) => [(13, 470), (230, 1_500)],
        (Format::Parquet, Codec::None) => [(23, 740), (360, 2_430)],
        (Format::Arrow, Codec::Zstd(_)) => [(20, 450), (380, 2_310)],
        (Format::Arrow, Codec::Snappy | Codec::None) => [(390, 2_160), (2_180, 15_830)],
    };
    match packed {
        Packed::Plain => plain,
        // A Parquet file is about as large as text with gzip, or half of that.
        Packed::Gzip | Packed::Parquet => gzip,
        // They make the same text up to a quarter smaller.
        Packed::Zstd | Packed::Xz | Packed::Bzip2 => (gzip.0, gzip.1 * 4 / 3),
    }
}

/// The least and the most CPU time of a byte of source in nanoseconds, on one of 2 processors of a cloud machine, over
/// the same tables.
fn nanoseconds(file: &SourceSize) -> (u128, u128) {
    let (fast, slow) = match (file.syntax, file.packed) {
        (Syntax::Csv, Packed::Plain) => (9, 29),
        (Syntax::Json | Syntax::QuotedCsv, Packed::Plain) => (12, 31),
        (Syntax::Parquet, _) | (_, Packed::Parquet) => (9, 84),
        (Syntax::Csv, _) => (31, 84),
        (Syntax::Json | Syntax::QuotedCsv, _) => (68, 145),
    };
    // Beyond gzip, of task_usage: 11 ns for zstd at level 19, 70 ns for xz and 131 ns for bzip2.
    let more = match file.packed {
        Packed::Plain | Packed::Gzip | Packed::Parquet => 0,
        Packed::Zstd => 20,
        Packed::Xz => 140,
        Packed::Bzip2 => 260,
    };
    (fast + more / 4, slow + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: u64) -> SourceSize {
        SourceSize {
            syntax: Syntax::Csv,
            packed: Packed::Gzip,
            bytes: Some(bytes),
            is_whole: true,
        }
    }

    fn of(files: &[SourceSize], threads: usize) -> Estimate {
        Estimate::of(files.iter().copied(), OutputSettings::DEFAULT, threads).unwrap()
    }

    #[test]
    fn files_add_up_and_threads_share_them() {
        let (one, two) = (of(&[file(1 << 40)], 1), of(&[file(1 << 40); 2], 1));
        assert_eq!(two.bytes.0, 2 * one.bytes.0);
        assert_eq!((one.largest, two.largest), (one.bytes.0, one.bytes.0));
        assert_eq!(of(&[file(1 << 40); 2], 2).seconds.0, one.seconds.0);
        // Threads gain little in one file.
        let many = of(&[file(1 << 40)], 1000);
        assert!(many.seconds.1 > one.seconds.1 / 3, "{many:?} {one:?}");
        let part = SourceSize {
            is_whole: false,
            ..file(1 << 40)
        };
        assert_eq!(of(&[part], 1).bytes, (0, one.bytes.1));
    }

    #[test]
    fn any_size_is_a_number() {
        let all = of(&[file(u64::MAX); 3], 1);
        assert_eq!(
            (all.bytes.0, of(&[], 1).bytes),
            (fit(3 * u128::from(all.largest)), (0, 0))
        );
        let unknown = SourceSize {
            bytes: None,
            ..file(1)
        };
        assert_eq!(
            Estimate::of([file(1), unknown], OutputSettings::DEFAULT, 1),
            None
        );
    }
}
