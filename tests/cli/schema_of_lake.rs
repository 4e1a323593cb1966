//! `tracelake schema LAKE`: statements that name the files of its manifest.

use std::fs;

use tracelake_testkit::{Scratch, manifest, run, trace};

#[test]
fn the_files_of_the_manifest_are_named() {
    let scratch = Scratch::with_sample(2, 20);
    scratch.convert_well(&[]);
    let out = scratch.out();
    let lake = out.to_str().unwrap();
    let manifest = manifest(&out);
    for form in ["duckdb", "spark"] {
        let printed = run(["schema", lake, "--as", form]);
        assert_eq!(printed.code, 0, "{}", printed.stderr);
        let mut files = 0;
        for table in manifest["tables"].as_array().unwrap() {
            for part in table["parts"].as_array().unwrap() {
                let path = out.join(part["output"]["path"].as_str().unwrap());
                assert!(printed.stdout.contains(path.to_str().unwrap()), "{form}");
                files += 1;
            }
        }
        assert_eq!(printed.stdout.matches(".parquet").count(), files, "{form}");
        let name = &trace().tables[1].name;
        let one = run(["schema", lake, name, "--as", form]).stdout;
        assert!(
            one.contains(name) && !one.contains(&*trace().tables[0].name),
            "{one}"
        );
    }
    let text = run(["schema", lake]).stdout;
    assert_eq!(text, run(["schema", &trace().name]).stdout);
}

#[test]
fn a_lake_has_the_tables_that_it_has() {
    let scratch = Scratch::with_sample(1, 5);
    let [has, lacks] = [0, 1].map(|index| &*trace().tables[index].name);
    scratch.convert_well(&["--tables", has]);
    let out = scratch.out();
    let lake = out.to_str().unwrap();
    let all = run(["schema", lake, "--as", "duckdb"]).stdout;
    assert!(all.contains(has) && !all.contains(&format!("{lacks}_named")));
    for (table, says) in [
        (lacks, "the lake has no table"),
        ("job_event", "did you mean"),
    ] {
        run(["schema", lake, table, "--as", "duckdb"]).refuses(2, says);
    }
}

#[test]
fn what_has_no_files_for_sql_is_refused() {
    let scratch = Scratch::with_sample(1, 5);
    scratch.convert_well(&["--format", "arrow"]);
    let out = scratch.out();
    run(["schema", out.to_str().unwrap(), "--as", "duckdb"]).refuses(2, "Arrow files");
    let empty = scratch.path().join("nothing");
    fs::create_dir(&empty).unwrap();
    let refused = run(["schema", empty.to_str().unwrap()]);
    assert!([1, 2].contains(&refused.code), "{}", refused.stderr);
    fs::create_dir(empty.join("_tracelake")).unwrap();
    run(["schema", empty.to_str().unwrap()]).exits(6);
    run(["schema", "nosuch-trace"]).exits(2);
}
