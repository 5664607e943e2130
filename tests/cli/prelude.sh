# Read by bash before each case.

# make NAME TEXT: a file with a known time and mode.
make() {
	printf '%s\n' "$2" >"$1"
	chmod 640 "$1"
	touch -d @1000000000 "$1"
}

# gz NAME TEXT: NAME, a gzip file of one member, the same whatever makes it.
gz() {
	printf '%s\n' "$2" | gzip -n >"$1"
}

# poke FILE OFFSET HEX: overwrites one byte; a negative offset counts from the end.
poke() {
	local at=$2
	[ "$at" -ge 0 ] || at=$(($(stat -c %s "$1") + at))
	printf "\\x$3" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

# status COMMAND...: its status on standard output, whatever it is.
status() {
	local rc=0
	"$@" || rc=$?
	printf 'status %d\n' "$rc"
}

# All files here, the hidden ones as well.
list() {
	LC_ALL=C ls -A "$@"
}
