//! A decoder of one format, and what decoders have in common.

use tracelake_core::error::{Error, ErrorKind};
use tracelake_core::words::group_digits;

use crate::inflate::Stop;
use crate::input::Input;

pub(super) type Result<T> = std::result::Result<T, Stop>;

/// A decoder of one format.
pub(crate) trait Decode: Send {
    /// Begins the next member at its first byte.
    fn begin(&mut self, input: &mut Input) -> Result<()>;

    /// Decodes some text of a member into a buffer that isn't empty; returns 0 at its end, where its checks hold.
    fn read(&mut self, input: &mut Input, into: &mut [u8]) -> Result<usize>;
}

/// How many bytes one step of a decoder took, and how many it made.
pub(super) struct Decoded {
    pub(super) passed: usize,
    pub(super) decoded: usize,
    pub(super) is_at_end: bool,
}

/// Decodes until there is some text, or the member is at its end; returns how much text there is.
pub(super) fn decode_some(
    input: &mut Input,
    is_at_end: &mut bool,
    mut step: impl FnMut(&[u8]) -> Result<Decoded>,
) -> Result<usize> {
    while !*is_at_end {
        // At the end of the file, what was decoded may still be in the decoder.
        let is_over = input.is_at_end()?;
        let done = step(input.ahead())?;
        input.pass(done.passed);
        *is_at_end = done.is_at_end;
        if done.decoded > 0 {
            return Ok(done.decoded);
        }
        if is_over && !*is_at_end {
            return Err(Stop::Truncated);
        }
    }
    Ok(0)
}

/// Reads `N` bytes of a member.
pub(super) fn bytes<const N: usize>(input: &mut Input) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    for byte in &mut bytes {
        *byte = input.byte()?.ok_or(Stop::Truncated)?;
    }
    Ok(bytes)
}

/// Refuses a window that is larger than what there is for it.
pub(super) fn check_window(what: &str, bytes: u64, most: u64) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    let (bytes, most) = (group_digits(bytes), group_digits(most));
    let reason = format!("needs {what} of {bytes} bytes, and a part has {most} for it");
    Err(Error::new(ErrorKind::Corrupt, reason)
        .hint("pass a larger --memory, with a smaller --threads")
        .into())
}
