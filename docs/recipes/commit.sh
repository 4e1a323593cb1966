#!/bin/sh
# The commit, after all shards. OUT comes from the environment.
#SBATCH --job-name=tracelake-commit
#SBATCH --cpus-per-task=2
#SBATCH --mem=1G
set -eu

tracelake commit "$OUT" || [ $? -eq 3 ]
