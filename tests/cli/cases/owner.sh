# Owner, mode less set-user-ID and the like, and the whole time are kept.
make a text
[ "$(id -u)" != 0 ] || chown 1234:2345 a
chmod 4751 a
touch -d '2001-02-03 04:05:06.789012345' a
stat -c '%u %g %y' a >before
agz compress a
stat -c '%u %g %y' a.gz | cmp - before
stat -c %a a.gz
chmod 604 a.gz
agz decompress a.gz
stat -c '%u %g %y' a | cmp - before
stat -c %a a
