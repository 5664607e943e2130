# Members, in words as `python -m aiogzip` has them, and as JSON.
make first one
gzip -c first >a
gz b two
cat a b >ab
agz inspect ab
agz inspect --json ab
agz inspect --json a b
# Extra field deadbeef, name "n\374", comment "c", header CRC (right).
printf '\x1f\x8b\x08\x1e\x01\x00\x00\x00\x00\x03\x04\x00\xde\xad\xbe\xefn\xfc\x00c\x00' >full
python3 -c 'import sys, zlib
head = open("full", "rb").read()
open("full", "wb").write(head + (zlib.crc32(head) & 0xffff).to_bytes(2, "little"))'
tail -c +11 b >>full
agz inspect full
agz inspect --json full
poke full 21 00
status agz inspect full
agz inspect -q ab
