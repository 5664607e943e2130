# No byte of a name reaches a terminal that could steer it.
esc=$'\e[31mred\e[0m'
make "$esc" x
make $'new\nline' x
make $'latin\xe9' x
make $'bidi\u202etxt' x
make $'c1\xc2\x9b' x
make 'back\slash' x
make 'größe 名前 😀' x
for name in *; do
	status agz verify "$name"
	agz verify --json "$name" other 2>&1
	agz decompress "$name"
done
# Nor one of a name in a header.
printf '\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03evil\x1b[2J\x9b\x7f\n\x00' >header
printf '\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00' >>header
agz inspect header
agz inspect --json header
