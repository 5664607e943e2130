# A signal leaves nothing behind, and the status says which one it was.
for signal in HUP INT TERM; do
	mkfifo source
	(trap - $signal; exec agz compress -o out.gz source) &
	exec 3>source
	head -c 1000000 /dev/urandom >&3
	until ls .agz-?????? >/dev/null 2>&1; do
		read -rt 0.01 <> <(:) || :
	done
	list | wc -l
	kill -$signal $!
	status wait $! 2>/dev/null
	exec 3>&-
	rm source
	list
done
