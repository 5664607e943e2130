#!/bin/bash
# fuzz.sh [SECONDS] [TARGET...]: each target of tests/fuzz under libFuzzer, for that long (600),
# two at a time, then the package's surfaces by hypothesis. What grew the coverage stays in
# build/fuzz/corpus and is where the next run starts; a finding is in build/fuzz/found.
. "$(dirname "$0")/common.sh"

seconds=${1:-${FUZZ_SECONDS:-600}}
shift || :
scripts/setup.sh check
PKG_CONFIG_PATH=$(scripts/zlib-ng.sh)${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
out=$PWD/build/fuzz
logs=$out/log

build() {
	[ -e "$out/meson/build.ninja" ] ||
		CC=clang meson setup "$out/meson" -Dfuzz=true -Dtests=enabled -Dexamples=disabled \
			-Dbuildtype=debug -Doptimization=2 -Db_lundef=false -Dzlib-ng=enabled \
			-Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=all
	meson compile -C "$out/meson" fuzz
}
say 'building tests/fuzz with clang for libFuzzer'
logged "$logs/build.log" build || die 'the targets do not build'

# fuzz TARGET
fuzz() {
	local log=$logs/$1.log status=0
	mkdir -p "$out/corpus/$1" "$out/found"
	nice "$out/meson/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -timeout=25 \
		-rss_limit_mb=2048 -artifact_prefix="$out/found/$1-" "$out/corpus/$1" \
		"$out/meson/tests/fuzz/seeds/$1" "tests/fuzz/found/$1" >"$log" 2>&1 || status=$?
	[ $status = 0 ] || grep -E 'not so|ERROR|SUMMARY|Test unit' "$log" >&2 || :
	printf '%-7s %-12s %s\n' "$([ $status = 0 ] && echo ok || echo FOUND)" "$1" \
		"$(grep -E '^#[0-9]+.*cov:' "$log" | tail -n 1 | sed -E 's/^#([0-9]+)[^c]*/\1 runs, /')"
	return $status
}
python_surface() {
	AGZ_FUZZ_SECONDS=$seconds nice python -m pytest -q tests/python/test_fuzz.py \
		>"$logs/python.log" 2>&1 || {
		tail -n 40 "$logs/python.log" >&2
		printf 'FOUND   python\n'
		return 1
	}
	printf 'ok      python       %s\n' "$(tail -n 1 "$logs/python.log")"
}

one() {
	if [ "$1" = python ]; then python_surface; else fuzz "$1"; fi
}
export -f one fuzz python_surface
export out logs seconds
[ $# -gt 0 ] || set -- $(basename -a tests/fuzz/found/*/) python
say "$# targets, $seconds s each, two at a time"
printf '%s\n' "$@" | xargs -P 2 -I '{}' bash -c 'one {}' ||
	die "there were findings; they are in $out/found, the logs in $logs"
