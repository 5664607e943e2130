#!/bin/bash
# setup.sh build|demo|bench|check: what that needs, from a bare machine on; the package in .venv.
. "$(dirname "$0")/common.sh"

for_what=${1:-build}

# ---- system packages ---------------------------------------------------------------

if [ "$for_what" = check ]; then
	scripts/system.sh check
else
	scripts/system.sh build
fi
python=$(cat .cache/python)

# ---- virtual environment -----------------------------------------------------------

key="$python $("$python" --version)"
if ! .venv/bin/python -c '' 2>/dev/null || ! is_done venv "$key"; then
	say "making the virtual environment .venv with $("$python" --version), $python"
	rm -rf .venv .cache/stamps
	logged .cache/log/venv.log "$python" -m venv .venv || die 'python -m venv failed'
	set_done venv "$key"
fi

require() {
	local file=requirements/$1.txt key
	[ -e "$file" ] || return 0
	key=$(digest requirements)
	if ! is_done "require-$1" "$key"; then
		say "installing $file"
		logged ".cache/log/require-$1.log" .venv/bin/python -m pip install \
			--disable-pip-version-check -r "$file" || die "cannot install $file"
		set_done "require-$1" "$key"
	fi
}
require build
require "$for_what"

# ---- the package ---------------------------------------------------------------------

# One built with every engine serves for all.
if [ "$for_what" = check ] || [ "$for_what" = bench ]; then
	stamp=package-every-engine
	PKG_CONFIG_PATH=$(scripts/zlib-ng.sh)${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
	export PKG_CONFIG_PATH
else
	stamp=package
fi
key=$(digest include src cli python meson* pyproject.toml)
if ! is_done $stamp "$key"; then
	say 'building the package and installing it into .venv'
	rm -f .cache/stamps/package*
	logged .cache/log/package.log .venv/bin/python -m pip install --disable-pip-version-check \
		--no-build-isolation --no-deps --no-index --force-reinstall \
		--config-settings=build-dir=build/$stamp . || die 'the package does not build'
	set_done package "$key"
	set_done $stamp "$key"
fi
