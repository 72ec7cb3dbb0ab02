#!/usr/bin/env bash
# Makes the image openagent:VERSION, or what --tag says.
#   --docker      from the Dockerfile, where a registry can be reached
#   (otherwise)   from Debian's packages alone, by debootstrap: needs root, and no registry
# Docker's own settings (DOCKER_HOST, …) hold. PIP_INDEX_URL and the proxy's variables are handed on.
set -euo pipefail
cd "$(dirname "$0")/../.."

tag= how=debootstrap
while [ $# -gt 0 ]; do
    case $1 in
    --docker) how=docker ;;
    --tag) tag=$2 && shift ;;
    *) echo "usage: build.sh [--docker] [--tag NAME:TAG]" >&2 && exit 2 ;;
    esac
    shift
done
scripts/setup.sh runtime
scripts/web.sh build
python=.venv/bin/python
version=$("$python" -c 'import re, pathlib; print(re.search(r"__version__ = .(.+?).\n", pathlib.Path("src/openagent/__init__.py").read_text())[1])')
tag=${tag:-openagent:$version}

work=$(mktemp -d)
root=$work/root
clean() {
    for mounted in proc dev; do mountpoint -q "$root/$mounted" && umount -l "$root/$mounted"; done
    rm -rf "$work"
}
trap clean EXIT

echo "image: wheel"
"$python" -m pip wheel --no-deps --no-build-isolation --wheel-dir "$work/wheels" . >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
cp requirements/runtime.txt "$work/wheels/"
cp requirements/team.txt "$work/wheels/"

if [ "$how" = docker ]; then
    cp deploy/image/Dockerfile deploy/image/fill.sh "$work/"
    docker build --tag "$tag" "$work"
    exit
fi

echo "image: Debian"
debootstrap --variant=minbase trixie "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
cat >"$root/etc/apt/sources.list" <<LIST
deb http://deb.debian.org/debian trixie main
deb http://deb.debian.org/debian trixie-updates main
deb http://deb.debian.org/debian-security trixie-security main
LIST
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
cp -r "$work/wheels" "$root/wheels"
cp deploy/image/fill.sh "$root/fill.sh"
# Of this machine for the time of the build: how names are found, and whom pip trusts.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L "${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}" "$root/wheels/trusted.crt"
handed_on=(PATH=/usr/sbin:/usr/bin:/sbin:/bin PIP_CERT=/wheels/trusted.crt)
for name in PIP_INDEX_URL http_proxy https_proxy no_proxy; do [ -z "${!name:-}" ] || handed_on+=("$name=${!name}"); done
chroot "$root" /usr/bin/env -i "${handed_on[@]}" sh /fill.sh >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log" >&2; exit 1; }
rm "$root/fill.sh"
: >"$root/etc/resolv.conf"
umount -l "$root/proc" "$root/dev"

echo "image: $tag"
# The Dockerfile says how it is run; each of its lines that docker import knows is handed on.
changes=()
while IFS= read -r line; do changes+=(--change "$line"); done < <(
    sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' deploy/image/Dockerfile | grep -E '^(ENV|USER|WORKDIR|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD) '
)
tar -C "$root" --numeric-owner -c . | docker import "${changes[@]}" - "$tag"
docker image inspect --format 'image: {{.Size}} bytes' "$tag"
