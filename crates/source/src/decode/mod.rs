//! The formats that files are compressed with, each a decoder of one member: what `zstd` calls a frame, and `xz` and
//! `bzip2` a stream.

mod bzip2;
mod decoder;
mod gzip;
#[cfg(test)]
mod tests;
mod xz;
mod zstd;

pub(super) use decoder::Decode;

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
