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

# c_tests NAME COMPILER OPTION...: a build of its own, its tests, and no warning.
c_tests() {
	CC=$2 meson setup "$out/$1" -Dwerror=true -Dtests=enabled -Dexamples=enabled "${@:3}" &&
		meson compile -C "$out/$1" &&
		meson test -C "$out/$1" --print-errorlogs
}

# sanitized NAME: sanitizers see more where the optimiser did less.
sanitized() {
	c_tests "$1" clang -Dbuildtype=debug -Doptimization=1 -Db_lundef=false \
		-Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=all
}

# engines NAME ENGINE...: zlib and these, no other.
engines() {
	local name=$1 engine options=()
	shift
	for engine in libdeflate isal zlib-ng; do
		case " $* " in
		*" $engine "*) options+=("-D$engine=enabled") ;;
		*) options+=("-D$engine=disabled") ;;
		esac
	done
	c_tests "$name" gcc -Doptimization=1 "${options[@]}"
}

leaks() {
	meson test -C $out/gcc --print-errorlogs --setup valgrind --suite leaks
}

step 'lint' scripts/lint.sh
step 'C, gcc, every engine' c_tests gcc gcc -Dzlib-ng=enabled -Ddebug=true "--prefix=$PWD/$out/root"
step 'C, clang, every engine' c_tests clang clang -Dzlib-ng=enabled
step 'C, clang, ASan and UBSan' sanitized sanitized
step 'C, zlib alone' engines zlib
step 'C, zlib and libdeflate' engines libdeflate libdeflate
step 'C, zlib and ISA-L' engines isal isal
step 'C, zlib and zlib-ng' engines zlib-ng zlib-ng
step 'leaks under valgrind' leaks
step 'the README, on what is installed' scripts/check_readme.sh $out/gcc
step 'Python and the command' python -m pytest -q -n 2

tests=$(cat $out/*/meson-logs/testlog*.txt $logs/*.log |
	sed -nE 's/.*\[  PASSED  \] ([0-9]+).*/\1/p; s/.*\b([0-9]+) passed.*/\1/p' |
	paste -sd+)
say "$((${tests:-0})) tests in $steps steps, $SECONDS s; the logs are in $logs"
printf '%d passed, %d failed\n' $((steps - ${#failed[@]})) ${#failed[@]}
[ ${#failed[@]} = 0 ] || die "failed: $(printf '%s; ' "${failed[@]}")"
