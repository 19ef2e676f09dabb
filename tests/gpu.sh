#!/usr/bin/env bash
# Checks and times everything that needs a GPU, in one call, on a machine with CUDA's tools and without Rust.
#
#   cargo build --release -p cpu --bins --examples && cargo test --release -p cpu --no-run
#   tests/gpu.sh FOLDER [RESULTS]
#
# FOLDER holds the binaries `cpu`, `devices` (the test of that name) and `file_input` (the example). RESULTS gets logs and
# JSON.
set -u
folder=$1
results=${2:-$(mktemp -d)}
mkdir -p "$results"
here=$(cd "$(dirname "$0")/.." && pwd)
failed=0
step() { # step NAME COMMAND…: runs it, keeps its output, says how it ended
    local name=$1
    shift
    if "$@" >"$results/$name.log" 2>&1; then
        echo "ok      $name"
    else
        echo "FAILED  $name ($?)"
        tail -n 25 "$results/$name.log"
        failed=1
    fi
}

# The error for a kernel that nobody knows names those that there are.
kernels=$("$folder/cpu" matmul --kernel '?' 2>&1 | sed -n 's/.*possible values: auto, \(.*\)].*/\1/p' | tr -d ,)
[ -n "$kernels" ] || { echo "$folder/cpu does not name its kernels"; exit 1; }

nvidia-smi --query-gpu=name,driver_version,pcie.link.gen.current,pcie.link.width.current --format=csv,noheader
date -u +%Y-%m-%d

step peer-build nvcc -O3 -arch=sm_90 "$here/benches/peers/copy.cu" -o "$results/copy"
step peer "$results/copy" 67108864 268435456 1073741824
step matmul "$folder/cpu" matmul --seed 1 --json "$results/matmul.json"
cat "$results/matmul.log"
for kernel in $kernels; do
    step "matmul-$kernel" "$folder/cpu" matmul --seed 1 --size 4096 --mode pinned --iters 3 --kernel $kernel
    grep pinned "$results/matmul-$kernel.log"
done
# Pages that migrate, by faults and moved ahead.
step matmul-managed "$folder/cpu" matmul --seed 1 --size 1024,4096 --mode pinned,managed,prefetched --iters 5 \
    --json "$results/matmul-managed.json"
cat "$results/matmul-managed.log"
cat "$results/peer.log"
python3 - "$results/matmul.json" "$results/peer.log" <<'PY'
import json, sys
peer = {int(l.split()[0]): l.split() for l in open(sys.argv[2])}
for size in json.load(open(sys.argv[1]))["sizes"]:
    m, bytes_ = size["m"], size["m"] ** 2 * 4
    if bytes_ not in peer: continue
    pinned = next(mode for mode in size["modes"] if mode["mode"] == "pinned")
    ours = [2 * bytes_ / pinned["h2d_ms"]["median"] / 1e6, bytes_ / pinned["d2h_ms"]["median"] / 1e6]
    theirs = [float(x) for x in peer[bytes_][5:7]]
    wall = [float(x) for x in peer[bytes_][2:4]]
    print(f"pinned copies of {bytes_ >> 20} MiB: H2D {ours[0]:.2f} GB/s = {ours[0] / theirs[0]:.3f} of cudaMemcpy by events, "
          f"{ours[0] / wall[0]:.3f} by wall; D2H {ours[1]:.2f} = {ours[1] / theirs[1]:.3f}, {ours[1] / wall[1]:.3f}")
PY

# What the link carries, beside the same in CUDA C++ on the same link, minutes apart.
step zero-copy-build nvcc -O3 -arch=sm_90 "$here/benches/peers/zero_copy.cu" -o "$results/zero_copy"
step zero-copy "$results/zero_copy" 268435456
started=$SECONDS
step bandwidth env XDG_CACHE_HOME="$results/cache" "$folder/cpu" bandwidth --json "$results/bandwidth.json" --plot "$results/bandwidth.svg" \
    --csv "$results/bandwidth.csv"
