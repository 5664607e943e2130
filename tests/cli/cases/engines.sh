# AGZ_ENGINE chooses; what it cannot be is an error of the command.
make a text
AGZ_ENGINE=zlib agz compress -k a
AGZ_ENGINE=zlib agz cat a.gz
status env AGZ_ENGINE=bogus agz cat a.gz
AGZ_THREADS=1 agz verify a.gz
