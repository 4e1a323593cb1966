#!/bin/sh
# Submits a conversion to Slurm: an array of shards, and a commit that starts when all of them are done. If a shard
# fails, Slurm removes the commit from the queue.
#
#   SRC=/scratch/clusterdata-2011-2 OUT=/scratch/lake SHARDS=16 sh docs/recipes/slurm.sh
set -eu

: "${SRC:?}" "${OUT:?}" "${SHARDS:?}"
export SRC OUT SHARDS
recipes=$(dirname "$0")

# If something is wrong with SRC or OUT, this fails once, and not in every task.
tracelake convert "$SRC" "$OUT" --shard "0/$SHARDS" --dry-run "$@" >/dev/null

job=$(sbatch --parsable --array="0-$((SHARDS - 1))" "$recipes/shard.sh" "$@")
sbatch --parsable --dependency="afterok:$job" --kill-on-invalid-dep=yes "$recipes/commit.sh"
