# Without FILE, and for -, the standard streams.
echo one | agz compress | agz decompress
echo two | agz compress - | agz cat
echo three | agz compress -o three.gz
gzip -dc three.gz
agz cat three.gz - three.gz <three.gz
agz decompress -o four <three.gz
cat four
stat -c %a three.gz four
agz compress </dev/null | agz verify -
# A pipe has neither name nor time; a file that is standard input has a time.
make a text
echo x | agz compress | agz inspect --json - | grep -o '"mtime": [0-9]*, "original_filename": [a-z]*'
agz compress <a | agz inspect --json - | grep -o '"mtime": [0-9]*, "original_filename": [a-z]*'
list
