# Reports of valid files: words, JSON, nothing.
gz a one
cat a a >two
: >empty
agz verify a
agz verify two empty
agz verify --json two
agz verify --json two empty
agz verify -q a two
