#!/bin/sh
# Inside a fresh Debian 13: what the image holds. The Dockerfile and build.sh both run this, so both make the same image.
# Expects a wheel of OpenAgent and the pins in /wheels, and leaves nothing behind that only building needs.
set -eu

export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq upgrade -y
# git and ripgrep for the tools, bubblewrap for the jail, tini to reap what commands leave behind.
apt-get -qq install -y --no-install-recommends bubblewrap ca-certificates git python3 python3-venv ripgrep tini
apt-get -qq install -y --no-install-recommends binutils

python3 -m venv --without-pip /opt/openagent
python3 -m venv /tmp/pip
into_it() { /tmp/pip/bin/pip --python /opt/openagent/bin/python "$@"; }
# The pins are complete, which `check` looks at; pip would want them for names with extras a second time.
into_it install --quiet --no-cache-dir --no-compile --no-deps --require-hashes --requirement /wheels/runtime.txt --requirement /wheels/team.txt
into_it install --quiet --no-cache-dir --no-compile --no-deps /wheels/openagent-*.whl
into_it check
# Wheels bring their libraries with symbols that only debuggers read. Each is loaded afterwards: some do not bear it.
find /opt/openagent -type f -name '*.so*' -exec strip --strip-unneeded {} +
find /opt/openagent -type f -name '*.so*' -exec /opt/openagent/bin/python -c 'import ctypes, sys; [ctypes.CDLL(each) for each in sys.argv[1:]]' {} +
ln -s /opt/openagent/bin/openagent /usr/local/bin/openagent

groupadd --gid 10001 openagent
useradd --uid 10001 --gid 10001 --home-dir /var/lib/openagent --create-home --shell /bin/bash openagent
mkdir -p /workspaces /etc/openagent
echo '# Mount your own file here: `openagent help configuration` has every setting.' >/etc/openagent/config.toml
chown 10001:10001 /workspaces
# Nobody becomes somebody else in there, with `no-new-privileges` or without.
find / -xdev -type f -perm /6000 -exec chmod a-s {} +

apt-get -qq purge -y --allow-remove-essential --auto-remove binutils python3-venv
apt-get -qq clean
rm -rf /tmp/* /wheels /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/share/doc /usr/share/man /usr/share/info /usr/share/locale \
    /usr/share/zoneinfo /usr/lib/python3.*/ensurepip
