# -n, and times that the header cannot hold, leave 0.
make a text
agz compress -nc a | agz inspect - | tail -n 1
touch -d @-5 a
agz compress -c a | agz inspect - | tail -n 1
touch -d @4294967296 a
agz compress -c a | agz inspect - | tail -n 1
touch -d @4294967295 a
agz compress -c a | agz inspect - | tail -n 1
