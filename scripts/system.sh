#!/bin/bash
# system.sh build|check: makes sure that the system's packages are there.
#
# On Debian and Ubuntu what is missing is installed; elsewhere this only looks for it.
. "$(dirname "$0")/common.sh"

packages='gcc libc6-dev pkg-config zlib1g-dev libdeflate-dev libisal-dev libjansson-dev'
optional=''
commands='cc pkg-config'
modules='zlib libdeflate libisal jansson'
if [ "${1:-build}" = check ]; then
	packages+=' g++ clang libcmocka-dev libuv1-dev valgrind gzip pigz libdeflate-tools isal'
	# Not every release has packages of these names.
	optional+=' libclang-rt-dev clang-format-14'
	commands+=' c++ clang nm valgrind gzip pigz'
	modules+=' cmocka libuv'
fi

# Prints the path of an interpreter that is new enough, can make environments and has its
# headers; not that of the environment which is to be made of it.
find_python() {
	local PATH=${PATH//"$PWD/.venv/bin:"/} python
	for python in ${PYTHON:-} python3 /usr/bin/python3 python3.{14,13,12,11}; do
		"$python" -c '
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
if sys.version_info < (3, 11) or not os.path.exists(header):
    sys.exit(1)
print(sys.executable)' 2>/dev/null && return
	done
	return 1
}

missing() {
	local package
	for package; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
			printf '%s ' "$package"
	done
}

updated=
install() {
	local root=''
	if [ "$(id -u)" != 0 ]; then
		root=$(command -v sudo) || die "needs root, or sudo, to install: $*"
	fi
	if [ -z "$updated" ]; then
		say 'updating the list of system packages'
		logged .cache/log/apt-update.log $root apt-get update || die 'apt-get update failed'
		updated=1
	fi
	say "installing system packages: $*"
	logged .cache/log/apt-install.log $root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends "$@"
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
	lacking=$(missing $packages)
	[ -z "$lacking" ] || install $lacking || die "cannot install $lacking"
	for package in $(missing $optional); do
		[ -z "$(apt-cache show "$package" 2>/dev/null)" ] || install "$package" ||
			die "cannot install $package"
	done
	# An older release's own python3 may be too old, with a newer one beside it.
	for python in python3 python3.13 python3.12 python3.11; do
		find_python >/dev/null && break
		install "$python" "$python-venv" "$python-dev" || true
	done
else
	for command in $commands; do
		command -v "$command" >/dev/null || die "the command $command is not installed"
	done
	for module in $modules; do
		pkg-config --exists "$module" || die "pkg-config does not find $module: install its headers"
	done
fi

python=$(find_python) ||
	die 'needs Python 3.11 or newer with venv and headers; PYTHON=... may name it'
mkdir -p .cache
printf '%s\n' "$python" >.cache/python
