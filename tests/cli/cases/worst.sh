# The status of several files is the largest; each is reported.
gz good.gz one
echo bad >bad.gz
status agz verify bad.gz good.gz
status agz verify bad.gz missing.gz good.gz
status agz decompress -k good.gz bad.gz missing.gz
list
