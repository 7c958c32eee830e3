"""Run many histories, or replay one."""

import argparse
import time

from simulator.history import run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--replay", type=int, help="run this seed alone and print every step")
    given = parser.parse_args()
    if given.replay is not None:
        run(given.replay, trace=print)
        return
    started, steps = time.perf_counter(), 0
    for seed in range(given.seed, given.seed + given.histories):
        try:
            steps += run(seed).step
        except AssertionError as error:
            raise SystemExit(f"seed {seed}: {error}\nreplay: python -m simulator --replay {seed}") from error
    print(f"{given.histories} histories, {steps} steps, {time.perf_counter() - started:.1f} s: all sound")


if __name__ == "__main__":
    main()
