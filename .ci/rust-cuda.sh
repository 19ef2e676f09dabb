#!/usr/bin/env bash
# Checks what can be checked of the rust-cuda build where its backend and its git repository cannot be had:
#
#   .ci/rust-cuda.sh
#
# * `gpu` with the feature `rust-cuda`, on the host, against crates.io's cuda_std 0.2.2: names and types of
#   gpu/src/device/rust_cuda.rs, and the entry points that `#[kernel]` makes.
# * The workspace gpu/rust-cuda, with crates.io's cuda_std in place of upstream's and tests/rust-cuda/cuda_builder, a
#   stand-in written from reading, in place of upstream's cuda_builder: the manifests, the second manifest of the kernels,
#   and the builder, which must write the committed PTX under its own name when that is what it is given.
#
# Not checked: whether upstream's cuda_std has the same names (it was read), whether the backend compiles any of it, and
# what PTX comes out. That takes a machine with rust-cuda: see guide/src/toolchains.md.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cd "$root"

cargo clippy --quiet --package gpu --features rust-cuda -- -D warnings

# A copy beside which everything that it names by relative paths is found.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/gpu"
cp -r gpu/rust-cuda "$copy/gpu/"
rm -rf "$copy/gpu/rust-cuda/rust-toolchain.toml" "$copy/gpu/rust-cuda/Cargo.lock" "$copy/gpu/rust-cuda/target"
ln -s "$root"/{Cargo.toml,build,build.rs,src,simt,cpu} "$copy/"
ln -s "$root/gpu/src" "$root/gpu/macros" "$root/gpu/Cargo.toml" "$copy/gpu/"
manifest=$copy/gpu/rust-cuda/Cargo.toml
sed -i -e "s|^cuda_builder = .*|cuda_builder = { path = \"$root/tests/rust-cuda/cuda_builder\" }|" \
    -e 's|^cuda_std = .*|cuda_std = "0.2.2"|' "$manifest"

export CARGO_TARGET_DIR=$target/rust-cuda-check
cargo check --quiet --manifest-path "$manifest" --package gpu
cargo build --quiet --manifest-path "$manifest" --package builder --features build-backend
CUDA_BUILDER_STAND_IN="$root/gpu/ptx/kernels_{arch}.ptx" "$CARGO_TARGET_DIR/debug/builder" "$copy/out" sm_75 sm_80 sm_90a
for architecture in sm_75 sm_80 sm_90a; do
    grep -q '^// compiler: rust-cuda ' "$copy/out/kernels_$architecture.ptx"
    cmp <(grep '^// sources: ' "$copy/out/kernels_$architecture.ptx" | head -1) \
        <(grep '^// sources: ' "gpu/ptx/kernels_$architecture.ptx")
done
echo "rust-cuda: gpu and gpu/rust-cuda fit cuda_std 0.2.2 and cuda_builder as read"
