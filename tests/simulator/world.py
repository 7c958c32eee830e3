"""The schedule, the clock and the faults of one history; one thread an actor, one runs at a time."""

import random
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from polynya.table.commit import Surroundings

STEPS_MAX = 20_000
CLOCK_SKEW_MS = 5_000


class Killed(BaseException):
    """The actor's process ends here, as by kill -9."""


class Stuck(AssertionError):
    """A history that does not end."""


@dataclass
class Rates:
    """How often, of all calls, the store misbehaves."""

    before: float = 0.01
    after: float = 0.01
    late: float = 0.1  # of creates only
    after_create: float = 0.1
    stale: float = 0.3  # of listings only
    kill: float = 0.001


@dataclass(eq=False)
class Actor:
    """One thread of the history, with its turn to run."""

    name: str
    work: Callable[[], None]
    weight: float
    skew_ms: int
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    is_killed: bool = False


class World:
    """Who runs, what time it is, and what goes wrong; everything follows from the seed."""

    def __init__(self, seed: int, rates: Rates, trace: Callable[[str], None] | None = None) -> None:
        self.random = random.Random(seed)
        self.rates, self.trace = rates, trace
        self.step, self.time_ms = 0, 1_700_000_000_000
        self.actors: list[Actor] = []
        self.running: Actor | None = None
        self.failure: BaseException | None = None
        self.after_step: Callable[[], None] = lambda: None
        self._late: list[tuple[int, Callable[[], None]]] = []
        self._finished = threading.Event()

    def add(self, name: str, work: Callable[[], None]) -> None:
        weight = self.random.choice((0.2, 1.0, 1.0, 3.0))
        self.actors.append(Actor(name, work, weight, self.random.randint(-CLOCK_SKEW_MS, CLOCK_SKEW_MS)))

    def run(self) -> None:
        """Run all actors to their end, then let late calls arrive."""
        threads = [threading.Thread(target=self._live, args=(actor,), daemon=True) for actor in self.actors]
        for thread in threads:
            thread.start()
        self._hand_on()
        self._finished.wait()
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure
        self._arrive(until=None)
        self.after_step()

    def switch(self, what: str) -> None:
        """A switch point: time passes, late calls arrive, somebody goes on."""
        actor = self.running
        assert actor is not None
        self.step += 1
        self.time_ms += 1
        if self.trace is not None:
            self.trace(f"{self.step:5} {actor.name:12} {what}")
        if self.step > STEPS_MAX:
            raise Stuck(f"no end after {STEPS_MAX} steps")
        self._arrive(until=self.step)
        self.after_step()
        if self.random.random() < self.rates.kill:
            actor.is_killed = True
            raise Killed(actor.name)
        chosen = self._choose()
        if chosen is not actor:
            self.running = chosen
            chosen.turn.release()
            actor.turn.acquire()
            if self.failure is not None:
                raise Killed(actor.name)

    def arrive_late(self, act: Callable[[], None]) -> None:
        """Let something happen some steps from now."""
        self._late.append((self.step + self.random.randint(1, 60), act))

    def surroundings(self) -> Surroundings:
        return Surroundings(self.now_ms, self.sleep, self.random.random, self.new_uuid, self.wait)

    def new_uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128)))

    def now_ms(self) -> int:
        return self.time_ms + (self.running.skew_ms if self.running is not None else 0)

    def sleep(self, seconds: float) -> None:
        self.time_ms += int(seconds * 1000)
        self.switch("sleep")

    def wait(self, event: threading.Event) -> None:
        """Let others go on until one of them sets the event."""
        while not event.is_set():
            self.switch("wait")

    def _live(self, actor: Actor) -> None:
        actor.turn.acquire()
        try:
            if self.failure is None:
                actor.work()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever an actor raises is the history's failure
            self.failure = self.failure or error
        self.actors.remove(actor)
        self._hand_on()

    def _hand_on(self) -> None:
        if not self.actors:
            self.running = None
            self._finished.set()
            return
        self.running = self._choose()
        self.running.turn.release()

    def _choose(self) -> Actor:
        return self.random.choices(self.actors, [actor.weight for actor in self.actors])[0]

    def _arrive(self, until: int | None) -> None:
        due = [act for step, act in self._late if until is None or step <= until]
        self._late = [] if until is None else [one for one in self._late if one[0] > until]
        for act in due:
            act()
