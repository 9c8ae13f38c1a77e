# The static program where there is no C library: with busybox, and in an empty root. Usage: static.sh DIST WORK
set -eu
dist=$1 root=$2/static
command -v unshare >/dev/null || { echo "static: no unshare here"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "static: only root can change the root folder"; exit 77; }
rm -rf "$root"
mkdir -p "$root/proc" "$root/tmp"
tar -xzf "$dist"/assay-*-x86_64-linux-musl.tar.gz -C "$root" --strip-components=1
try() { unshare --mount sh -c 'mount -t proc proc "$1/proc"; root=$1; shift; exec chroot "$root" "$@"' sh "$root" "$@"; }
export HOME=/tmp ASSAY_STORE=/tmp/store
try /assay --version
try /assay info >/dev/null
try /assay run quick --verify --quiet --out /tmp/run >/dev/null
try /assay report /tmp/run >/dev/null
test -s "$root/tmp/run/report.html"
# Without /proc, too.
chroot "$root" /assay info >/dev/null
if busybox=$(command -v busybox); then
    cp "$busybox" "$root/sh"
    try /sh -c '/assay runs && /assay report /tmp/run --format text >/tmp/text'
fi
echo "static: worked without a C library"
