#!/bin/bash
# check.sh: every test there is. One line a step, then a summary; what a step that failed
# had to say is shown at once, the whole of it stands in build/check/log.
. "$(dirname "$0")/common.sh"

begin build/check

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
		test_c sanitized --no-suite rules
}

# only ENGINE: zlib and this one; the tests of what uses an engine.
only() {
	local engine options=()
	for engine in libdeflate isal zlib-ng; do
		options+=("-D$engine=$([ $engine = "$1" ] && echo enabled || echo disabled)")
	done
	build_c "$1" gcc -Doptimization=1 -Dcli=false "${options[@]}" && test_c "$1" --suite engines
}

# One process, of some minutes: it runs beside all the others. Not by what they leave over, since
# many of its tests wait for five seconds at most.
python scripts/compat.py --timeout 120 >$out/peer.log 2>&1 </dev/null &
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

summary
