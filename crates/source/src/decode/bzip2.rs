//! A bzip2 stream, by libbzip2's port, which checks the CRC of each block and of all.

use ::bzip2::{Decompress, Status};

use super::decoder::{Decode, Decoded, Result, decode_some};
use crate::inflate::Stop;
use crate::input::Input;

/// Whether bytes are the start of a stream: its size of blocks, and the digits of π before a block, or of √π at the end.
pub(super) fn is_start(head: &[u8]) -> bool {
    let block = head.strip_prefix(b"BZh").and_then(|rest| {
        let rest = rest.strip_prefix(b"0").is_none().then_some(rest)?;
        rest.first()?.is_ascii_digit().then(|| &rest[1..])
    });
    block.is_some_and(|block| {
        block.starts_with(b"1AY&SY") || block.starts_with(b"\x17\x72\x45\x38\x50\x90")
    })
}

/// A decoder of a stream.
///
/// # Memory
/// 3.7 MB.
pub(super) struct Bzip2 {
    stream: Decompress,
    is_at_end: bool,
}

impl Bzip2 {
    pub(super) fn new() -> Self {
        Self {
            stream: Decompress::new(false),
            is_at_end: false,
        }
    }
}

impl Decode for Bzip2 {
    fn begin(&mut self, _: &mut Input) -> Result<()> {
        *self = Self::new();
        Ok(())
    }

    fn read(&mut self, input: &mut Input, into: &mut [u8]) -> Result<usize> {
        decode_some(input, &mut self.is_at_end, |ahead| {
            let before = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress(ahead, into);
            let passed = usize::try_from(self.stream.total_in() - before.0);
            let decoded = usize::try_from(self.stream.total_out() - before.1);
            let (Ok(passed), Ok(decoded)) = (passed, decoded) else {
                return Err(Stop::Broken("broken data"));
            };
            let is_at_end = match status {
                Ok(Status::StreamEnd) => true,
                Ok(Status::MemNeeded) => return Err(Stop::Broken("not enough memory")),
                Ok(_) => false,
                Err(_) => return Err(Stop::Broken("broken data, or a wrong CRC of the text")),
            };
            Ok(Decoded {
                passed,
                decoded,
                is_at_end,
            })
        })
    }
}
