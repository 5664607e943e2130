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
