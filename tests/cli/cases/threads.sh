# Several files at once: the same as one after another, for good and bad.
mkdir one many
for i in $(seq 30); do
	seq $((i * 300)) >one/$i
done
cp -p one/* many
agz compress one/*
agz compress --threads 4 many/*
for i in one/*; do
	cmp $i many/${i#one/}
done
status agz compress --threads 4 many/* 2>log
grep -c unchanged log
for i in 3 13 23; do
	poke many/$i.gz -8 00
	poke many/$i.gz -7 00
done
status agz decompress --threads 4 many/*.gz 2>log
sed 's/offset [0-9]*/offset N/' log | sort
ls -A many | grep -v '^[0-9]*$'
ls -A many | wc -l
for i in 1 2 30; do
	gzip -dc one/$i.gz | cmp - many/$i
done
