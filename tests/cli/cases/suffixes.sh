# What has a suffix is not compressed, what has none is not decompressed.
make a.gz x
make b.tgz x
make c.GZ x
make d.gzx x
status agz compress a.gz b.tgz c.GZ d.gzx
status agz compress -f a.gz
list
status agz decompress b.tgz.gz a.gz.gz d.gzx.gz a.gz
gz e.tgz 'tar'
gz f.TAZ 'tar'
gz .gz 'no stem'
gz g.GZ 'loud'
mkdir dir.gz
gz dir.gz/h 'suffix of the folder alone'
status agz decompress e.tgz f.TAZ .gz g.GZ dir.gz/h
list . dir.gz
