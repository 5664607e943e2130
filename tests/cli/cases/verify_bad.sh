# Each way to be wrong: status 1, one line that names file, member and offset.
gz good 'some text that is long enough to be cut'
size=$(stat -c %s good)
head -c $((size - 3)) good >cut_trailer
head -c $((size - 20)) good >cut_data
head -c 5 good >cut_header
cp good crc && poke crc -8 00
cp good isize && poke isize -4 ff
cp good method && poke method 2 07
cp good flags && poke flags 3 e0
cp good type && poke type 10 07
(cat good && echo junk) >junk
(cat good && head -c 10 /dev/zero && echo junk) >padded_junk
(cat good good crc) >third
echo '<!doctype html>' >html
for file in cut_trailer cut_data cut_header crc isize method flags type junk padded_junk third html; do
	status agz verify $file
done 2>&1
status agz verify --json third
status agz inspect third
status agz inspect --json third
status agz verify good html good
status agz verify -q --json good html missing
