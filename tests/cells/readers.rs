//! Cells as other people's readers see them.

use std::process::Command;

use super::{trace, two, well};
use tracelake_testkit::run;

#[test]
#[cfg_attr(not(readers), ignore = "needs `cargo xtask readers`")]
fn readers_see_the_cell_as_a_column() {
    let scratch = two();
    let table = &*trace().tables[0].name;
    for layout in ["hive", "flat"] {
        let out = scratch.path().join(layout);
        well(&scratch.src(), &out, &["--layout", layout]);
        let views = run(["schema", &trace().name, table, "--as", "duckdb"]);
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/readers/check_cells.py"
        );
        let mut command = Command::new(crate::readers::python());
        let command = command.arg(script).arg(&out).args([table, &views.stdout]);
        let output = command.current_dir(&out).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
    }
}
