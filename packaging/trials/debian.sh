# The deb in other distributions: installed, used, purged; it leaves nothing behind. Usage: debian.sh DIST WORK
set -eu
dist=$1 work=$2
for tool in debootstrap unshare; do
    command -v $tool >/dev/null || { echo "debian: no $tool here"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "debian: only root can use debootstrap"; exit 77; }
tried=
for release in bullseye bookworm trixie jammy; do
    case $release in
        jammy) mirror=http://archive.ubuntu.com/ubuntu ;;
        *) mirror=http://deb.debian.org/debian ;;
    esac
    root=$work/$release
    if [ ! -e "$root/.made" ]; then
        rm -rf "$root"
        # A mirror without the release is no fault of ours; the last line says which were tried.
        debootstrap --variant=minbase --no-check-gpg $release "$root" $mirror >"$work/$release.log" 2>&1 || continue
        touch "$root/.made"
    fi
    cp "$dist"/assay_*_amd64.deb "$root/assay.deb"
    unshare --mount sh -eu -c '
        mount -t proc proc "$1/proc"
        mount --rbind /sys "$1/sys"
        mount --rbind /dev "$1/dev"
        exec chroot "$1" sh -eu -c "
            files() { find / -xdev -path /var/log -prune -o -path /var/lib/dpkg -prune -o -path /tmp -prune -o -path /var/cache -prune -o -print | sort; }
            files >/tmp/before
            dpkg -i assay.deb >/dev/null
            export HOME=/tmp/home
            mkdir -p /tmp/home
            assay --version
            assay info >/dev/null
            assay run quick --verify --quiet --out /tmp/run >/tmp/verified
            assay report /tmp/run >/dev/null
            assay report /tmp/run --format csv | head -n 2 >/dev/null
            test -s /usr/share/bash-completion/completions/assay
            test -s /usr/share/man/man1/assay.1.gz || test ! -e /usr/share/man/man1
            dpkg -P assay >/dev/null
            files >/tmp/after
            cmp /tmp/before /tmp/after
            rm -rf /tmp/run /tmp/home
        "
    ' sh "$root" || { echo "debian: the program or its package failed in $release"; exit 1; }
    tried="$tried $release"
done
[ -n "$tried" ] || { echo "debian: no mirror has a release to try"; exit 77; }
echo "debian: worked in$tried"
