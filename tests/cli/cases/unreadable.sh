# What cannot be read is status 2, whichever verb.
mkdir dir dir.gz
for verb in cat verify inspect; do
	status agz $verb missing
	status agz $verb dir
done
status agz compress missing dir
status agz decompress missing.gz dir.gz
status agz verify --json missing
status agz inspect --json dir missing
status agz cat dir/
mkfifo fifo fifo.gz
status agz compress fifo
status agz decompress fifo.gz
make a text
status agz compress -o nowhere/a.gz a
status agz compress -o dir a
list . dir
