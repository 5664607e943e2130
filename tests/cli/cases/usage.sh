# Wrong usage is status 2 and says how to get help.
for args in '' 'bogus' '--bogus' 'verify' 'inspect --json' 'compress --level 10 a' \
	'compress --level x a' 'compress --threads 0 a' 'cat -k a' 'verify --fast a' \
	'compress -o x a b' 'decompress -9 a'; do
	status agz $args 2>&1 | head -n 1
	agz $args >/dev/null 2>&1
	echo "$args: $?"
done
agz --version
agz verify --version
agz --help | grep -A 5 '^  compress'
for verb in compress decompress cat inspect verify; do
	agz $verb --help | head -n 1
done
