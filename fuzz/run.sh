#!/bin/sh
# Fuzzes one target with the stable compiler: fuzz/run.sh TARGET [SECONDS]. See docs/fuzzing.md.
#
# New inputs go to fuzz/found/TARGET, failing ones to fuzz/artifacts; the committed corpus is only
# read. `MERGE=1 fuzz/run.sh TARGET` writes the smallest set of inputs that reaches the same code
# back to the corpus. `SEEDS=DIR` begins from other inputs, too, for instance other people's captures
# cut to some kilobytes; what is found then must not be committed.
set -eu
cd "$(dirname "$0")"

targets=$(sed -n 's/^path = "fuzz_targets\/\(.*\)\.rs"$/\1/p' Cargo.toml)
target=${1:-}
if ! echo "$targets" | grep -qx -- "$target"; then
    echo "usage: fuzz/run.sh TARGET [SECONDS]; TARGET is one of" >&2
    echo "$targets" | sed 's/^/    /' >&2
    exit 2
fi
seconds=${2:-60}

# What cargo-fuzz asks of the nightly compiler, said to LLVM's pass directly. `--target` keeps the
# flags away from build scripts and macros, which have no fuzzer's main.
triple=x86_64-unknown-linux-gnu
RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing"
export RUSTFLAGS
cargo build --release --target "$triple" --bin "$target"
program=${CARGO_TARGET_DIR:-target}/$triple/release/$target

# Whole captures need more room than one frame or a list of decisions.
case $target in
capture | hostile_peer) longest=4096 ;;
*) longest=1500 ;;
esac

mkdir -p "corpus/$target" "found/$target" artifacts
if [ "${MERGE:-}" = 1 ]; then
    smaller=$(mktemp -d)
    "$program" -merge=1 "$smaller" "corpus/$target" "found/$target" >/dev/null 2>&1
    find "corpus/$target" -type f ! -name 'finding-*' -exec rm {} +
    cp "$smaller"/* "corpus/$target/"
    rm -r "$smaller"
    echo "$target: $(find "corpus/$target" -type f | wc -l) inputs in the corpus"
    exit 0
fi

echo "$target: fuzzing for $seconds s"
if "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=$longest \
    -len_control=0 -artifact_prefix="artifacts/$target-" -print_final_stats=1 \
    "found/$target" "corpus/$target" ${SEEDS:+"$SEEDS"}; then
    echo "$target: no failing input"
else
    echo "$target: FAILED; the input is the newest file fuzz/artifacts/$target-*" >&2
    exit 1
fi
