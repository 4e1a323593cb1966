//! The formats that files are compressed with, each a decoder of one member: what `zstd` calls a frame, and `xz` and
//! `bzip2` a stream.

mod bzip2;
mod gzip;
#[cfg(test)]
mod tests;
mod xz;
mod zstd;

use tracelake_core::error::{Error, ErrorKind};
use tracelake_core::words::group_digits;

use super::inflate::Stop;
use super::input::Input;

type Result<T> = std::result::Result<T, Stop>;

/// A decoder of one format.
pub(super) trait Decode: Send {
    /// Begins the next member at its first byte.
    fn begin(&mut self, input: &mut Input) -> Result<()>;

    /// Decodes some text of a member into a buffer that isn't empty; returns 0 at its end, where its checks hold.
    fn read(&mut self, input: &mut Input, into: &mut [u8]) -> Result<usize>;
}

/// A format.
pub(super) struct Format {
    pub(super) name: &'static str,
    /// Its own word for a member.
    pub(super) member: &'static str,
    /// Endings of the names of its files.
    endings: &'static [&'static str],
    /// Whether bytes are the start of a file.
    pub(super) is_start: fn(&[u8]) -> bool,
    /// Whether a byte can be the first one of a member.
    pub(super) is_first: fn(u8) -> bool,
    pub(super) padding: Padding,
    /// A decoder whose window takes at most some bytes.
    pub(super) decoder: fn(u64) -> Box<dyn Decode>,
}

/// Which zeros may follow a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    None,
    /// Any number of them after the last one, which some programs append.
    Last,
    /// A multiple of four after each, as the format says.
    Fours,
}

static FORMATS: [Format; 4] = [
    Format {
        name: "gzip",
        member: "member",
        endings: &[".gz", ".tgz"],
        is_start: |head| head.starts_with(b"\x1f\x8b"),
        is_first: |byte| byte == 0x1f,
        padding: Padding::Last,
        decoder: |_| Box::new(gzip::Gzip::new()),
    },
    Format {
        name: "zstd",
        member: "frame",
        endings: &[".zst"],
        is_start: zstd::is_start,
        is_first: |byte| byte == 0x28 || zstd::SKIPPABLE.contains(&byte),
        padding: Padding::None,
        decoder: |most| Box::new(zstd::Zstd::new(most)),
    },
    Format {
        name: "xz",
        member: "stream",
        endings: &[".xz"],
        is_start: |head| head.starts_with(xz::MAGIC),
        is_first: |byte| byte == xz::MAGIC[0],
        padding: Padding::Fours,
        decoder: |most| Box::new(xz::Xz::new(most)),
    },
    Format {
        name: "bzip2",
        member: "stream",
        endings: &[".bz2"],
        is_start: bzip2::is_start,
        is_first: |byte| byte == b'B',
        padding: Padding::None,
        decoder: |_| Box::new(bzip2::Bzip2::new()),
    },
];

impl Format {
    /// The format of a file that starts with these bytes.
    pub(super) fn of(head: &[u8]) -> Option<&'static Self> {
        FORMATS.iter().find(|format| (format.is_start)(head))
    }

    /// The format that a name in small letters says.
    pub(super) fn of_name(name: &str) -> Option<&'static Self> {
        let says = |format: &&Self| format.endings.iter().any(|ending| name.ends_with(ending));
        FORMATS.iter().find(says)
    }
}

/// One step of a decoder: how many bytes it took, and how many it made.
struct Step {
    passed: usize,
    decoded: usize,
    is_at_end: bool,
}

/// Decodes until there is some text, or the member is at its end; returns how much text there is.
fn decode_some(
    input: &mut Input,
    is_at_end: &mut bool,
    mut step: impl FnMut(&[u8]) -> Result<Step>,
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
fn bytes<const N: usize>(input: &mut Input) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    for byte in &mut bytes {
        *byte = input.byte()?.ok_or(Stop::Truncated)?;
    }
    Ok(bytes)
}

/// Refuses a window that is larger than what there is for it.
fn check_window(what: &str, bytes: u64, most: u64) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    let (bytes, most) = (group_digits(bytes), group_digits(most));
    let reason = format!("needs {what} of {bytes} bytes, and a part has {most} for it");
    Err(Error::new(ErrorKind::Corrupt, reason)
        .hint("pass a larger --memory, with a smaller --threads")
        .into())
}
