//! The instructions that a processor may lack. Functions that use them have a plain twin, and tests can switch
//! to it on any machine.

#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(
        dead_code,
        reason = "functions that use them are for this architecture"
    )
)]

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
pub fn has_avx512() -> bool {
    has!("avx512f", "avx512bw", "avx512dq", "avx512vl")
}

/// Whether the processor has the instructions of AVX-512 that turn bits into positions.
#[inline]
pub fn has_avx512_vbmi2() -> bool {
    has!("avx512bw", "avx512vl", "avx512vbmi2", "bmi1", "popcnt")
}

/// Whether the processor has BMI1 and BMI2.
#[inline]
pub fn has_bmi() -> bool {
    has!("bmi1", "bmi2")
}

thread_local! {
    static IS_PLAIN: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread does without all of them; only tests can ask for it.
fn is_plain() -> bool {
    IS_PLAIN.get()
}

/// Does work of this thread without any of these instructions. For tests.
#[doc(hidden)]
pub fn plainly<T>(work: impl FnOnce() -> T) -> T {
    let before = IS_PLAIN.replace(true);
    let done = work();
    IS_PLAIN.set(before);
    done
}

#[test]
fn tests_can_do_without() {
    let has = || (has_avx512(), has_avx512_vbmi2(), has_bmi());
    assert_eq!(plainly(has), (false, false, false));
}
