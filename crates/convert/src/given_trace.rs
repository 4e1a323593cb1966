//! The trace that an argument names: a built-in one, or the path of a description.

use std::fs::File;
use std::io::{ErrorKind as Io, Read};
use std::sync::Arc;

use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::options::find_trace;
use tracelake_location::Location;
use tracelake_schema::description::MAX_BYTES;
use tracelake_schema::{Trace, read_new};

/// The end of the name of a description.
const ENDING: &str = ".toml";

/// Finds the trace that an argument names. It is the path or URL of a description if it ends in `.toml` or contains a
/// slash, and otherwise the name of a built-in trace. A description of several versions needs the name of one after it:
/// `mine.toml#mine-2`.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is no such trace or file, or the file is no description: then with its path and line,
/// and what is expected there.
///
/// # Example
///
/// ```
/// use tracelake_convert::given_trace::given_trace;
///
/// let error = given_trace("no-such-file.toml").unwrap_err();
/// assert_eq!(error.kind(), tracelake_core::ErrorKind::Usage);
/// ```
pub fn given_trace(argument: &str) -> Result<Arc<Trace>> {
    let (file, version) = match argument.rsplit_once('#') {
        Some((file, version)) if file.ends_with(ENDING) => (file, Some(version)),
        _ => (argument, None),
    };
    if !file.ends_with(ENDING) && !file.contains('/') {
        return find_trace(argument).cloned();
    }
    let place = Location::parse(file.as_ref())?;
    let text = text_of(&place)?;
    let traces = read_new(&text).map_err(|error| {
        let line = error.line().and_then(|line| u64::try_from(line).ok());
        let mistake = Error::new(ErrorKind::Usage, error.message().to_owned()).at(&place);
        match line {
            Some(line) => mistake.line(line, None),
            None => mistake,
        }
    })?;
    let names = || {
        let names: Vec<&str> = traces.iter().map(|trace| &*trace.name).collect();
        names.join(", ")
    };
    match (version, &traces[..]) {
        (None, [only]) => Ok(Arc::clone(only)),
        (None, [first, ..]) => {
            let reason = format!("describes several traces: {}", names());
            Err(Error::new(ErrorKind::Usage, reason)
                .at(&place)
                .hint(format!("name one of them: {place}#{}", first.name)))
        }
        (version, traces) => {
            let name = version.unwrap_or_default();
            let found = traces.iter().find(|trace| trace.name == name);
            found.cloned().ok_or_else(|| {
                let reason = format!("describes no trace '{}'", escape(name.as_bytes(), 80));
                Error::new(ErrorKind::Usage, reason)
                    .at(&place)
                    .hint(format!("it has {}", names()))
            })
        }
    }
}

/// The text of a description.
fn text_of(place: &Location) -> Result<String> {
    let usage = |reason: String, hint: &'static str| {
        Error::new(ErrorKind::Usage, reason).at(place).hint(hint)
    };
    let limit = MAX_BYTES as u64;
    let read = match place {
        Location::Url(url) => url.read_tagged(limit)?.map(|(bytes, _)| bytes),
        Location::Disk(path) => match File::open(path) {
            Err(error) if error.kind() == Io::NotFound => None,
            Err(error) => return Err(Error::io("open", path, error)),
            Ok(file) => {
                let mut bytes = Vec::new();
                let read = file.take(limit + 1).read_to_end(&mut bytes);
                read.map_err(|error| Error::io("read", path, error))?;
                Some(bytes)
            }
        },
    };
    let bytes = read.ok_or_else(|| {
        usage(
            "there is no such description of a trace".to_owned(),
            "name a TOML file; tracelake schema lists the built-in traces",
        )
    })?;
    if bytes.len() > MAX_BYTES {
        let reason = format!("larger than a description can be, {MAX_BYTES} bytes");
        return Err(usage(reason, "name a description of a trace"));
    }
    String::from_utf8(bytes)
        .map_err(|_| usage("not UTF-8".to_owned(), "name a description of a trace"))
}
