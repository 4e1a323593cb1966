//! Lists the descriptions in `schemas/` with the names of their traces, so that adding a file there is all that it
//! takes to add a trace, and listing the names parses nothing.

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
        let names: Vec<&str> = trace_names(&text).collect();
        list += &format!("Embedded::new({family:?}, &{names:?}, include_str!({path:?})),\n");
    }
    list += "];\n";
    fs::write(Path::new(&env::var("OUT_DIR")?).join("embedded.rs"), list)?;
    Ok(())
}

/// The names of the traces in a description, in its order. A test compares them with what the parser finds.
fn trace_names(text: &str) -> impl Iterator<Item = &str> {
    let traces = text.split("\n[[trace]]\n").skip(1);
    traces.filter_map(|trace| {
        let mut lines = trace.lines();
        lines.find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
    })
}
