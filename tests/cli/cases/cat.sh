# Several files, several members, in order; NUL bytes after the last.
gz a one
gz b two
cat a b >ab
cp ab padded
head -c 1000 /dev/zero >>padded
: >empty
agz cat a ab b empty padded
list
