# What exists is not overwritten without -f, and the input stays.
make a new
make a.gz old
status agz compress a
status agz compress -q a
cat a.gz
agz compress -f a
gzip -dc a.gz
make a old
status agz decompress a.gz
status agz decompress -k -o a a.gz
cat a
agz decompress -kf a.gz
cat a
list
