//! Tells the unit tests what this machine has, so that the test runner reports a test that needs more as ignored.

use std::path::Path;

#[cfg(target_arch = "x86_64")]
macro_rules! has {
    ($($instructions:tt),+) => { true $(&& is_x86_feature_detected!($instructions))+ };
}
#[cfg(not(target_arch = "x86_64"))]
macro_rules! has {
    ($($instructions:tt),+) => {
        false
    };
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let avx512 = has!("avx512f", "avx512bw", "avx512dq", "avx512vl");
    let avx512_vbmi2 = has!("avx512bw", "avx512vl", "avx512vbmi2", "bmi1", "popcnt");
    // Test suites of other projects, beside the workspace.
    let suites = Path::new("../../../shared/suites").exists();
    for (name, is_here) in [
        ("avx512", avx512),
        ("avx512_vbmi2", avx512_vbmi2),
        ("suites", suites),
    ] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if is_here {
            println!("cargo::rustc-cfg={name}");
        }
    }
}
