//! Lists the descriptions in `schemas/` with the names in them, so that adding a file there is all that it takes to add a
//! trace, and only the descriptions that are needed are parsed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=schemas");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("schemas");
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    let mut list = format!("static EMBEDDED: [Embedded; {}] = [\n", paths.len());
    for path in &paths {
        let family = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(path)?;
        let names = names(&text);
        list += &format!("Embedded::new({family:?}, {names}, include_str!({path:?})),\n");
    }
    list += "];\n";
    fs::write(Path::new(&env::var("OUT_DIR")?).join("embedded.rs"), list)?;
    Ok(())
}

/// The names in a description, as the crate's `Names`. A test compares them with what the parser finds.
fn names(text: &str) -> String {
    let (mut traces, mut tables, mut cells, mut urls) = (vec![], vec![], vec![], vec![]);
    let (mut files, mut directories) = (vec![], vec![]);
    let (mut published, mut simulated) = (0, 0);
    let mut section = "";
    let mut begins_with_capture = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
            begins_with_capture &= section != "table";
        }
        let Some((key, value)) = line.split_once(" = ") else {
            continue;
        };
        let mut value = value.to_owned();
        while value.starts_with('[') && !value.contains(']') {
            let Some(line) = lines.next() else { break };
            value += line;
        }
        match (section, key) {
            ("table", "name") => published += 1,
            ("table", "synthetic") => simulated += 1,
            _ => {}
        }
        let strings = value.split('"').skip(1).step_by(2).map(str::to_owned);
        match (section, key) {
            ("trace", "name") => traces.extend(strings),
            ("table" | "derived.table", "name") => tables.extend(strings),
            ("trace.cells", "names") => cells.extend(strings),
            ("trace.cells", "directory")
            | ("trace.archive" | "table", "names")
            | ("table", "also") => {
                for name in strings {
                    let (names, end) = match name.contains('/') {
                        true => (&mut directories, ['{', '/']),
                        false => (&mut files, ['{', '.']),
                    };
                    let start = name.split(end).next().unwrap_or_default();
                    begins_with_capture |= start.is_empty();
                    names.extend((!start.is_empty()).then(|| start.to_owned()));
                }
            }
            // The values that a name begins with. A test says if one is a range.
            ("table", "captures") if begins_with_capture => directories.extend(strings),
            ("trace.location", "url") => urls.extend(strings),
            _ => {}
        }
    }
    for names in [&mut files, &mut directories] {
        names.sort();
        names.dedup();
    }
    let is_simulated = published == simulated;
    format!(
        "Names {{ traces: &{traces:?}, tables: &{tables:?}, cells: &{cells:?}, files: &{files:?}, \
         directories: &{directories:?}, urls: &{urls:?}, is_simulated: {is_simulated} }}"
    )
}
