//! The bytes of files, decompressed: gzip by another decoder than the converter's, and the blocks of xz found by other code.
//! zstd, LZMA2 and bzip2 have one decoder each.

use std::io::{self, BufRead, BufReader, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_location::{Location, Reader};

use super::finding::failed;

/// The bytes of a file, decompressed.
pub(super) fn decoded(context: &Context, path: &Location) -> Result<Box<dyn Read + Send>> {
    let file = Cancellable {
        context: context.clone(),
        file: path.open()?,
    };
    let file = unpacked(BufReader::with_capacity(1 << 17, file));
    file.map_err(|error| failed(path, error))
}

/// The largest window of a zstd frame, as a power of two.
const LARGEST_WINDOW: u32 = 31;

/// Decompresses a file or a member of an archive, if its first bytes say that it's compressed.
pub(super) fn unpacked(
    mut file: impl BufRead + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::new();
    file.by_ref().take(6).read_to_end(&mut head)?;
    let is_first = |bytes: &[u8]| head.starts_with(bytes);
    let is_gzip = is_first(b"\x1f\x8b");
    let is_skippable = head.first().is_some_and(|byte| byte >> 4 == 5);
    let is_zstd =
        is_first(b"\x28\xb5\x2f\xfd") || is_skippable && head[1..].starts_with(b"\x2a\x4d\x18");
    let is_xz = is_first(b"\xfd7zXZ\0");
    let is_bzip2 = is_first(b"BZh") && matches!(head.get(4..), Some(b"1A" | b"\x17\x72"));
    let file = io::Cursor::new(head).chain(file);
    Ok(if is_gzip {
        Box::new(Members {
            member: Some(GzDecoder::new(file)),
        })
    } else if is_zstd {
        let mut frames = zstd::stream::read::Decoder::with_buffer(file)?;
        frames.window_log_max(LARGEST_WINDOW)?;
        Box::new(frames)
    } else if is_xz {
        Box::new(XzReader::new(file, true))
    } else if is_bzip2 {
        Box::new(MultiBzDecoder::new(file))
    } else {
        Box::new(file)
    })
}

/// A file whose reading ends once the context is cancelled.
struct Cancellable {
    context: Context,
    file: Reader,
}

impl Read for Cancellable {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let checked = self.context.check();
        let read = checked.and_then(|()| self.file.read_some(&self.context, into));
        read.map_err(io::Error::other)
    }
}

/// All members of a gzip file by flate2, up to the end or to NUL padding.
struct Members<R> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let next = member.get_mut().fill_buf()?.first().copied();
            self.member = match (self.member.take(), next) {
                (Some(ended), Some(first)) if first != 0 => {
                    Some(GzDecoder::new(ended.into_inner()))
                }
                _ => None,
            };
        }
        Ok(0)
    }
}
