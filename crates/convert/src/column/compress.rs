//! How column chunks are compressed.

use std::io;

use parquet::basic::{Compression, ZstdLevel};

use crate::options::Codec;

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

/// A codec with what it keeps from page to page. The columns that share one are always encoded by the
/// same thread, one after the other, so its history is the same on any number of threads.
///
/// # Memory
/// What zstd takes for its level, about 1 MiB at level 3, from the first large page on.
pub(crate) struct Compressor {
    codec: Codec,
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl Compressor {
    pub(crate) fn new(codec: Codec) -> Self {
        Self { codec, zstd: None }
    }

    pub(super) fn codec(&self) -> Codec {
        self.codec
    }

    /// The compressed bytes of a page.
    ///
    /// # Errors
    /// When the codec has no memory left.
    pub(super) fn compress(&mut self, page: &[u8]) -> io::Result<Vec<u8>> {
        match self.codec {
            Codec::Zstd(level) => {
                let zstd = match self.zstd.take() {
                    Some(zstd) => zstd,
                    None => zstd::bulk::Compressor::new(i32::from(level))?,
                };
                self.zstd.insert(zstd).compress(page)
            }
            Codec::Snappy => {
                let compressed = snap::raw::Encoder::new().compress_vec(page);
                compressed.map_err(io::Error::other)
            }
            Codec::None => Ok(page.to_vec()),
        }
    }
}
