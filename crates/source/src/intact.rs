//! Whether a file is intact, as far as its form has checks: it is decompressed to its end, and the text is dropped.

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;

use super::bytes::{Bytes, fill};
use super::container::HEAD;
use super::decode::Format;
use super::magic::Magic;
use super::packed::Packed;
use super::raw::{READ, Raw, at};

/// Decompresses a file to its end. Returns the name of its format, such as gzip, whose checks hold then; `None` for a
/// file that isn't compressed, which has none.
///
/// ```
/// use tracelake_core::Context;
/// use tracelake_location::Location;
/// use tracelake_source::decompress;
///
/// # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample/job_events/part-00000-of-00002.csv.gz");
/// let file: Location = file.parse()?;
/// assert_eq!(decompress(&Context::new(), &file)?, Some("gzip"));
/// # Ok::<(), tracelake_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Corrupt`] if a check fails, and for what servers send in place of a file: a web page, or a Git LFS
/// pointer; if the file can't be read.
pub fn decompress(context: &Context, location: &Location) -> Result<Option<&'static str>> {
    let mut raw = Raw::open(context, location)?;
    let mut head = vec![0; HEAD];
    let length = fill(&mut raw, &mut head).map_err(|error| at(error, location))?;
    head.truncate(length);
    if let Some(other) = Magic::of(&head).filter(|magic| magic.is_in_place_of_a_file()) {
        let reason = format!("is {}", other.is);
        return Err(Error::new(ErrorKind::Corrupt, reason)
            .at(location)
            .hint(other.remedy));
    }
    let Some(format) = Format::of(&head) else {
        return Ok(None);
    };
    let mut text = Packed::new(format, &head, Box::new(raw), context.window());
    let mut buffer = vec![0; READ];
    while text
        .read(&mut buffer)
        .map_err(|error| at(error, location))?
        > 0
    {}
    Ok(Some(format.name))
}
