#!/bin/sh
# Runs a conversion on Kubernetes: the shards, then the commit. Ends with 1 if either fails.
#
#   sh docs/recipes/kubernetes.sh                # a volume: kubernetes.yaml
#   sh docs/recipes/kubernetes.sh bucket         # buckets: kubernetes-bucket.yaml
set -eu

recipes=$(dirname "$0")/kubernetes${1:+-$1}

# `kubectl wait` waits for one condition only, and a job that failed never becomes complete.
finish() {
    until kubectl wait --for=condition=Complete --timeout=10s "job/$1" >/dev/null 2>&1; do
        failed=$(kubectl get "job/$1" --output 'jsonpath={.status.conditions[?(@.type=="Failed")].message}')
        if [ -n "$failed" ]; then
            echo "job/$1: $failed" >&2
            exit 1
        fi
    done
}

kubectl apply -f "$recipes.yaml"
finish tracelake
kubectl apply -f "$recipes-commit.yaml"
finish tracelake-commit
