# -k, -c and -o keep the input; -c and -o - write to standard output.
make a 'text'
agz compress -k a
list
agz compress -c a | gzip -dc
agz compress -o - a | gzip -dc
agz compress -o b.gz a
stat -c '%n %a %Y' a.gz b.gz
gzip -dc b.gz
agz decompress --keep --force a.gz
agz decompress -o c b.gz
agz decompress --stdout a.gz b.gz
list
