#!/bin/bash
# lint.sh: Python by ruff and mypy, C by clang-format where it is the release that
# .clang-format was written for.
. "$(dirname "$0")/common.sh"

ruff check --quiet .
ruff format --check --quiet .
mypy python/agz
if command -v clang-format-14 >/dev/null; then
	git ls-files '*.c' '*.h' | xargs clang-format-14 --dry-run -Werror
fi
