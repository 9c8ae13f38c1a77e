# The files for 64-bit Arm: the programs under emulation, and what the packages are for. Usage: arm.sh DIST WORK
set -eu
dist=$1 root=$2/arm
loader=$(readlink -f "$(aarch64-linux-gnu-gcc -print-file-name=ld-linux-aarch64.so.1)")
rm -rf "$root"
mkdir -p "$root"
for file in "$dist"/assay-*-aarch64-*.tar.gz; do
    tar -xzf "$file" -C "$root"
    program=$root/$(basename "$file" .tar.gz)/assay
    qemu-aarch64 -L "${loader%/lib/*}" "$program" --version
    qemu-aarch64 -L "${loader%/lib/*}" "$program" info >/dev/null
done
[ "$(dpkg-deb --field "$dist"/assay_*_arm64.deb Architecture)" = arm64 ]
! command -v rpm >/dev/null ||
    [ "$(rpm --query --nosignature --queryformat '%{ARCH}' --package "$dist"/assay-*.aarch64.rpm)" = aarch64 ]
test -s "$dist"/assay_bench-*-py3-none-manylinux2014_aarch64.*.whl
echo "arm: the programs start, and the packages are for arm64"
