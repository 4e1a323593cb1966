#!/bin/sh
# One shard of a conversion, as a task of a Slurm array or a pod of a Kubernetes indexed job.
#
# SRC, OUT and SHARDS come from the environment; more options of `tracelake convert` follow as arguments,
# the same ones in every task.
#SBATCH --job-name=tracelake
#SBATCH --cpus-per-task=2
#SBATCH --mem=1G
#SBATCH --requeue
set -eu

index=${SLURM_ARRAY_TASK_ID:-${JOB_COMPLETION_INDEX:?neither a Slurm array nor an indexed job}}

# 3 means that rows were rejected, as --on-bad-row reject asks for. Here it is no failure: commit says it
# once more.
tracelake convert "$SRC" "$OUT" --shard "$index/$SHARDS" --threads "${THREADS:-2}" --progress plain "$@" ||
    [ $? -eq 3 ]
