//! `cargo xtask docs`: the pages as a site, with every link checked. What they show is made here, and checked by the tests
//! of the Python package, `test_pages.py`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::python;
use crate::workspace::{copy, empty, environment, run, target};

const REQUIREMENTS: &str = "xtask/docs/requirements.txt";
const CONFIG: &str = "xtask/docs/zensical.toml";

/// The folder with most pages, which is copied whole.
const FOLDER: &str = "docs";

/// The other pages, and what they link to.
const OTHERS: [&str; 10] = [
    "README.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "fuzz/README.md",
    "llms.txt",
    "packaging/Containerfile",
];

/// The programs that write what pages show: what commands print, the tour with its plots and notebooks, and the pictures.
const MAKERS: [&str; 3] = ["pages.py", "tour.py", "pictures.py"];

/// Makes every picture, runs every command whose output a page shows, and writes both into the pages.
pub(crate) fn write_outputs(root: &Path) -> Result<()> {
    let python = python::installed(root)?.python;
    for maker in MAKERS {
        let mut command = Command::new(&python);
        command.arg(root.join(python::CRATE).join(maker));
        run(command.arg("--write").current_dir(root))?;
    }
    Ok(())
}

/// Builds the site in the build directory, checks that no link is broken, and returns its folder.
///
/// Links between pages and to their headings are checked in the pages and in the site. Links to other sites
/// aren't: they would need a network.
pub(crate) fn site(root: &Path) -> Result<PathBuf> {
    let python = environment(root, "docs-tools", &[REQUIREMENTS])?;
    let bin = python.parent().context("an interpreter in a folder")?;
    let folder = target(root).join("docs");
    empty(&folder)?;
    let source = folder.join("source");
    copy(&root.join(FOLDER), &source.join(FOLDER))?;
    for page in OTHERS {
        copy(&root.join(page), &source.join(page))?;
    }
    copy(&root.join(CONFIG), &folder.join("zensical.toml"))?;
    run(Command::new(bin.join("zensical"))
        .args(["build", "--strict"])
        .env("NO_COLOR", "1")
        .current_dir(&folder))?;
    let lychee = || {
        let mut lychee = Command::new(bin.join("lychee"));
        lychee.args(["--offline", "--include-fragments", "--no-progress"]);
        lychee.current_dir(&folder);
        lychee
    };
    run(lychee().arg("source/**/*.md"))?;
    // The page for what isn't found has links from the root of a server.
    run(lychee()
        .args(["--exclude-path", "404.html"])
        .arg("site/**/*.html"))?;
    Ok(folder.join("site"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{read, root, tree};

    /// The sources of a folder of tests, or of the file of its name.
    fn sources(tests: &Path, name: &str) -> String {
        let file = format!("{name}.rs");
        if tests.join(&file).exists() {
            return read(tests, &file).unwrap();
        }
        let mut files = tree(&tests.join(name));
        files.retain(|name, _| name.ends_with(".rs"));
        String::from_utf8(files.into_values().flatten().collect()).unwrap()
    }

    /// The names of scores in a source, where they are literals.
    fn scores(source: &str) -> Vec<&str> {
        let calls = ["Score::new(", "Score::one_in("].map(|call| source.split(call).skip(1));
        let arguments = calls.into_iter().flatten();
        let literals = arguments.filter_map(|rest| rest.split(')').next()?.split('"').nth(1));
        literals.collect()
    }

    /// The page on reliability names what each folder of tests counts, and nothing else.
    #[test]
    fn the_scores_of_tests_are_in_the_page() {
        let root = root().unwrap();
        let page = read(&root, "docs/internals/reliability.md").unwrap();
        let mut commands = page.split("\n`cargo test -p tracelake --test e2e ");
        commands.next();
        let mut folders = 0;
        for section in commands {
            let (folder, rest) = section.split_once("::`").unwrap();
            let block = rest.split_once("```text\n").unwrap().1;
            let listed: Vec<&str> = block.split_once("```").unwrap().0.lines().collect();
            let source = sources(&root.join("tests"), folder);
            let mut missing = scores(&source);
            missing.retain(|name| !listed.contains(name));
            assert!(
                missing.is_empty(),
                "the page lacks of {folder}: {missing:?}"
            );
            let mut gone = listed;
            gone.retain(|name| !source.contains(&format!("\"{name}\"")));
            assert!(
                gone.is_empty(),
                "the page has, but {folder} doesn't: {gone:?}"
            );
            folders += 1;
        }
        assert!(folders > 5, "the commands were not found");
    }

    #[test]
    fn the_site_lists_every_page() {
        let root = root().unwrap();
        let config = read(&root, CONFIG).unwrap();
        let below = tree(&root.join(FOLDER)).into_keys();
        let mut found: Vec<String> = OTHERS.map(str::to_owned).to_vec();
        found.extend(below.map(|page| format!("{FOLDER}/{page}")));
        found.retain(|page| page.ends_with(".md"));
        assert!(found.len() > 20, "the pages were not found");
        found.retain(|page| !config.contains(&format!("\"{page}\"")));
        assert!(
            found.is_empty(),
            "add to the nav of {CONFIG}: {}",
            found.join(", ")
        );
    }
}
