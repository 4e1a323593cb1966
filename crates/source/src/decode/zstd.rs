//! A zstd frame (RFC 8878), by libzstd, which checks its sizes and, where it has one, its checksum. The header is read here
//! first: it says how large the window is.

use std::ops::RangeInclusive;

use ::zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, get_error_name};
use tracelake_core::error::Error;

use super::decoder::{Decode, Decoded, Result, check_window, decode_some};
use crate::inflate::Stop;
use crate::input::Input;

/// The first byte of a frame without text, and the three after it.
pub(super) const SKIPPABLE: RangeInclusive<u8> = 0x50..=0x5f;
const AFTER_SKIPPABLE: &[u8] = b"\x2a\x4d\x18";

const MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";

/// The longest header of a frame, in bytes.
const LONGEST_HEADER: usize = 18;

/// The largest window of the format's programs, as a power of two. The limit is that of the header read here.
const LARGEST_WINDOW: u32 = 31;

pub(super) fn is_start(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || is_skippable(head)
}

fn is_skippable(head: &[u8]) -> bool {
    let first = head.first();
    first.is_some_and(|first| SKIPPABLE.contains(first)) && head[1..].starts_with(AFTER_SKIPPABLE)
}

/// A decoder of a frame.
///
/// # Memory
/// The window, and some 300 KiB.
pub(super) struct Zstd {
    context: DCtx<'static>,
    most: u64,
    /// Bytes left of a frame without text.
    skipped: u64,
    is_at_end: bool,
}

impl Zstd {
    pub(super) fn new(most: u64) -> Self {
        Self {
            context: DCtx::create(),
            most,
            skipped: 0,
            is_at_end: false,
        }
    }
}

impl Decode for Zstd {
    fn begin(&mut self, input: &mut Input) -> Result<()> {
        input.look_ahead(LONGEST_HEADER)?;
        let head = input.ahead();
        if is_skippable(head) {
            self.skipped = little_endian(head.get(4..8).ok_or(Stop::Truncated)?);
            input.pass(8);
            self.is_at_end = true;
            return Ok(());
        }
        if head.len() >= MAGIC.len() && !head.starts_with(MAGIC) {
            return Err(Stop::Broken("not a zstd header"));
        }
        let window = window(head).ok_or(Stop::Truncated)?;
        check_window("a window", window, self.most)?;
        self.is_at_end = false;
        let reset = self.context.reset(ResetDirective::SessionOnly);
        reset.map_err(broken)?;
        let largest = DParameter::WindowLogMax(LARGEST_WINDOW);
        self.context.set_parameter(largest).map_err(broken)?;
        Ok(())
    }

    fn read(&mut self, input: &mut Input, into: &mut [u8]) -> Result<usize> {
        while self.skipped > 0 {
            if input.is_at_end()? {
                return Err(Stop::Truncated);
            }
            let skipped = self.skipped.min(input.ahead().len() as u64);
            input.pass(usize::try_from(skipped).expect("buffered bytes"));
            self.skipped -= skipped;
        }
        decode_some(input, &mut self.is_at_end, |ahead| {
            let mut read = InBuffer::around(ahead);
            let mut written = OutBuffer::around(&mut *into);
            let left = self.context.decompress_stream(&mut written, &mut read);
            Ok(Decoded {
                is_at_end: left.map_err(broken)? == 0,
                passed: read.pos(),
                decoded: written.pos(),
            })
        })
    }
}

/// The window of a frame in bytes, by its header; `None` if it is cut off.
fn window(head: &[u8]) -> Option<u64> {
    let descriptor = *head.get(4)?;
    let is_single = descriptor & 1 << 5 != 0;
    if !is_single {
        let window = *head.get(5)?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // The window is the whole text, whose size is after the number of a dictionary.
    let at = 5 + [0, 1, 2, 4][usize::from(descriptor & 3)];
    let bytes = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let size = little_endian(head.get(at..at + bytes)?);
    Some(if bytes == 2 { size + 256 } else { size })
}

fn little_endian(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn broken(code: usize) -> Stop {
    match get_error_name(code) {
        "Allocation error : not enough memory" => Error::new(
            tracelake_core::error::ErrorKind::Failed,
            "not enough memory for its window",
        )
        .into(),
        "Data corruption detected" => Stop::Broken("broken data"),
        "Restored data doesn't match checksum" => Stop::Broken("wrong checksum of the text"),
        "Dictionary mismatch" => {
            Stop::Broken("compressed with a dictionary, which is another file")
        }
        other => Stop::Broken(other),
    }
}
