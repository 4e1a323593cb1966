//! How the trace of files is recognised by their names.

use tracelake_schema::{Files, TRACES};
use tracelake_testkit::{Scratch, gzip, run};

use super::traces_with;

/// Two traces have this table, and a file of it alone says nothing of which it is.
#[test]
fn a_name_that_two_traces_share_asks_for_the_trace() {
    let traces = traces_with("vmtable");
    assert_eq!(traces.len(), 2);
    let scratch = Scratch::new();
    let row = "v,s,d,0,300,100,3.4,10.1,Interactive,1,1.75\n";
    scratch.file("vmtable.csv.gz", &gzip(row.as_bytes()));
    let refused = scratch.convert(&[]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for trace in traces {
        refused.says(&trace.name);
    }
    refused.says("--trace");
}

/// The tables that were there before are recognised as before, whatever was added.
#[test]
fn no_name_of_a_table_is_a_name_of_another_s_files() {
    let tables = || TRACES.iter().flat_map(|trace| &trace.tables);
    for named in tables().filter(|table| table.files == Files::Named) {
        for other in tables().filter(|table| table.files != Files::Named) {
            let extension = other.syntax.extension();
            for name in [
                format!("{}.{extension}.gz", other.name),
                format!("{}-000000000000.{extension}.gz", other.name),
                "part-00000-of-00001.csv.gz".to_owned(),
            ] {
                assert!(
                    named.naming.claims(&name).is_empty(),
                    "{name}: {}",
                    named.name
                );
            }
        }
    }
}

/// A table without a simulation in its description can't be generated.
#[test]
fn a_trace_without_a_simulation_is_not_generated() {
    let mut seen = 0;
    for trace in TRACES {
        if trace.tables.iter().all(|table| !table.synthetic.is_empty()) {
            continue;
        }
        let scratch = Scratch::new();
        let out = scratch.out();
        let refused = run(["generate", &trace.name, out.to_str().unwrap()]);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        let says = format!("{} can't be generated", trace.name);
        refused.says(&says);
        assert!(!out.exists());
        seen += 1;
    }
    assert!(seen > 0);
}
