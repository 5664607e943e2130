#!/bin/sh
# check.sh PROGRAM: runs an example over ten files at once, of which two cannot be read, and
# holds what it says against gzip(1).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for i in 1 2 3 4 5 6 7 8; do
	seq $((i * i * i * 1000)) | gzip >"$dir/$i.gz"
	lines=$(gzip -dc "$dir/$i.gz" | wc -l)
	bytes=$(gzip -dc "$dir/$i.gz" | wc -c)
	# The CRC-32 is in the trailer, its lowest byte first.
	crc=$(tail -c 8 "$dir/$i.gz" | od -An -tx1 -N4 | tr -d '\n' | awk '{print $4 $3 $2 $1}')
	echo "$dir/$i.gz: $((lines)) lines, $((bytes)) bytes, crc32 $crc" >>"$dir/good"
done
"$1" "$dir"/?.gz >"$dir/out"
diff "$dir/good" "$dir/out"

head -c 1000 "$dir/8.gz" >"$dir/9.gz"
cp "$dir/good" "$dir/want"
echo "$dir/9.gz: truncated" >>"$dir/want"
echo "$dir/x.gz: system call failed: No such file or directory" >>"$dir/want"
status=0
LC_ALL=C "$1" "$dir"/?.gz "$dir/x.gz" >"$dir/out" || status=$?
[ "$status" = 1 ]
sed 's/truncated:.*/truncated/' "$dir/out" | diff "$dir/want" -
"$1" # of no files, nothing
