"""A deterministic simulator of commits: real commit code, a store that fails, a seeded schedule.

    cd tests && python -m simulator --histories 20000 --seed 1      # a long run
    cd tests && python -m simulator --replay 4711                   # one history again, with its trace

A history has a few actors on one table: writers, a compactor, an overwriter, a manifest compactor, a reader. Each is a
thread, but only one runs at any time: every call of the store and of the clock is a switch point, where a seeded
scheduler picks who goes on. The store can fail before it acts, act and then report a failure, act late (a create that
arrives after its error was reported), and list stale; an actor can be killed at any switch point.

`judge.py` holds the invariants. A failing seed is printed, and replays exactly.
"""
