//! Files of a lake that are copied, and its rejected rows.

use std::io::{Read, Write};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::{FileFacts, PartFacts};
use tracelake_lake::{MadePart, PartName, Staged, Working};
use tracelake_location::{Location, from_read};

use crate::lake_files::LakeFiles;

/// The bytes that are copied at a time.
const COPIED: usize = 1 << 18;

/// Copies a part byte for byte, with its rejects file.
pub(super) fn copy_part(
    files: &LakeFiles<'_>,
    working: &Working,
    name: PartName,
    part: &PartFacts,
    source: &FileFacts,
) -> Result<MadePart> {
    let copied = part.files().map(|facts| {
        let path = files.check(facts)?;
        let mut staging = working.stage(&facts.path)?;
        copy(files, &path, |bytes| staging.write_all(bytes))?;
        let staged = staging.close()?;
        if staged.facts() != facts {
            let reason = "has changed while it was copied";
            return Err(Error::new(ErrorKind::Refused, reason).at(&path));
        }
        Ok(staged)
    });
    let mut copied: Vec<Staged> = copied.collect::<Result<_>>()?;
    // The output is shown last.
    copied.reverse();
    let mut facts = part.clone();
    facts.source = source.clone();
    Ok(MadePart {
        name,
        facts,
        tag: None,
        is_cut: false,
        files: copied,
    })
}

/// Collects the rejected rows of some parts in one file, each with the source of its part; `None` if there are none.
pub(super) fn copy_rejects(
    files: &LakeFiles<'_>,
    working: &Working,
    parts: &[PartFacts],
    target: &str,
) -> Result<Option<Staged>> {
    let mut staging = None;
    for part in parts {
        let Some(rejects) = &part.rejects else {
            continue;
        };
        let path = files.check(rejects)?;
        let out = match &mut staging {
            Some(out) => out,
            None => staging.insert(working.stage(target)?),
        };
        let name = serde_json::Value::from(part.source.path.as_str());
        let start = format!("{{\"source\":{name},");
        let mut is_start = true;
        copy(files, &path, |bytes| {
            for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                let line = match line.strip_prefix(b"{").filter(|_| is_start) {
                    Some(rest) => {
                        out.write_all(start.as_bytes())?;
                        rest
                    }
                    None => line,
                };
                out.write_all(line)?;
                is_start = line.ends_with(b"\n");
            }
            Ok(())
        })?;
    }
    staging.map(|staging| staging.close()).transpose()
}

/// Reads a file, and writes its bytes.
fn copy(
    files: &LakeFiles<'_>,
    path: &Location,
    mut write: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> Result<()> {
    let mut file = path.open()?;
    let mut buffer = vec![0; COPIED];
    loop {
        files.context.check()?;
        let read = file.read(&mut buffer);
        match read.map_err(|error| from_read(error).at(path))? {
            0 => return Ok(()),
            read => write(&buffer[..read]).map_err(|error| Error::disk("write", error))?,
        }
    }
}