echo "        in $((SECONDS - started)) s"
cat "$results/bandwidth.log"
started=$SECONDS
step bandwidth-quick timeout 30 "$folder/cpu" bandwidth --no-save --quick
echo "        in $((SECONDS - started)) s"
step bandwidth-ratios python3 "$here/benches/peers/bandwidth.py" "$results/bandwidth.json" "$results/peer.log" \
    "$results/zero-copy.log"
cat "$results/bandwidth-ratios.log"

# The advisor's model, on what `bandwidth` has just kept, against products measured now.
started=$SECONDS
modes=pageable,staged,pinned,mapped
step explain env XDG_CACHE_HOME="$results/cache" "$folder/cpu" matmul --explain --seed 1 --mode $modes \
    --size 256,1024,4096 --json "$results/explain.json"
step explain-8192 env XDG_CACHE_HOME="$results/cache" "$folder/cpu" matmul --explain --seed 1 --mode $modes \
    --size 8192 --iters 3 --warmup 1 --json "$results/explain-8192.json"
step explain-check python3 "$here/tests/explain.py" "$results/explain.json" "$results/explain-8192.json"
cat "$results/explain-check.log"
echo "        in $((SECONDS - started)) s"
# An image of 2000 x 2000, 16 bits in, 8 bits out, each byte read once: what this machine's figures advise.
step advise env XDG_CACHE_HOME="$results/cache" "$folder/cpu" advise --in 8MB --out 4MB --flops 40e6 --repeat 1000
cat "$results/advise.log"
for tool in memcheck racecheck initcheck synccheck; do
    step $tool-bandwidth compute-sanitizer --tool $tool --error-exitcode 9 \
        "$folder/cpu" bandwidth --no-save --sizes 4KiB,1MiB --quiet
    grep -h "ERROR SUMMARY\|RACECHECK SUMMARY" "$results/$tool-bandwidth.log"
done

step pitfalls "$folder/cpu" pitfalls
# One of them asks the driver for a refusal, which memcheck would count as an error of ours.
step memcheck-pitfalls compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 \
    "$folder/cpu" pitfalls

# A file of 4 GiB as a kernel's input, with no second copy in memory: needs as much room in the folder for temporary files.
started=$SECONDS
step file-input "$folder/file_input" --size 4GiB --device cuda:0
echo "        in $((SECONDS - started)) s"
cat "$results/file-input.log"

# What a flag without release costs: many tries, for the flag overtakes its message when it likes.
for try in 1 2 3 4 5; do
    step "write-then-poll-$try" "$folder/cpu" pitfalls --device cuda:0 write-then-poll
    grep -h -A 2 "happened" "$results/write-then-poll-$try.log"
done
step racecheck-pitfall compute-sanitizer --tool racecheck --error-exitcode 9 \
    "$folder/cpu" pitfalls --device cuda:0 write-then-poll

step suite "$folder/devices" cuda:: --test-threads=1
tail -n 3 "$results/suite.log"
for kernel in $kernels; do
    for tool in memcheck racecheck initcheck synccheck; do
        step "$tool-$kernel" compute-sanitizer --tool $tool --error-exitcode 9 \
            "$folder/cpu" matmul --m 130 --n 127 --k 129 --kernel $kernel --iters 1 --warmup 0 --quiet
        grep -h "ERROR SUMMARY\|RACECHECK SUMMARY" "$results/$tool-$kernel.log"
    done
done
# Not initcheck, which does not see the CPU write managed memory.
for tool in memcheck racecheck synccheck; do
    step "$tool-managed" compute-sanitizer --tool $tool --error-exitcode 9 "$folder/cpu" matmul --m 130 --n 127 --k 129 \
        --mode managed,prefetched --iters 1 --warmup 0 --quiet
    grep -h "ERROR SUMMARY\|RACECHECK SUMMARY" "$results/$tool-managed.log"
done
step memcheck-suite compute-sanitizer --tool memcheck --leak-check full --error-exitcode 9 \
    "$folder/devices" cuda:: --test-threads=1 --skip hundreds --skip thousand --skip too_much
grep -h "SUMMARY" "$results/memcheck-suite.log"
exit $failed
