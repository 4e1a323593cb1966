//! Estimates the disk space and the time of a conversion, from the sizes of the sources alone.

use tracelake_core::options::Codec;
use tracelake_encode::output::Encoding;
use tracelake_schema::Syntax;

use super::ratios::{RATIOS, Ratio, SMALL_OUTPUT, SPEEDS, Speed};

/// How much faster or slower a machine may be than the one that was measured.
const MACHINES: u64 = 2;

/// How many tenths as fast any number of threads converts one file as one thread does; see design.md.
const ONE_FILE_TENTHS: u64 = 23;

/// A file of a source, as an estimate sees it.
#[derive(Debug, Clone, Copy)]
pub struct SourceSize {
    /// How its rows are written.
    pub syntax: Syntax,
    /// Whether it is compressed.
    pub is_gzip: bool,
    /// Its size in bytes; `None` if the server doesn't say.
    pub bytes: Option<u64>,
    /// Whether all of its rows are converted, and not those of some parts only.
    pub is_whole: bool,
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
    /// Estimates what files take with some threads; `None` if the size of one isn't known, or if nothing like it was
    /// measured.
    #[must_use]
    pub fn of(
        files: impl IntoIterator<Item = SourceSize>,
        encoding: Encoding,
        threads: usize,
    ) -> Option<Self> {
        let (mut low, mut high, mut largest) = (0_u128, 0_u128, 0_u128);
        let (mut quick, mut slow, mut longest) = (0_u128, 0_u128, 0_u128);
        for file in files {
            let bytes = u128::from(file.bytes?);
            let ratio = ratio(&file, encoding)?;
            let speed = speed(&file)?;
            let least = bytes * u128::from(ratio.low) / 1_000;
            if file.is_whole {
                low += least;
                largest = largest.max(least);
            }
            high += bytes * u128::from(ratio.high) / 1_000 + u128::from(SMALL_OUTPUT);
            quick += bytes * u128::from(speed.low);
            slow += bytes * u128::from(speed.high);
            longest = longest.max(bytes * u128::from(speed.high));
        }
        let threads = (threads as u128).max(1);
        let seconds = |work: u128| work / 1_000_000_000 / 1_000;
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

fn ratio(file: &SourceSize, encoding: Encoding) -> Option<&'static Ratio> {
    // Two levels of zstd were measured: the default, and the highest.
    let codec = match encoding.codec() {
        Codec::Zstd(level) if Codec::Zstd(level) != Codec::DEFAULT && level > 3 => Codec::Zstd(22),
        Codec::Zstd(_) => Codec::DEFAULT,
        codec => codec,
    };
    let mut ratios = RATIOS.iter();
    ratios.find(|ratio| {
        (ratio.syntax, ratio.is_gzip) == (file.syntax, file.is_gzip)
            && (ratio.format, ratio.codec) == (encoding.format(), codec)
    })
}

fn speed(file: &SourceSize) -> Option<&'static Speed> {
    let mut speeds = SPEEDS.iter();
    speeds.find(|speed| (speed.syntax, speed.is_gzip) == (file.syntax, file.is_gzip))
}

#[cfg(test)]
mod tests {
    use tracelake_core::settings::Settings;

    use super::*;
    use tracelake_core::options::Format;

    fn file(bytes: u64) -> SourceSize {
        SourceSize {
            syntax: Syntax::Csv,
            is_gzip: true,
            bytes: Some(bytes),
            is_whole: true,
        }
    }

    fn of(files: &[SourceSize], threads: usize) -> Estimate {
        Estimate::of(files.iter().copied(), Encoding::DEFAULT, threads).unwrap()
    }

    #[test]
    fn every_kind_of_source_was_measured_in_every_encoding() {
        let codecs = [1, 3, 4, 22].map(Codec::Zstd);
        for codec in codecs.into_iter().chain([Codec::Snappy, Codec::None]) {
            for &format in Format::ALL {
                let mut settings = Settings::default();
                (settings.format, settings.compression) = (format, codec);
                let Ok(encoding) = Encoding::of(&settings) else {
                    continue;
                };
                for syntax in [Syntax::Csv, Syntax::QuotedCsv, Syntax::Json] {
                    for is_gzip in [false, true] {
                        let file = SourceSize {
                            syntax,
                            is_gzip,
                            ..file(1 << 40)
                        };
                        let measured = speed(&file).map(|speed| (speed.syntax, speed.is_gzip));
                        assert_eq!(measured, Some((syntax, is_gzip)));
                        let made = Estimate::of([file], encoding, 2).unwrap();
                        assert!(0 < made.bytes.0 && made.bytes.0 < made.bytes.1);
                        assert!(0 < made.seconds.0 && made.seconds.0 < made.seconds.1);
                    }
                }
            }
        }
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
        assert_eq!(Estimate::of([file(1), unknown], Encoding::DEFAULT, 1), None);
    }
}
