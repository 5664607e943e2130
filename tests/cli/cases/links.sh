# Links are left alone where the input would be removed.
make a text
ln -s a soft
ln a hard
status agz compress soft a
agz compress -k soft
gzip -dc soft.gz
agz compress -f hard
list
gzip -dc hard.gz
# A link to nowhere is not written through.
ln -s nowhere dangling
status agz compress -o dangling a
list
