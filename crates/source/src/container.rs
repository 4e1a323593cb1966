//! Recognises what a file is by its first bytes: compressed or not, an archive or a text. A name counts only where the
//! bytes are of nothing that is known: then the file isn't what it says, and the decoder that it says knows why.

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;

use super::archive::{self, TarReader};
use super::bytes::{Bytes, Peeked, fill};
use super::decode::Format;
use super::packed::Packed;
use super::unzip::Unzip;
use super::{Member, Raw};

/// The extensions of archives.
pub const ARCHIVES: &[&str] = &[
    ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2", ".tar", ".zip",
];

/// Whether a name is that of an archive.
#[must_use]
pub fn is_archive_name(name: &str) -> bool {
    ARCHIVES.iter().any(|ending| name.ends_with(ending))
}

/// The extensions of tar archives.
const TAR_ARCHIVES: &[&str] = ARCHIVES.split_last().expect("zip is the last one").1;

/// The bytes that tell what a file is: the header of a tar archive is the longest.
pub(super) const HEAD: usize = 512;

/// The layers of a file, from its own bytes up to its text or its archive.
pub(super) struct Layers {
    /// `None` only while one is put on another.
    top: Option<Top>,
    is_recognised: bool,
}

enum Top {
    Layer(Box<dyn Bytes>),
    /// A compressed member of an archive, or a file while it is recognised.
    Packed(Box<Packed>),
}

const PUT_BACK: &str = "what is taken is put back at once";

impl Layers {
    pub(super) fn new(raw: Raw) -> Self {
        Self {
            top: Some(Top::Layer(Box::new(raw))),
            is_recognised: false,
        }
    }

    pub(super) fn top(&self) -> &dyn Bytes {
        match self.top.as_ref().expect(PUT_BACK) {
            Top::Layer(layer) => &**layer,
            Top::Packed(packed) => &**packed,
        }
    }

    pub(super) fn top_mut(&mut self) -> &mut dyn Bytes {
        match self.top.as_mut().expect(PUT_BACK) {
            Top::Layer(layer) => &mut **layer,
            Top::Packed(packed) => &mut **packed,
        }
    }

    fn put(&mut self, layer: impl FnOnce(Box<dyn Bytes>) -> Top) {
        self.top = self.top.take().map(|top| match top {
            Top::Layer(below) => layer(below),
            Top::Packed(below) => layer(below),
        });
    }

    /// Looks at the first bytes of a file with this name, once.
    pub(super) fn recognise(&mut self, name: &str) -> Result<()> {
        if self.is_recognised {
            return Ok(());
        }
        self.is_recognised = true;
        let name = &*name.to_ascii_lowercase();
        let head = self.head()?;
        let is_zip = head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06");
        let known = Format::of(&head);
        let is_known = is_zip || known.is_some() || archive::is_start(&head);
        if is_zip || !is_known && name.ends_with(".zip") {
            self.put(|raw| Top::Layer(Box::new(Unzip::new(&head, raw))));
            return Ok(());
        }
        let named = Format::of_name(name).filter(|_| !is_known);
        let text = match known.or(named) {
            None => head,
            Some(format) => {
                let most = self.most();
                self.put(|raw| Top::Packed(Box::new(Packed::new(format, &head, raw, most))));
                let text = self.head()?;
                if let Some(inner) = Format::of(&text) {
                    return Err(twice(format, inner));
                }
                text
            }
        };
        let is_tar =
            archive::is_start(&text) || TAR_ARCHIVES.iter().any(|ending| name.ends_with(ending));
        self.put(|below| {
            let peeked = Box::new(Peeked::new(text, below));
            match is_tar {
                true => Top::Layer(Box::new(TarReader::new(peeked))),
                false => Top::Layer(peeked),
            }
        });
        Ok(())
    }

    /// Looks at the first bytes of a member of an archive; returns whether it's compressed, and its text begins anew.
    pub(super) fn recognise_member(&mut self, head: &[u8], place: &Location) -> Result<bool> {
        let name = place.name().unwrap_or_default().to_ascii_lowercase();
        let is_packed = matches!(self.top, Some(Top::Packed(_)));
        let named = Format::of_name(&name).filter(|_| !is_packed);
        let Some(format) = Format::of(head).or(named) else {
            return Ok(false);
        };
        if let Some(Top::Packed(outer)) = &self.top {
            return Err(twice(outer.format(), format).at(place));
        }
        let most = self.most();
        self.put(|archive| {
            let packed = Packed::new(format, head, archive, most);
            Top::Packed(Box::new(packed.in_archive(place.clone())))
        });
        Ok(true)
    }

    /// Advances to the next member of an archive.
    pub(super) fn next_member(&mut self) -> Result<Option<Member>> {
        self.top = self.top.take().map(|top| match top {
            Top::Packed(member) => Top::Layer(member.into_archive()),
            Top::Layer(archive) => Top::Layer(archive),
        });
        self.top_mut().next_member()
    }

    fn head(&mut self) -> Result<Vec<u8>> {
        let mut head = vec![0; HEAD];
        let length = fill(self.top_mut(), &mut head)?;
        head.truncate(length);
        Ok(head)
    }

    /// The most bytes of a decoder's window.
    fn most(&self) -> u64 {
        self.top().raw().context().window()
    }
}

/// The error for a file whose text is compressed again.
fn twice(outer: &Format, inner: &Format) -> Error {
    let reason = match outer.name == inner.name {
        true => format!("compressed with {} twice", inner.name),
        false => format!(
            "compressed twice, with {} and then {}",
            inner.name, outer.name
        ),
    };
    Error::new(ErrorKind::Corrupt, reason).hint("decompress it once")
}
