"""One simulated history, from its seed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from commit_cases import new_target, table_schema
from polynya.arrow import shared_write
from polynya.storage import MemoryStorage
from polynya.table import entries, group
from polynya.table.commit import Target
from polynya.table.history import TableRoot
from polynya.table.manifest_cache import SHARED
from simulator import actors
from simulator.judge import Judge
from simulator.store import SimulatedStore
from simulator.world import Rates, World

#: Manifests are merged never, at once, or by size, so that every way of merging meets every race.
MERGES = (
    {},
    {"manifest.merge-min-count": "2"},
    {"manifest.merge-min-count": "3", "manifest.full-compaction-threshold-size": "1 b"},
    {"manifest.target-file-size": "1 kb", "manifest.full-compaction-threshold-size": "4 kb"},
)


class _InlineReaders:
    """Reads one manifest after the other: other threads would make a history unrepeatable."""

    map = staticmethod(map)


def run(
    seed: int,
    rates: Rates | None = None,
    *,
    creates_atomically: bool = True,
    trace: Callable[[str], None] | None = None,
) -> World:
    """Run the history of the seed; AssertionError says which invariant does not hold."""
    world = World(seed, rates or _rates(seed), trace)
    storage = MemoryStorage(f"memory://simulated-{seed}", clock=lambda: world.time_ms)
    store = SimulatedStore(storage, world, creates_atomically=creates_atomically)
    schema = table_schema(options={**world.random.choice(MERGES), "commit.max-retries": "20"})
    made = new_target(storage, schema)
    target = Target(TableRoot(store), made.schema, world.surroundings())
    judge = Judge(storage, made)
    crew = actors.Crew(target, judge, world.random)
    for number in range(world.random.randint(1, 3)):
        world.add(f"writer{number}", partial(actors.writer, crew, f"writer{number}", world.random.randint(1, 2)))
    for number in range(world.random.choice((0, 0, 4))):
        name = f"grouped{number}"
        world.add(name, partial(actors.grouped_writer, crew, name, world.random.randint(1, 2)))
    others = {
        "compactor": partial(actors.compactor, crew, "compactor"),
        "overwriter": partial(actors.overwriter, crew, "overwriter"),
        "packer": partial(actors.manifest_compactor, crew, "packer"),
        "reader": partial(actors.reader, crew, "reader", 2),
    }
    for name in world.random.sample(sorted(others), 2):
        world.add(name, others[name])
    world.after_step = judge.after_step
    with _repeatable():
        world.run()
    judge.verdict()
    return world


def _rates(seed: int) -> Rates:
    """Every fourth history has a store that never fails: pure races."""
    return Rates(0, 0, 0, 0, 0, 0) if seed % 4 == 0 else Rates()


@contextmanager
def _repeatable() -> Iterator[None]:
    """Nothing remembered from earlier histories, and no threads but the actors'."""
    readers = entries._READERS
    entries._READERS = _InlineReaders()
    SHARED.clear()
    shared_write.TURNS.forget()
    group.TURNS.forget()
    try:
        yield
    finally:
        entries._READERS = readers
