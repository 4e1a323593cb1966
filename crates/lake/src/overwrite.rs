//! `--overwrite`: the new lake is made beside the old one, and the two directories are exchanged at the end.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind as Io, Write};
use std::path::{Path, PathBuf, is_separator};

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Location, disk};
use tracelake_schema::Trace;

use crate::backend::system::{Os, System};
use crate::backend::{Hold, backend};
use crate::identity;
use crate::look::{Lake, foreign};
use crate::manifest;
use crate::outputs::{is_delta_log, is_output, table_names};
use crate::release::publisher_file;
use crate::session::Session;
use crate::{HOME, MANIFEST, PUBLISHER, RELEASE, REPLACES, SUMS, TEMPLATE};

/// A lake in a directory that is to be replaced.
#[derive(Debug)]
pub struct Overwrite {
    out: PathBuf,
    /// The directory of the new lake, beside it.
    new: PathBuf,
    /// Whether two directories can exchange their names in one step.
    in_one_step: bool,
    /// Keeps other runs from the old lake.
    session: Session,
}

impl Overwrite {
    /// Prepares to replace the lake in `out`; `None` if nothing is there, so that nothing is replaced. Nothing in `out`
    /// changes.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if it isn't a directory that can be replaced, holds something else than a lake, or another
    /// process works on it; when the disk fails.
    pub fn begin(context: &Context, out: &Location, trace: &Trace) -> Result<Option<Self>> {
        let Some(out) = check(out, trace)? else {
            return Ok(None);
        };
        let lake = Lake::at(&Location::from(&out));
        let session = Session::begin(&lake, Hold::Alone)?;
        let in_one_step = try_exchange(&out)?;
        if !in_one_step {
            context.warn("this system can't exchange two directories in one step, so they are renamed one after the other");
        }
        let (old, new) = (beside(&out, "old"), beside(&out, "new"));
        for replaced in [&old, &new] {
            if replaced.exists() && is_replaced_by(replaced, &out)? {
                remove(replaced)?;
            }
        }
        if publisher_file(&Location::from(&out))? != TEMPLATE.as_bytes() {
            context.warn(format!(
                "{PUBLISHER} stays as it was filled in for the old lake: check that it is true of the new one"
            ));
        }
        let mark = mark_of(&out)?;
        let is_marked = read_mark(&new)?.as_ref() == Some(&mark);
        let in_the_way = match () {
            () if old.exists() => Some(old),
            () if new.exists() && !is_marked && !is_begun(&new)? => Some(new.clone()),
            () => None,
        };
        if let Some(path) = in_the_way {
            return Err(
                Error::new(ErrorKind::Refused, "is in the way of the new lake")
                    .at(&path)
                    .hint("it belongs to another run, or is something else: move it away"),
            );
        }
        if !is_marked {
            write_mark(&new, &mark)?;
        }
        Ok(Some(Self {
            out,
            new,
            in_one_step,
            session,
        }))
    }

    /// The place of the new lake.
    #[must_use]
    pub fn place(&self) -> Location {
        Location::from(&self.new)
    }

    /// Puts the finished new lake in the place of the old one, which is removed.
    ///
    /// # Errors
    /// When the disk fails: then either of the two is in `out`, and the same command goes on.
    pub fn finish(self) -> Result<()> {
        let Self {
            out,
            new,
            in_one_step,
            session,
        } = self;
        keep_publisher_file(&out, &new)?;
        sync_above(&new)?;
        let failed = |error| Error::io("exchange the directory with the new lake", &out, error);
        if in_one_step {
            Os.exchange(&new, &out).map_err(failed)?;
            sync_above(&out)?;
            // The locks of the old lake go with it.
            drop(session);
            remove(&new)?;
        } else {
            drop(session);
            let old = beside(&out, "old");
            fs::rename(&out, &old).map_err(failed)?;
            fs::rename(&new, &out).map_err(failed)?;
            sync_above(&out)?;
            remove(&old)?;
        }
        let mark = out.join(REPLACES);
        fs::remove_file(&mark).map_err(|error| Error::io("remove", &mark, error))
    }
}

