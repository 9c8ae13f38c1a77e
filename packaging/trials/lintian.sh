# The deb by Debian's rules: no error. Usage: lintian.sh DIST WORK
set -eu
command -v lintian >/dev/null || { echo "lintian: no lintian here"; exit 77; }
root=
[ "$(id -u)" != 0 ] || root=--allow-root
lintian $root --fail-on error "$1"/assay_*.deb
echo "lintian: no error"
