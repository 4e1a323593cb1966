//! The shell parts of docs/many-machines.md, as schedulers run them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::assert_same;
use tracelake_testkit::{Scratch, ended, program};

fn recipe(name: &str) -> PathBuf {
    let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes");
    recipes.join(name).canonicalize().unwrap()
}

/// A recipe with the program first in PATH, after what is in `bin`.
fn shell(scratch: &Scratch, name: &str) -> Command {
    let mut command = Command::new("sh");
    let tracelake = PathBuf::from(env!("CARGO_BIN_EXE_tracelake"));
    let program = tracelake.parent().unwrap();
    let (bin, path) = (scratch.path().join("bin"), std::env::var("PATH").unwrap());
    let path = format!("{}:{}:{path}", bin.display(), program.display());
    command.arg(recipe(name)).env("PATH", path);
    command.env("SRC", scratch.src()).env("SHARDS", "3");
    command.env("OUT", scratch.path().join("sharded"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SLURM_")) {
        command.env_remove(name);
    }
    command
}

#[test]
fn tasks_of_an_array_and_of_an_indexed_job_convert_their_shard() {
    let scratch = Scratch::with_sample(2, 30);
    scratch.convert_well(&[]);
    let out = scratch.path().join("sharded");
    for variable in ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"] {
        for index in ["2", "0", "1"] {
            let output = shell(&scratch, "shard.sh").env(variable, index).output();
            assert_eq!(ended(output.unwrap()).code, 0);
        }
        let committed = ended(shell(&scratch, "commit.sh").output().unwrap());
        assert_eq!(committed.code, 0, "{}", committed.stderr);
        assert_same(&out, &scratch.out(), variable);
        fs::remove_dir_all(&out).unwrap();
    }
    // Without a number there is nothing to do.
    assert_ne!(ended(shell(&scratch, "shard.sh").output().unwrap()).code, 0);
    assert!(!out.exists());
}

/// A small sbatch: like Slurm's, it runs the tasks of an array at once, runs a job after those it depends
/// on, and prints the number of the job.
const SBATCH: &str = r#"#!/bin/sh
set -eu
array= ; script=
while [ $# -gt 0 ]; do
    case $1 in
        --array=*) array=${1#--array=} ;;
        --dependency=afterok:*) [ "${1#--dependency=afterok:}" = 17 ] ;;
        --parsable) ;;
        *) script=$1; shift; break ;;
    esac
    shift
done
if [ -n "$array" ]; then
    for index in $(seq "${array%-*}" "${array#*-}"); do
        SLURM_ARRAY_TASK_ID=$index sh "$script" "$@" >&2 &
    done
    wait
    echo 17
else
    sh "$script" "$@" >&2
    echo 18
fi
"#;

#[test]
fn a_submission_to_slurm_makes_the_lake() {
    let scratch = Scratch::with_sample(2, 30);
    let bin = scratch.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("sbatch"), SBATCH).unwrap();
    fs::set_permissions(bin.join("sbatch"), fs::Permissions::from_mode(0o755)).unwrap();
    for options in [&[][..], &["--layout", "flat", "--on-bad-row", "reject"]] {
        let one = scratch.path().join("one");
        let mut convert = program();
        convert
            .arg("convert")
            .args([&scratch.src(), &one])
            .args(options);
        ended(convert.output().unwrap()).well();
        let submitted = ended(shell(&scratch, "slurm.sh").args(options).output().unwrap());
        assert_eq!(submitted.code, 0, "{}", submitted.stderr);
        assert_eq!(submitted.stdout, "18\n");
        let out = scratch.path().join("sharded");
        assert_same(&out, &one, "submitted");
        fs::remove_dir_all(&out).unwrap();
        fs::remove_dir_all(&one).unwrap();
    }
    // A source that isn't there is found out before anything is submitted.
    let failed = shell(&scratch, "slurm.sh")
        .env("SRC", "nosuch")
        .output()
        .unwrap();
    let failed = ended(failed);
    assert_eq!(
        (failed.code, &failed.stdout[..]),
        (1, ""),
        "{}",
        failed.stderr
    );
}

/// Every script that a job description names is there.
#[test]
fn job_descriptions_name_scripts_that_are_there() {
    for (name, script) in [
        ("kubernetes.yaml", "shard.sh"),
        ("kubernetes-commit.yaml", "commit.sh"),
    ] {
        let text = fs::read_to_string(recipe(name)).unwrap();
        assert!(
            text.contains(&format!("command: [\"sh\", \"/recipes/{script}\"]")),
            "{text}"
        );
        assert!(recipe(script).is_file());
    }
}
