# Bad input: one line, status 1, no half file, the input untouched, the others done.
gz good one
gz bad 'some text that is long enough'
poke bad -8 00
cat good bad >two.gz
cp good other.gz
cp two.gz before
status agz decompress two.gz other.gz
cmp before two.gz
cat other
status agz decompress -o out two.gz
status agz decompress -q two.gz
make target old
status agz decompress -f -o target two.gz
cat target
# What comes before the fault comes out of cat.
status agz cat two.gz good
list
