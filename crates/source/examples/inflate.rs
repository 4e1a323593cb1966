//! Reads files to their end as a conversion does, and does nothing with the text: the limit of any
//! design that has to inflate and digest them. `cargo xtask bench` runs it.

use std::path::Path;

use rayon::prelude::*;
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_source::{Chunk, Source};

fn main() -> Result<()> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    files.into_par_iter().try_for_each(|file| {
        let mut source = Source::open(&Context::new(), Path::new(&file))?;
        let mut chunk = Chunk::default();
        while source.next_chunk(&mut chunk)? {}
        std::hint::black_box(source.fingerprint());
        Ok(())
    })
}
