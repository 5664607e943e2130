# make demo and make check set up all they need, from a bare machine on.

.PHONY: help demo check check-deep fuzz build bench load lint format clean

help:
	@echo 'make demo    set up, then run the main job and print what it measured'
	@echo 'make check   set up, then run every test'
	@echo 'make check-deep  set up, then run what takes longer: sanitizers, each fuzz target'
	@echo 'make fuzz    set up, then fuzz each part for FUZZ_SECONDS, ten minutes if not said'
	@echo 'make build   set up, build the package and install it into .venv'
	@echo 'make bench   set up, then measure agz against its peers, some fifteen minutes'
	@echo 'make load    set up, then a thousand files at once for ten minutes'
	@echo 'make lint    set up, then look at the style of Python and C'
	@echo 'make format  set up, then mend that style where a tool can'
	@echo 'make clean   remove all that the others made here'

demo:
	@scripts/setup.sh demo
	@.venv/bin/python bench/demo.py

check:
	@scripts/check.sh

check-deep:
	@scripts/check-deep.sh

fuzz:
	@scripts/fuzz.sh

build:
	@scripts/setup.sh build

bench:
	@scripts/setup.sh bench
	@.venv/bin/python -m bench

load:
	@scripts/setup.sh bench
	@.venv/bin/python -m bench.load

lint:
	@scripts/setup.sh check
	@scripts/lint.sh

format:
	@scripts/setup.sh check
	@scripts/lint.sh --fix

clean:
	rm -rf .venv .cache build
