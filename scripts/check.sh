#!/bin/bash
# check.sh: every test there is. One line a step, then a summary; what a step that failed
# had to say is shown at once, the whole of it stands in build/check/log.
. "$(dirname "$0")/common.sh"

scripts/setup.sh check
PKG_CONFIG_PATH=$(scripts/zlib-ng.sh)${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
out=build/check
logs=$out/log
rm -rf $out
mkdir -p $logs
failed=()
steps=0

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

# test_c NAME ARGUMENT...
test_c() {
	meson test -C "$out/$1" --print-errorlogs "${@:2}"
}

every_engine() {
	build_c gcc gcc -Dzlib-ng=enabled -Ddebug=true "--prefix=$PWD/$out/root" && test_c gcc
}

# Its warnings; what it makes of the tests shows under the sanitizers.
by_clang() {
	build_c clang clang -Dzlib-ng=enabled && test_c clang --suite rules
}

# Sanitizers see more where the optimiser did less.
sanitized() {
	build_c sanitized clang -Dbuildtype=debug -Doptimization=1 -Db_lundef=false \
		-Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=all &&
		test_c sanitized --no-suite rules -t 4
}

# only ENGINE: zlib and this one; the tests of what uses an engine.
only() {
	local engine options=()
	for engine in libdeflate isal zlib-ng; do
		options+=("-D$engine=$([ $engine = "$1" ] && echo enabled || echo disabled)")
	done
	build_c "$1" gcc -Doptimization=1 -Dcli=false "${options[@]}" && test_c "$1" --suite engines
}

# One process, of some minutes: it runs beside all the others.
nice python scripts/compat.py >$out/peer.log 2>&1 </dev/null &
peer=$!
trap 'kill $peer 2>/dev/null || :' EXIT
peer_tests() {
	local status=0
	wait $peer || status=$?
	cat $out/peer.log
	return $status
}

step 'lint' scripts/lint.sh
step 'C, gcc, every engine' every_engine
step 'C, clang' by_clang
step 'C, clang, ASan and UBSan' sanitized
step 'C, zlib alone' only zlib
step 'C, zlib and libdeflate' only libdeflate
step 'C, zlib and ISA-L' only isal
step 'C, zlib and zlib-ng' only zlib-ng
step 'C, leaks under valgrind' test_c gcc --setup valgrind --suite leaks
step 'the README, on what is installed' scripts/check_readme.sh $out/gcc
step 'Python and the command' python -m pytest -q -n 2
step "the peer's own tests" peer_tests

tests=$(cat $out/*/meson-logs/testlog*.txt $logs/*.log |
	sed -nE 's/.*\[  PASSED  \] ([0-9]+).*/\1/p; s/.*\b([0-9]+) passed.*/\1/p' |
	paste -sd+)
say "$((${tests:-0})) tests in $steps steps, $SECONDS s; the logs are in $logs"
printf '%d passed, %d failed\n' $((steps - ${#failed[@]})) ${#failed[@]}
[ ${#failed[@]} = 0 ] || die "failed: $(printf '%s; ' "${failed[@]}")"
