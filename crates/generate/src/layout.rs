//! Everything besides the tables: the directory, `schema.csv`, `SHA256SUM` and `README`.

use std::fs;
use std::io;
use std::path::Path;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_schema::{SYNTHETIC, Table, Trace};

use crate::file::{FileFact, part_name, write_whole};
use crate::options::Options;

/// The file that marks a directory as unfinished; its text is what the run was asked for.
const UNFINISHED: &str = "UNFINISHED";

/// Makes the directory, or accepts one that is empty or that the same run left unfinished, and marks it
/// as unfinished. Returns whether there was an unfinished one.
pub(crate) fn prepare(trace: &Trace, out: &Path, options: &Options) -> Result<bool> {
    let mark = out.join(UNFINISHED);
    let asked = format!("tracelake {}\n", options.command(trace));
    let unfinished = fs::read_to_string(&mark).ok();
    match fs::read_dir(out) {
        Ok(mut entries) => match (entries.next(), &unfinished) {
            (None, _) => {}
            (Some(_), Some(text)) if *text == asked => refuse_links(out)?,
            (Some(_), Some(_)) => return Err(left_by_another(out)),
            (Some(_), None) => return Err(not_empty(out)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(out).map_err(|error| Error::io("create", out, error))?;
        }
        Err(error) => return Err(Error::io("read", out, error)),
    }
    fs::write(&mark, asked).map_err(|error| Error::io("write", &mark, error))?;
    // A directory that is left unfinished is synthetic too.
    write_whole(&out.join(SYNTHETIC), MARK.as_bytes())?;
    Ok(unfinished.is_some())
}

/// Refuses a symbolic link, in whose place files would be written somewhere else.
fn refuse_links(directory: &Path) -> Result<()> {
    let failed = |error| Error::io("read", directory, error);
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_symlink() {
            return Err(Error::new(ErrorKind::Refused, "a symbolic link")
                .at(entry.path())
                .hint("remove it, or generate into a new directory"));
        }
        if kind.is_dir() {
            refuse_links(&entry.path())?;
        }
    }
    Ok(())
}

fn not_empty(out: &Path) -> Error {
    Error::new(ErrorKind::Refused, "not empty")
        .at(out)
        .hint("generate into a new directory")
}

fn left_by_another(out: &Path) -> Error {
    Error::new(ErrorKind::Refused, "a run with other options stopped here")
        .at(out)
        .hint("repeat its options, or remove the directory")
}

/// Takes the mark of an unfinished directory away.
pub(crate) fn finish(out: &Path) -> Result<()> {
    let mark = out.join(UNFINISHED);
    fs::remove_file(&mark).map_err(|error| Error::io("remove", &mark, error))
}

/// The text of the mark, for people who open it.
const MARK: &str = "The files in this directory are synthetic: tracelake generate made them.\n\
                    tracelake convert reads this file and says so in the lake.\n";

/// Writes the files that describe the tables.
pub(crate) fn describe(
    trace: &Trace,
    out: &Path,
    options: &Options,
    facts: &[FileFact],
) -> Result<()> {
    write_whole(&out.join("README"), readme(trace, options).as_bytes())?;
    let mut sums: Vec<(&str, &str)> = facts
        .iter()
        .map(|fact| (fact.path.as_str(), fact.sha256.as_str()))
        .collect();
    // Only the trace that is published in parts has such a file.
    let mut schema_sum = None;
    if trace.in_parts() {
        let path = out.join("schema.csv");
        schema_sum = Some(write_whole(&path, schema(trace).as_bytes())?);
    }
    sums.extend(schema_sum.as_deref().map(|sum| ("schema.csv", sum)));
    sums.sort_unstable();
    let lines: String = sums
        .iter()
        .map(|(path, sum)| format!("{sum}  {path}\n"))
        .collect();
    write_whole(&out.join("SHA256SUM"), lines.as_bytes())?;
    Ok(())
}

/// The fields of every table in the words of the publisher.
fn schema(trace: &Trace) -> String {
    let mut text = "file pattern,field number,content,format,mandatory\n".to_owned();
    for table in &trace.tables {
        let pattern = pattern(table);
        for (number, &index) in table.fields.iter().enumerate() {
            let column = &table.columns[index];
            let mandatory = if column.mandatory { "YES" } else { "NO" };
            let (number, content, format) = (number + 1, &*column.content, &*column.format);
            text.push_str(&format!(
                "{pattern},{number},{content},{format},{mandatory}\n"
            ));
        }
    }
    text
}

fn pattern(table: &Table) -> String {
    let name = if table.parts > 1 {
        "part-?????-of-?????.csv.gz".to_owned()
    } else {
        part_name(0, 1)
    };
    format!("{}/{name}", table.name)
}

fn readme(trace: &Trace, options: &Options) -> String {
    let (name, version) = (&trace.name, env!("CARGO_PKG_VERSION"));
    format!(
        "Synthetic data in the format of {name}.\n\
         \n\
         No row was published by anyone or measured on any machine: a simulation drew all of them.\n\
         Use it to try out programs, not to learn about clusters.\n\
         \n\
         tracelake {version} {}\n",
        options.command(trace)
    )
}

#[cfg(test)]
mod tests {
    use tracelake_core::options::SourceForm;

    use super::*;

    #[test]
    fn the_schema_has_a_line_for_each_field() {
        for trace in tracelake_schema::TRACES {
            let fields: usize = trace.tables.iter().map(|table| table.fields.len()).sum();
            assert_eq!(schema(trace).lines().count(), fields + 1);
        }
    }

    #[test]
    fn an_unfinished_directory_of_another_form_is_kept() {
        let (directory, trace) = (tempfile::tempdir().unwrap(), &tracelake_schema::TRACES[0]);
        let options = Options::default();
        prepare(trace, directory.path(), &options).unwrap();
        let form = SourceForm::Parquet;
        let error = prepare(trace, directory.path(), &Options { form, ..options });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Refused);
    }

    #[cfg(unix)]
    #[test]
    fn an_unfinished_directory_leads_nowhere() {
        let [directory, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (out, trace) = (directory.path().join("out"), &tracelake_schema::TRACES[0]);
        let options = Options::default();
        assert!(!prepare(trace, &out, &options).unwrap());
        assert!(prepare(trace, &out, &options).unwrap());
        let link = out.join(&*trace.tables[0].name);
        std::os::unix::fs::symlink(elsewhere.path(), link).unwrap();
        let error = prepare(trace, &out, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    }
}
