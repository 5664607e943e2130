# Sourced by the other scripts: the root of the tree, how to speak, and what is done already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.venv/bin:$PATH"

say() {
	printf 'agz: %s\n' "$*"
}

die() {
	printf 'agz: cannot go on: %s\n' "$*" >&2
	exit 1
}

# logged FILE COMMAND...: its output goes to FILE, and is shown only if it fails.
logged() {
	local log=$1
	shift
	mkdir -p "$(dirname "$log")"
	"$@" >"$log" 2>&1 </dev/null || {
		tail -n 40 "$log" >&2
		return 1
	}
}

# digest PATH...: one hash of all these files and folders.
digest() {
	find "$@" -type f ! -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16
}

# A step is done if it left a stamp with the same key.
is_done() {
	[ "$(cat ".cache/stamps/$1" 2>/dev/null)" = "$2" ]
}

set_done() {
	mkdir -p .cache/stamps
	printf '%s\n' "$2" >".cache/stamps/$1"
}

# ---- the steps of check.sh and check-deep.sh ------------------------------------------

# begin FOLDER: an empty one for builds and logs, after all is set up that steps need.
begin() {
	scripts/setup.sh check
	PKG_CONFIG_PATH=$(scripts/zlib-ng.sh)${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
	export PKG_CONFIG_PATH
	out=$1
	logs=$out/log
	rm -rf "$out"
	mkdir -p "$logs"
	failed=()
	steps=0
}

# step TITLE COMMAND...
step() {
	local title=$1 name=${1,,} start=$SECONDS result=ok
	shift
	steps=$((steps + 1))
	if ! logged "$logs/${name//[^a-z0-9]/-}.log" "$@"; then
		result=FAILED
		failed+=("$title")
	fi
	printf '%-7s %-44s %4d s\n' "$result" "$title" $((SECONDS - start))
}

# build_c NAME COMPILER OPTION...: one without a warning.
build_c() {
	CC=$2 meson setup "$out/$1" -Dwerror=true -Dtests=enabled -Dexamples=enabled "${@:3}" &&
		meson compile -C "$out/$1"
}

# test_c NAME ARGUMENT...: on a busy machine too; only a test that hangs meets its timeout.
test_c() {
	meson test -C "$out/$1" --print-errorlogs -t 20 "${@:2}"
}

# Adds up, and fails if a step did.
summary() {
	local tests
	tests=$(cat "$out"/*/meson-logs/testlog*.txt "$logs"/*.log |
		sed -nE 's/.*\[  PASSED  \] ([0-9]+).*/\1/p; s/.*\b([0-9]+) passed.*/\1/p' |
		paste -sd+)
	say "$((${tests:-0})) tests in $steps steps, $SECONDS s; the logs are in $logs"
	printf '%d passed, %d failed\n' $((steps - ${#failed[@]})) ${#failed[@]}
	[ ${#failed[@]} = 0 ] || die "failed: $(printf '%s; ' "${failed[@]}")"
}
