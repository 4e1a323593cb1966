//! The instructions that a processor may lack. Functions that use them have a plain twin, and tests can switch
//! to it on any machine.

#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(
        dead_code,
        reason = "functions that use them are for this architecture"
    )
)]

#[cfg(test)]
use std::cell::Cell;

macro_rules! has {
    ($($instructions:tt),+) => {{
        #[cfg(target_arch = "x86_64")]
        let has = !is_plain() $(&& std::arch::is_x86_feature_detected!($instructions))+;
        #[cfg(not(target_arch = "x86_64"))]
        let has = false;
        has
    }};
}

/// Whether the processor has the instructions of AVX-512 that look up eight fields.
#[inline]
pub(crate) fn has_avx512() -> bool {
    has!("avx512f", "avx512bw", "avx512dq", "avx512vl")
}

/// Whether the processor has the instructions of AVX-512 that turn bits into positions.
#[inline]
pub(crate) fn has_avx512_vbmi2() -> bool {
    has!("avx512bw", "avx512vl", "avx512vbmi2", "bmi1", "popcnt")
}

/// Whether the processor has BMI1 and BMI2.
#[inline]
pub(crate) fn has_bmi() -> bool {
    has!("bmi1", "bmi2")
}

#[cfg(test)]
thread_local! {
    static IS_PLAIN: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread does without all of them; only tests can ask for it.
#[cfg(test)]
fn is_plain() -> bool {
    IS_PLAIN.get()
}

#[cfg(not(test))]
const fn is_plain() -> bool {
    false
}

/// Does work of this thread without any of these instructions.
#[cfg(test)]
pub(crate) fn plainly<T>(work: impl FnOnce() -> T) -> T {
    let before = IS_PLAIN.replace(true);
    let done = work();
    IS_PLAIN.set(before);
    done
}

/// The build script decides which tests of fast functions are ignored. If it found instructions that this
/// machine lacks, they would compare plain functions with themselves.
#[test]
fn the_tests_were_built_for_this_processor() {
    let has = || (has_avx512(), has_avx512_vbmi2(), has_bmi());
    let known = (cfg!(avx512), cfg!(avx512_vbmi2), cfg!(bmi));
    assert_eq!(
        known,
        has(),
        "run `touch crates/convert/build.rs` and test again"
    );
    assert_eq!(plainly(has), (false, false, false));
}
