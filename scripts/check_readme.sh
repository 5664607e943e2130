#!/bin/bash
# check_readme.sh BUILD: installs that build under its prefix and uses what README.md shows
# from outside the tree: the C program, with both libraries, the Python program, the command.
. "$(dirname "$0")/common.sh"

build=$PWD/$1
meson install -C "$build" --quiet
prefix=$(meson introspect "$build" --buildoptions |
	python -c 'import json, sys
print(*(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))')
pc=$(find "$prefix" -name agz.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=$(dirname "$pc")${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
python=$PWD/.venv/bin/python

block() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p}" README.md
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
block c >"$work/program.c"
block python >"$work/program.py"
cd "$work"
set -x

cc -Wall -Werror program.c -o shared $(pkg-config --cflags --libs agz) "-Wl,-rpath,$libdir"
cc -Wall -Werror program.c -o static \
	$(pkg-config --static --cflags --libs agz | sed 's/-lagz\b/-l:libagz.a/')
readelf -d shared | grep -q 'NEEDED.*libagz\.so'
! readelf -d static | grep 'NEEDED.*libagz\.so'
for program in ./shared ./static; do
	seq 200000 >lines
	gzip <lines | "$program" | cmp - lines
done

[ "$("$python" program.py | tail -n 1)" = 'second line' ]
[ "$(gzip -dc log.gz | wc -l)" = 2 ]

for agz in "$prefix/bin/agz" "$python -m agz"; do
	echo 'as it was' >access.log
	$agz compress -k --level 9 access.log
	$agz cat access.log.gz | cmp - access.log
	$agz verify --json access.log.gz
	$agz inspect access.log.gz
	rm access.log*
done
