#!/bin/sh
# One shard of a conversion, as a task of a Slurm array or a pod of a Kubernetes indexed job.
#
# SRC, OUT and SHARDS come from the environment; more options of `tracelake convert` follow as arguments,
# the same ones in every task.
#SBATCH --job-name=tracelake
#SBATCH --cpus-per-task=2
#SBATCH --mem=1G
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
set -eu

index=${SLURM_ARRAY_TASK_ID:-${JOB_COMPLETION_INDEX:?neither a Slurm array nor an indexed job}}

# A shell doesn't pass a signal on to the program it waits for. tracelake stops at once and keeps finished parts.
tracelake convert "$SRC" "$OUT" --shard "$index/$SHARDS" --threads "${THREADS:-2}" --progress plain "$@" &
shard=$!
trap 'kill -TERM "$shard" 2>/dev/null' TERM INT
status=0
wait "$shard" || status=$?
# A signal interrupts the first wait.
while kill -0 "$shard" 2>/dev/null; do
    status=0
    wait "$shard" || status=$?
done

# 3 means that rows were rejected, as --on-bad-row reject asks for. Here it is no failure: commit reports it
# once more.
[ "$status" -ne 3 ] || status=0
exit "$status"
