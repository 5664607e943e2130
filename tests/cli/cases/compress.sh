# FILE becomes FILE.gz and keeps mode and time; header: name and time, as gzip has them.
make notes 'some notes'
agz compress notes
list
stat -c '%a %Y' notes.gz
gzip -dc notes.gz
gzip -dlNv notes.gz | awk 'NR == 2 { print $NF }'
agz inspect --json notes.gz | grep -o '"mtime": [0-9]*, "original_filename": "[a-z]*"'
