# The rpm in an empty root: installed, started, erased; it leaves nothing behind. Usage: rpm.sh DIST WORK
set -eu
dist=$1 root=$2/rpm
command -v rpm >/dev/null || { echo "rpm: no rpm here"; exit 77; }
rm -rf "$root"
mkdir -p "$root"
rpm --root "$root" --initdb
files() { find "$root" \( -path "$root/var" -o -path "$root/root" \) -prune -o -type f -print | sort; }
[ -z "$(files)" ]
rpm --root "$root" --install --nodeps --nosignature "$dist"/assay-*.x86_64.rpm
"$root/usr/bin/assay" --version >/dev/null
test -s "$root/usr/share/man/man1/assay.1.gz"
rpm --root "$root" --erase assay
[ -z "$(files)" ]
echo "rpm: installed and erased"
