# Short names for dev.py, which does the work and explains itself: python3 dev.py --help
.PHONY: demo check test bench
demo check test bench:
	@python3 dev.py $@
