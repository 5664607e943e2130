#!/bin/bash
# check-deep.sh: what check.sh has no time for: sanitizers over threads and under Python, more of
# what is drawn at random, a short turn of each fuzz target. Its logs, and the sanitizers'
# reports, are in build/deep/log.
. "$(dirname "$0")/common.sh"

begin build/deep
reports=$PWD/$logs/report

# Fails if a sanitizer wrote a report; a test need not have noticed.
no_reports() {
	local found=("$reports.$1".*)
	[ ! -e "${found[0]}" ] || ! cat "${found[@]}"
}

# build_python NAME OPTION...: the package in build/deep/NAME/root.
build_python() {
	local root=$PWD/$out/$1/root
	CC=gcc meson setup "$out/$1" -Dpython=true -Dtests=disabled -Dexamples=disabled \
		-Dzlib-ng=enabled -Dbuildtype=debug -Doptimization=1 -Db_lundef=false \
		"-Dpython.platlibdir=$root" "-Dpython.purelibdir=$root" "${@:2}" &&
		meson compile -C "$out/$1" &&
		meson install -C "$out/$1" --quiet --tags python-runtime
}

# pytest_with NAME LIBRARY OPTION...: on that package, with a sanitizer's library loaded first.
pytest_with() {
	local name=$1 library
	library=$(gcc "-print-file-name=lib$2.so")
	shift 2
	AGZ_SANITIZER=$name LD_PRELOAD=$library PYTHONMALLOC=malloc PYTHONPATH=$PWD/$out/$name/root \
		ASAN_OPTIONS=detect_leaks=0:log_path=$reports.$name \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:log_path=$reports.$name \
		TSAN_OPTIONS=suppressions=$PWD/tests/sanitizers/tsan.txt:log_path=$reports.$name \
		setarch -R python -m pytest -q -n 2 --durations=20 "$@"
}

# What parses, converts and frees, and each way a file's life may go. A test that a sanitizer
# changes knows so by itself (SANITIZED in tests/python/support.py).
# The command has the sanitizer linked in, and its tests use programs that ASan dislikes.
python_asan() {
	build_python asan -Db_sanitize=address,undefined &&
		pytest_with asan asan tests/python/test_{codec,errors,fuzz,reading,text}.py \
			tests/python/test_{writing,lifecycle,storm}.py &&
		AGZ_COMMAND=$PWD/$out/asan/root/agz/_command/agz ASAN_OPTIONS=detect_leaks=1 \
			python -m pytest -q -n 2 tests/cli/test_cases.py tests/cli/test_streams.py &&
		no_reports asan
}

python_tsan() {
	build_python tsan -Db_sanitize=thread &&
		pytest_with tsan tsan tests/python/test_{loop,lifecycle,storm,process}.py \
			-k 'threads or not process' &&
		no_reports tsan
}

c_tsan() {
	build_c tsan-c gcc -Dcli=false -Dexamples=disabled -Dbuildtype=debug -Doptimization=1 \
		-Db_lundef=false -Db_sanitize=thread -Dzlib-ng=enabled &&
		setarch -R meson test -C $out/tsan-c --print-errorlogs -t 20 \
			pool waker source sink reader writer block broken at_hand leaving faults
}

# On the package that is installed.
more_of_it() {
	AGZ_HOSTILE=10 AGZ_KILLS=200 AGZ_STORM_TASKS=8000 AGZ_STORM_SEED=2 \
		python -m pytest -q -n 2 --durations=10 tests/python/test_{hostile,storm,kill}.py \
		tests/cli/test_kill.py
}

step 'C, TSan' c_tsan
step 'Python and the command, ASan and UBSan' python_asan
step 'Python, TSan' python_tsan
step 'hostile files, storms and kills, more of them' more_of_it
step 'each fuzz target, 10 s' scripts/fuzz.sh 10

summary
