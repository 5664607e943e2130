# A full disk is reported, never success, and leaves nothing behind.
to_full() {
	"$@" >/dev/full
}
seq 100000 >numbers
gzip -k numbers
status to_full agz cat numbers.gz
status to_full agz decompress -c numbers.gz
status to_full agz compress -c numbers
status to_full agz verify numbers.gz
status to_full agz inspect --json numbers.gz
status agz compress -o /dev/full numbers
ulimit -f 16
status agz decompress -k -f numbers.gz
status agz compress --level 0 -f numbers
cmp numbers <(gzip -dc numbers.gz)
list
