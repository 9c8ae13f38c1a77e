# The wheel, without a network and a compiler: installed, first figure, uninstalled. Usage: pip.sh DIST WORK
set -eu
dist=$1 env=$2/pip
python3 -m venv --help >/dev/null 2>&1 || { echo "pip: no python3 with venv here"; exit 77; }
rm -rf "$env"
python3 -m venv "$env"
files() { find "$env" -name __pycache__ -prune -o -type f -print | sort; }
before=$(files)
start=$(date +%s)
"$env/bin/pip" install --quiet --disable-pip-version-check --no-index "$dist"/assay_bench-*manylinux*_x86_64.whl
export ASSAY_STORE="$env/store"
"$env/bin/assay" cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 3 --quiet >/dev/null
echo "pip: first result after $(($(date +%s) - start)) s"
"$env/bin/pip" uninstall --quiet --yes assay-bench
rm -rf "$ASSAY_STORE"
[ "$before" = "$(files)" ]
