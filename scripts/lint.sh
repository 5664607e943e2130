#!/bin/bash
# lint.sh [--fix]: the style of Python by ruff and mypy, of C by clang-format where it is
# the release that .clang-format was written for; other releases disagree with it.
. "$(dirname "$0")/common.sh"

format_c() {
	! command -v clang-format-14 >/dev/null || git ls-files '*.c' '*.h' | xargs clang-format-14 "$@"
}

if [ "${1-}" = --fix ]; then
	ruff check --quiet --fix .
	ruff format --quiet .
	format_c -i
fi
ruff check --quiet .
ruff format --check --quiet .
mypy python/agz
format_c --dry-run -Werror
