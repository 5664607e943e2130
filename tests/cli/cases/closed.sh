# A standard stream that is closed is a failure to use it, and no file gets its number.
make a text
gzip -kn a
stuck() {
	timeout 20 "$@"
}
to_closed() {
	stuck "$@" >&-
}
status stuck agz cat <&-
status stuck agz compress <&-
status stuck agz decompress -k -f a.gz <&-
status to_closed agz cat a.gz
status to_closed agz compress -c a
status to_closed agz verify --json a.gz
# What is said to nobody does not get into an output.
status stuck agz decompress -k -f a.gz missing.gz 2>&-
cat a
status stuck agz compress -k -f a missing <&- 2>&-
agz cat a.gz
list
