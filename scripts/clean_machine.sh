#!/usr/bin/env bash
# Runs a command in a fresh clone on a clean Debian, as an ordinary user: `clean_machine.sh trixie make test`.
# Python is Debian's own: 3.11.2 in bookworm, 3.13.5 in trixie, 3.14 in sid. Needs root and debootstrap. What is cloned is
# HEAD; the base systems stay in build/machines/ for the next run, and everything else is gone afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1:?usage: clean_machine.sh SUITE COMMAND...}
shift
mirror=${MIRROR:-$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*debian* 2>/dev/null | head -1)}
base=$PWD/build/machines/$suite
# `make` cannot install system packages for an ordinary user, who is told to. This is what somebody who listens has.
packages=python3,python3-venv,make,git,ca-certificates,passwd,procps,curl,bubblewrap,ripgrep,tmux,chromium,redis-server

if [ ! -e "$base/.complete" ]; then
    echo "clean machine: making $suite"
    rm -rf "$base"
    mkdir -p "$base"
    # Chromium needs fonts and components that debootstrap cannot order; apt can.
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$base" "${mirror:-http://deb.debian.org/debian}" >build/machines/"$suite".log
    cp /etc/resolv.conf /etc/hosts "$base/etc/"
    chroot "$base" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get -qq -o Acquire::Check-Valid-Until=false update && apt-get -qq install --no-install-recommends "$@"' \
        sh ${packages//,/ } >>build/machines/"$suite".log 2>&1
    chroot "$base" useradd --create-home --shell /bin/bash newcomer
    touch "$base/.complete"
fi

machine=$(mktemp -d)
cleanup() {
    umount --recursive --lazy "$machine/root" 2>/dev/null || true
    rm -rf "$machine"
}
trap cleanup EXIT
mkdir "$machine"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=$base,upperdir=$machine/upper,workdir=$machine/work" "$machine/root"
root=$machine/root

# How this machine reaches its package registries; the base system keeps none of it.
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
home=$root/home/newcomer
for file in .npmrc .pip/pip.conf .config/pip/pip.conf; do
    if [ -e ~/"$file" ]; then install -D ~/"$file" "$home/$file"; fi
done
if [ -e /etc/pip.conf ]; then cp /etc/pip.conf "$root/etc/"; fi
# Debian's Node is too old in bookworm, and the same one everywhere leaves Python as the only difference.
if command -v node >/dev/null; then
    install -D "$(readlink -f "$(command -v node)")" "$root/usr/local/bin/node"
    mkdir -p "$root/usr/local/lib/node_modules"
    cp -r "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$root/usr/local/lib/node_modules/npm"
    ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
    ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
fi

git clone --quiet . "$home/openagent"
chroot "$root" chown -R newcomer: /home/newcomer
# The sandbox needs user namespaces, which the kernel refuses in a chroot: the root is pivoted instead.
KEPT=$(compgen -e | grep -E '^(PIP|npm_config)_|_CERTS?$|_CERT_FILE$|_CA_BUNDLE$' | paste -sd, || true)
KEPT=$KEPT unshare --mount --pid --fork --kill-child bash -euc '
    root=$1; shift
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount -t tmpfs tmpfs "$root/run"
    cd "$root"
    mkdir -p .old
    pivot_root . .old
    umount --lazy /.old
    # No exec: this bash takes in what daemons leave behind, as the first process of a machine does.
    su --login newcomer ${KEPT:+--whitelist-environment="$KEPT"} -s /bin/bash -c "cd openagent && python3 --version && exec \"\$@\"" -- sh "$@"
    exit $?
' sh "$root" "$@" </dev/null