/// Copies what the publisher of the old lake has filled in, which no run makes again.
fn keep_publisher_file(out: &Path, new: &Path) -> Result<()> {
    let bytes = publisher_file(&Location::from(out))?;
    if bytes != TEMPLATE.as_bytes() {
        let put =
            backend(&Location::from(new)).put_if_absent(vec![(PUBLISHER.to_owned(), bytes)])?;
        put.into_iter().try_for_each(|is_put| is_put.map(drop))?;
    }
    Ok(())
}

/// Checks that a directory may be replaced, as `--dry-run` does too; `None` if nothing is there.
///
/// # Errors
/// [`ErrorKind::Refused`] if it may not; when the disk fails.
pub fn check(out: &Location, trace: &Trace) -> Result<Option<PathBuf>> {
    let Location::Disk(path) = out else {
        return Err(Error::new(
            ErrorKind::Refused,
            "nothing is ever overwritten in a bucket",
        )
        .at(out)
        .hint("name a new prefix"));
    };
    if !has_name(path) {
        let reason =
            "--overwrite puts a new directory in place of the old one, so OUT must be its name";
        return Err(Error::new(ErrorKind::Refused, reason)
            .at(out)
            .hint("name it from above, such as ../lake"));
    }
    finish_rename(path)?;
    let refuse = |reason: &str, hint: &str| {
        Err(Error::new(ErrorKind::Refused, reason.to_owned())
            .at(path)
            .hint(hint.to_owned()))
    };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == Io::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("look at", path, error)),
        Ok(found) if found.is_symlink() => {
            return refuse(
                "a symbolic link, which --overwrite can't replace",
                "name what it points to",
            );
        }
        Ok(found) if !found.is_dir() => {
            return refuse("not a directory", "name a directory for the lake");
        }
        Ok(_) => {}
    }
    if is_mount_point(path) {
        return refuse(
            "a mount point, which --overwrite can't replace",
            "name a directory in it",
        );
    }
    let lake = Lake::at(out);
    // The old lake may be of another trace.
    let old = identity::find(&*lake.backend).ok().flatten();
    let old = old.and_then(|found| found.identity.trace().ok());
    let mut tables = table_names(Some(trace));
    tables.extend(table_names(old.as_deref()));
    let mut known: Vec<OsString> = tables.into_iter().map(OsString::from).collect();
    known.extend([HOME, SUMS].into_iter().chain(RELEASE).map(OsString::from));
    let names = names(path)?;
    if names.is_empty() {
        return Ok(None);
    }
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        let name = name.to_string_lossy();
        return refuse(
            &format!("the directory holds something else than a lake: {name}"),
            "move it away, or name another directory",
        );
    }
    if let Some(link) = names
        .iter()
        .map(|name| path.join(name))
        .find(|name| name.is_symlink())
    {
        let reason = "a symbolic link, which could lead out of the lake";
        return Err(Error::new(ErrorKind::Refused, reason)
            .at(link)
            .hint("replace it by what it points to"));
    }
    if !path.join(HOME).is_dir() {
        return refuse(
            "the directory holds something else",
            "name an empty or new directory for the lake",
        );
    }
    let mut others = Vec::new();
    for file in lake.backend.list("")? {
        let name = file
            .path
            .strip_prefix(HOME)
            .and_then(|rest| rest.strip_prefix('/'));
        let is_known = match name {
            Some(name) => NAMES.contains(&name.split('/').next().unwrap_or_default()),
            None => {
                let is_of = |trace| is_output(trace, &file.path);
                !file.path.contains('/')
                    || is_delta_log(&file.path)
                    || is_of(Some(trace))
                    || is_of(old.as_deref())
            }
        };
        if !is_known {
            others.push(file.path);
        }
    }
    others.sort_unstable();
    match others.is_empty() {
        true => Ok(Some(path.clone())),
        false => Err(foreign(out, &others)
            .hint("--overwrite would remove it: move it away, or name another directory")),
    }
}

/// Names that a lake has in [`HOME`]; the last line is of builds before 0.1.0.
const NAMES: &[&str] = &[
    "lake.json",
    "manifest.json",
    "facts",
    "plans",
    "rejects",
    "trace.toml",
    "release.toml",
    "staging",
    "lock",
    "work",
    "replaces",
    "SHA256SUMS",
    "plan.json",
    "journal.ndjson",
    "journals",
    "asked.json",
    "strays.txt",
];

