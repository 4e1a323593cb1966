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
        ended(shell(&scratch, "commit.sh").output().unwrap()).exits(0);
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
array= ; script= ; removed=
while [ $# -gt 0 ]; do
    case $1 in
        --array=*) array=${1#--array=} ;;
        --dependency=afterok:*) [ "${1#--dependency=afterok:}" = 17 ] ;;
        --kill-on-invalid-dep=yes) removed=yes ;;
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
    # Without this, a commit whose shards failed waits in the queue for ever.
    [ -n "$removed" ]
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

/// The arguments of the program in a job description, which are an array on one line or one argument per line.
fn arguments(name: &str) -> Vec<String> {
    let text = fs::read_to_string(recipe(name)).unwrap();
    let (_, rest) = text.split_once("\n          args:").unwrap();
    let (list, _) = rest.split_once("\n          resources:").unwrap();
    let list = list.replace("\n            - ", ", ");
    let items = list.trim_matches([' ', '[', ']', ',']).split(", ");
    items
        .map(|item| item.trim_matches('"').to_owned())
        .collect()
}

/// The Kubernetes recipe, run index by index, makes the lake of one run.
#[test]
fn the_jobs_of_kubernetes_make_the_lake() {
    let scratch = Scratch::with_sample(2, 30);
    scratch.convert_well(&[]);
    let out = scratch.path().join("sharded");
    let [source, lake] = [scratch.src(), out.clone()].map(|path| path.display().to_string());
    let run = |name: &str, index: u32| {
        let arguments = arguments(name).into_iter().map(|argument| {
            let argument = argument.replace("/data/clusterdata-2011-2", &source);
            let argument = argument.replace("/data/lake", &lake);
            argument.replace("$(JOB_COMPLETION_INDEX)", &index.to_string())
        });
        ended(program().args(arguments).output().unwrap()).well();
    };
    (0..16).for_each(|index| run("kubernetes.yaml", index));
    run("kubernetes-commit.yaml", 0);
    assert_same(&out, &scratch.out(), "Kubernetes");
    // The same with buckets, where only the URLs differ.
    for (disk, bucket) in [
        ("kubernetes.yaml", "kubernetes-bucket.yaml"),
        ("kubernetes-commit.yaml", "kubernetes-bucket-commit.yaml"),
    ] {
        let same = |url: &String| {
            let path = url.replace("gs://clusterdata-2011-2", "/data/clusterdata-2011-2");
            path.replace("gs://my-bucket/lake", "/data/lake")
        };
        let urls: Vec<String> = arguments(bucket).iter().map(same).collect();
        assert_eq!(urls, arguments(disk));
    }
}

/// A small kubectl: it writes down what it applies. A job is complete when it is asked the second time, or failed if
/// the file `fails` names it.
const KUBECTL: &str = r#"#!/bin/sh
set -eu
here=$(dirname "$0")
case $1 in
    apply) basename "$3" >> "$here/applied" ;;
    wait)
        job=${4#job/}
        [ "$(cat "$here/fails" 2>/dev/null)" != "$job" ] && [ -f "$here/asked-$job" ]
        ;;
    get)
        job=${2#job/}
        [ "$(cat "$here/fails" 2>/dev/null)" != "$job" ] || echo "an exit code of the policy"
        touch "$here/asked-$job"
        ;;
esac
"#;

#[test]
fn a_job_that_failed_ends_the_wait() {
    let scratch = Scratch::new();
    let bin = scratch.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("kubectl"), KUBECTL).unwrap();
    fs::set_permissions(bin.join("kubectl"), fs::Permissions::from_mode(0o755)).unwrap();
    let both = "kubernetes.yaml\nkubernetes-commit.yaml\n";
    for (fails, code, applied) in [
        ("", 0, both),
        ("tracelake", 1, "kubernetes.yaml\n"),
        ("tracelake-commit", 1, both),
    ] {
        for file in ["applied", "asked-tracelake", "asked-tracelake-commit"] {
            let _absent_at_first = fs::remove_file(bin.join(file));
        }
        fs::write(bin.join("fails"), fails).unwrap();
        let run = ended(shell(&scratch, "kubernetes.sh").output().unwrap());
        assert_eq!(run.code, code, "{fails}: {}", run.stderr);
        assert_eq!(run.stderr.contains("policy"), code == 1, "{}", run.stderr);
        assert_eq!(fs::read_to_string(bin.join("applied")).unwrap(), applied);
    }
}
