//! Every seed of every fuzz target, without a fuzzer.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use tracelake_testkit::Score;
use tracelake_testkit::fuzz::TARGETS;

#[test]
fn every_seed_passes() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let folders = fs::read_dir(&seeds).unwrap().count();
    assert_eq!(
        folders,
        TARGETS.len(),
        "a target without seeds, or seeds without a target"
    );
    let mut score = Score::new("seeds of fuzz targets");
    for (name, target) in TARGETS {
        let mut files: Vec<_> = fs::read_dir(seeds.join(name))
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no seeds");
        for file in files {
            let seed = fs::read(&file).unwrap();
            let outcome = catch_unwind(|| target(&seed)).map_err(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                text.unwrap_or_else(|| "panicked".to_owned())
            });
            score.count(&file.display().to_string(), outcome);
        }
    }
    score.close();
}
