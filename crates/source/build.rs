//! Tells the unit tests what this machine has, so that the test runner reports a test that needs more as ignored.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(target_arch = "x86_64")]
    let bmi = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2");
    #[cfg(not(target_arch = "x86_64"))]
    let bmi = false;
    // Test suites of other projects, beside the workspace.
    let suites = Path::new("../../../shared/suites").exists();
    for (name, is_here) in [("bmi", bmi), ("suites", suites)] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if is_here {
            println!("cargo::rustc-cfg={name}");
        }
    }
}
