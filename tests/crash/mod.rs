//! A run that is disturbed, an OUT that was damaged, a SRC that is out for harm: what is visible is
//! whole, one more run makes it right, and nothing outside of SRC and OUT is touched.

mod bombs;
pub(crate) mod child;
mod durable;
mod endings;
mod escapes;
#[cfg(target_os = "linux")]
mod first_process;
mod foreign;
mod links;
mod not_a_lake;
mod numbers;
mod overwritten;
mod resume;
mod signals;

pub(crate) use child::{Working, busy};
