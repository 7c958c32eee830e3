"""Universal compaction: which sorted runs of a primary-key bucket are merged, and to which level.

The runs come newest first: every file of level 0 is a run, then each deeper level is one. A unit is always the first
runs of that list, so what stays is older than what is merged. In order of asking:

| why | what |
|---|---|
| level 0 has many files, an interval has passed, the bucket is small, or much is new | all runs, to the top level |
| size amplification: the newer runs outweigh the last one | all runs, to the top level |
| size ratio: the next run is not larger than those before it | runs as long as that holds |
| more runs than the trigger | so many that the trigger is met, and on by size ratio |
| the table looks keys up, or always includes level 0 | all of level 0, and on by size ratio |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polynya.model.options import level_count
from polynya.model.options_keys import (
    COMPACTION_FORCE_UP_LEVEL_0,
    COMPACTION_INCREMENTAL_SIZE_THRESHOLD,
    COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT,
    COMPACTION_OFFPEAK_END_HOUR,
    COMPACTION_OFFPEAK_RATIO,
    COMPACTION_OFFPEAK_START_HOUR,
    COMPACTION_OPTIMIZATION_INTERVAL,
    COMPACTION_SIZE_RATIO,
    COMPACTION_TOTAL_SIZE_THRESHOLD,
    FULL_COMPACTION_DELTA_COMMITS,
    MERGE_ENGINE,
    NUM_SORTED_RUN_COMPACTION_TRIGGER,
)

MS_PER_HOUR = 3_600_000


@dataclass(frozen=True)
class SortedRun:
    """A run as the pick sees it; `newest_ms` is the creation time of its newest file, on the local wall clock."""

    level: int
    size_bytes: int
    newest_ms: int = 0


@dataclass(frozen=True)
class Unit:
    """The first `run_count` runs, to be merged into one of `output_level`."""

    run_count: int
    output_level: int


@dataclass(frozen=True)
class PickRules:
    """The options of a table that decide; `now_ms` is the local wall clock."""

    trigger: int = 5
    amplification_percent: int = 200
    size_ratio_percent: int = 1
    level_count: int = 6
    interval_ms: int | None = None
    total_size_bytes: int | None = None
    incremental_size_bytes: int | None = None
    always_takes_level_0: bool = False
    full_after: int | None = None  # files of level 0 at which everything is compacted
    now_ms: int = 0

    @classmethod
    def of(cls, options: Mapping[str, str], now_ms: int) -> "PickRules":
        """Read them from a table's options."""
        return cls(
            trigger=NUM_SORTED_RUN_COMPACTION_TRIGGER.of(options),
            amplification_percent=COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT.of(options),
            size_ratio_percent=COMPACTION_SIZE_RATIO.of(options) + _quiet_ratio(options, now_ms),
            level_count=level_count(options),
            interval_ms=COMPACTION_OPTIMIZATION_INTERVAL.find(options),
            total_size_bytes=COMPACTION_TOTAL_SIZE_THRESHOLD.find(options),
            incremental_size_bytes=COMPACTION_INCREMENTAL_SIZE_THRESHOLD.find(options),
            always_takes_level_0=looks_up(options) or COMPACTION_FORCE_UP_LEVEL_0.of(options),
            full_after=FULL_COMPACTION_DELTA_COMMITS.find(options),
            now_ms=now_ms,
        )

    @property
    def run_count_min(self) -> int:
        """With fewer runs nothing is ever picked."""
        has_early = (self.interval_ms, self.total_size_bytes, self.incremental_size_bytes) != (None, None, None)
        if self.always_takes_level_0:
            return 1
        return min(self.trigger, 2 if has_early else self.trigger, self.full_after or self.trigger)


def looks_up(options: Mapping[str, str]) -> bool:
    """Whether compaction of level 0 must know the keys of deeper levels: rows show only once they are above level 0."""
    return MERGE_ENGINE.of(options) == "first-row"


def pick(runs: Sequence[SortedRun], rules: PickRules) -> Unit | None:
    """The unit to compact now, or None."""
    level_0 = sum(run.level == 0 for run in runs)
    if rules.full_after is not None and level_0 >= rules.full_after:
        return Unit(len(runs), rules.level_count - 1)
    unit = _pick_early(runs, rules) or _pick_amplified(runs, rules)
    if unit is None and len(runs) >= rules.trigger:
        unit = _grow(runs, 1, rules)
    if unit is None and len(runs) > rules.trigger:
        unit = _grow(runs, len(runs) - rules.trigger + 1, rules)
    if unit is None and rules.always_takes_level_0 and level_0:
        unit = _grow(runs, level_0, rules, forced=True)
    return unit


def pick_full(runs: Sequence[SortedRun], top_level: int) -> Unit | None:
    """Everything, unless there is nothing or it is all on the top level already."""
    if not runs or (len(runs) == 1 and runs[0].level == top_level):
        return None
    return Unit(len(runs), top_level)


def _pick_early(runs: Sequence[SortedRun], rules: PickRules) -> Unit | None:
    if len(runs) < 2:
        return None
    top = rules.level_count - 1
    everything = Unit(len(runs), top)
    if rules.interval_ms is not None:
        last_full_ms = max((run.newest_ms for run in runs if run.level == top), default=None)
        if last_full_ms is None or rules.now_ms - last_full_ms > rules.interval_ms:
            return everything
    if rules.total_size_bytes is not None and sum(run.size_bytes for run in runs) < rules.total_size_bytes:
        return everything
    new = sum(run.size_bytes for run in runs if run.level != top)
    if rules.incremental_size_bytes is not None and new > rules.incremental_size_bytes:
        return everything
    return None


def _pick_amplified(runs: Sequence[SortedRun], rules: PickRules) -> Unit | None:
    if len(runs) < rules.trigger or not runs:
        return None
    *newer, last = (run.size_bytes for run in runs)
    if sum(newer) * 100 > rules.amplification_percent * last:
        return Unit(len(runs), rules.level_count - 1)
    return None


def _grow(runs: Sequence[SortedRun], count: int, rules: PickRules, *, forced: bool = False) -> Unit | None:
    """The first `count` runs and those behind them that are not much larger than what comes before."""
    size = sum(run.size_bytes for run in runs[:count])
    triggered = forced or count > 1
    for following in runs[count:]:
        is_larger = size * (100.0 + rules.size_ratio_percent) / 100.0 < following.size_bytes
        if is_larger and (not triggered or following.level > 1):
            break
        size += following.size_bytes
        count += 1
        triggered = True
    return _unit(runs, count, rules.level_count - 1) if triggered else None


def _unit(runs: Sequence[SortedRun], count: int, top: int) -> Unit:
    """The unit of the first runs: to just above the next one, but never to level 0."""
    output = top if count == len(runs) else max(0, runs[count].level - 1)
    if output == 0:
        while count < len(runs):
            output = runs[count].level
            count += 1
            if output != 0:
                break
    return Unit(count, top if count == len(runs) else output)


def _quiet_ratio(options: Mapping[str, str], now_ms: int) -> int:
    """What the size ratio grows by in the quiet hours of the day; they may reach over midnight."""
    start, end = COMPACTION_OFFPEAK_START_HOUR.of(options), COMPACTION_OFFPEAK_END_HOUR.of(options)
    if start < 0 or end < 0 or start == end:
        return 0
    hour = now_ms // MS_PER_HOUR % 24
    is_quiet = start <= hour < end if start < end else hour >= start or hour < end
    return COMPACTION_OFFPEAK_RATIO.of(options) if is_quiet else 0
