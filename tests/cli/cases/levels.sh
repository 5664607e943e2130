# Each level is that of zlib, with and without --fast a valid file.
seq 20000 >numbers
touch -d @1000000000 numbers
for level in 1 2 3 4 5 6 7 8 9; do
	agz compress -$level -c numbers >digit
	agz compress --level $level -c numbers >long
	cmp digit long
	python3 -c 'import gzip, sys
data = open("numbers", "rb").read()
want = gzip.compress(data, int(sys.argv[1]), mtime=1000000000)
got = open("digit", "rb").read()
print(got[:3] + got[4:10] + got[18:] == want[:3] + want[4:10] + want[10:])' $level
	agz compress --fast -$level -c numbers | gzip -dc | cmp - numbers
done
agz compress --level 0 -c numbers | gzip -dc | cmp - numbers
agz compress --level -1 -nc numbers >default
agz compress -nc numbers | cmp - default