/// Ends what a killed run began: where the old lake has lost its name and the new one hasn't it yet, renames it.
///
/// # Errors
/// When the disk fails.
pub fn finish_rename(out: &Path) -> Result<()> {
    let (new, old) = (beside(out, "new"), beside(out, "old"));
    if !has_name(out) || out.symlink_metadata().is_ok() || !new.is_dir() || !old.is_dir() {
        return Ok(());
    }
    fs::rename(&new, out).map_err(|error| Error::io("rename to", out, error))?;
    sync_above(out)?;
    remove(&old)
}

/// A directory beside OUT.
fn beside(out: &Path, what: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(out.file_name().unwrap_or_default());
    name.push(format!(".tracelake-{what}"));
    out.with_file_name(name)
}

fn names(path: &Path) -> Result<Vec<OsString>> {
    disk::names(path).map_err(|error| Error::io("list", path, error))
}

/// The mark of a lake that replaces the one in `out`.
fn mark_of(out: &Path) -> Result<String> {
    let path = Location::from(out).join(MANIFEST);
    match path.is_there()? {
        true => Ok(Digest::of(&path.read_small(manifest::MOST_BYTES)?).to_string()),
        false => Ok("none".to_owned()),
    }
}

fn read_mark(lake: &Path) -> Result<Option<String>> {
    let path = lake.join(REPLACES);
    match fs::read_to_string(&path) {
        Ok(mark) => Ok(Some(mark)),
        Err(error) if error.kind() == Io::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", &path, error)),
    }
}

/// Makes the directory of a new lake, with its mark, which is on the disk before anything else.
fn write_mark(new: &Path, mark: &str) -> Result<()> {
    let home = new.join(HOME);
    fs::create_dir_all(&home).map_err(|error| Error::io("make the directory", &home, error))?;
    let path = new.join(REPLACES);
    let failed = |error| Error::io("write", &path, error);
    let mut file = fs::File::create(&path).map_err(failed)?;
    file.write_all(mark.as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    for name in [&path, &home, new] {
        sync_above(name)?;
    }
    Ok(())
}

/// Whether a new lake was killed before its mark was written.
fn is_begun(new: &Path) -> Result<bool> {
    let files = Lake::at(&Location::from(new)).backend.list("")?;
    Ok(files.iter().all(|file| file.path == REPLACES))
}

/// Whether a path ends in the name of a directory, as neither `.` nor `lake/..` does.
fn has_name(path: &Path) -> bool {
    let written = path.as_os_str().as_encoded_bytes();
    let mut names = written.rsplit(|byte| is_separator(char::from(*byte)));
    let last = names.find(|name| !name.is_empty());
    path.file_name().map(OsStr::as_encoded_bytes) == last
}

/// Whether the lake beside OUT is the old one, which the one in OUT has replaced.
fn is_replaced_by(old: &Path, out: &Path) -> Result<bool> {
    Ok(read_mark(out)? == Some(mark_of(old)?))
}

fn remove(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).map_err(|error| Error::io("remove", path, error))
}

fn sync_above(path: &Path) -> Result<()> {
    let above = match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    Os.sync_directory(above)
        .map_err(|error| Error::io("fsync", above, error))
}

/// Whether two directories with a locked file in each can exchange their names. They are made beside OUT, and removed.
fn try_exchange(out: &Path) -> Result<bool> {
    let pair = [beside(out, "try-1"), beside(out, "try-2")];
    let tried = try_exchange_of(&pair);
    for path in &pair {
        if path.is_dir() {
            remove(path)?;
        }
    }
    match tried {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == Io::Unsupported => Ok(false),
        Err(error) => Err(Error::new(
            ErrorKind::Refused,
            format!("its directory can't be exchanged with that of a new lake: {error}"),
        )
        .at(out)
        .hint("name another directory")),
    }
}

fn try_exchange_of(pair: &[PathBuf; 2]) -> std::io::Result<()> {
    let mut locks = Vec::new();
    for path in pair {
        match fs::create_dir(path) {
            Err(error) if error.kind() != Io::AlreadyExists => return Err(error),
            _ => {}
        }
        locks.push(Os.try_lock(&path.join("lock"), true)?);
    }
    Os.exchange(&pair[0], &pair[1])
}

#[cfg(unix)]
fn is_mount_point(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    let above = match path.parent() {
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => return true,
    };
    device(path) != device(above)
}

#[cfg(not(unix))]
fn is_mount_point(path: &Path) -> bool {
    path.parent().is_none()
}
