# FILE.gz becomes FILE and keeps mode and time.
make notes 'some notes'
gzip notes
chmod 604 notes.gz
touch -d @1234567890 notes.gz
agz decompress notes.gz
list
stat -c '%a %Y' notes
cat notes
