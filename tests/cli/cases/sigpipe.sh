# A reader that goes away ends it quietly, as it ends cat.
set +o pipefail
yes 'a line of text' | head -n 300000 | gzip -1 >big.gz
yes 'a line of text' | head -n 300000 >big
agz cat big.gz | head -n 1
echo "${PIPESTATUS[0]}"
agz decompress -c big.gz | head -n 1
echo "${PIPESTATUS[0]}"
head -c 8000000 /dev/urandom >noise
agz compress -1 -c noise | head -c 0
echo "${PIPESTATUS[0]}"
# Told to ignore the signal, it says what happened.
(trap '' PIPE; exec agz cat big.gz) | head -n 1
echo "${PIPESTATUS[0]}"
