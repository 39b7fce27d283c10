"""Synthetic users try the adaptation of the weights (D12): what it gives each of them, and what it may cost.

python -m training.adaptation.simulate
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from fivefold.learning.adaptation import NONE, Adaptation, ShownHit, adapt, learn
from fivefold.models.weights import TARGETS
from fivefold.values.query import Weights

MARGIN = 0.01
"""What no user may lose, in nDCG@10, against the global weights, at any point and on average over seeds."""

CANDIDATES, SHOWN, SCORED = 50, 10, 10
START = datetime(2025, 1, 1, tzinfo=UTC)
MIX = {"semantic": 0.55, "temporal": 0.2, "frequency": 0.1, "mixed": 0.15}
"""How often each intent is asked."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class User:
    """What someone goes by: `taste` times the question's own weights, or `fixed` ones whatever is asked."""

    name: str
    taste: tuple[float, float, float] = (1.0, 1.0, 1.0)
    fixed: tuple[float, float, float] | None = None
    careless: float = 0.15
    position: float = 0.5
    steepness: float = 20.0
    later: tuple[float, float, float] | None = None

    def wants(self, weights: Array, signals: Array, late: bool) -> Array:
        """The chance of each candidate to be the one really wanted."""
        taste = self.later if late and self.later is not None else self.taste
        own = np.array(self.fixed) if self.fixed is not None else weights * np.array(taste)
        odds = np.exp(self.steepness * (signals @ (own / own.sum()) - 1))
        return np.asarray((1 - self.careless) * odds / odds.sum() + self.careless / len(odds))


USERS = (
    User("recent", taste=(1, 4, 1)),
    User("frequent", taste=(1, 1, 4)),
    User("similar", taste=(4, 1, 1)),
    User("recent only", fixed=(0.1, 0.85, 0.05)),
    User("frequent only", fixed=(0.1, 0.05, 0.85)),
    User("similar only", fixed=(0.96, 0.02, 0.02)),
    User("even", fixed=(0.34, 0.33, 0.33)),
    User("content"),
    User("careless", careless=0.6),
    User("hasty", position=1.5),
    User("patient", position=0.0),
    User("random", careless=1.0),
)
"""'content' wants what the global weights say; 'hasty' mostly looks at the first, 'patient' at all alike."""

FICKLE = User("fickle", taste=(1, 4, 1), later=(1, 0.25, 1))
"""Turns from new to old half-way, and must lose at first: no correction knows the turn before its feedback."""

AFTER_TURN = (0, 5, 10, 20, 40, 100)


@dataclass(frozen=True, slots=True)
class Question:
    """A question's global weights and the signals of its candidates."""

    weights: Weights
    signals: Array


def question(rng: np.random.Generator) -> Question:
    """Weights near those of a drawn intent (D5); similarities lie close, times come in bursts, fame is rare."""
    intent = rng.choice(list(MIX), p=list(MIX.values()))
    raw = np.array(next(triple for name, triple in TARGETS.items() if name == intent)) * np.exp(rng.normal(0, 0.15, 3))
    similarity = np.clip(0.25 + 0.45 * rng.beta(1.6, 3.5, CANDIDATES), 0, 1)
    bursts = rng.random(8)
    when = np.clip(rng.choice(bursts, CANDIDATES) + rng.normal(0, 0.02, CANDIDATES), 0, 1)
    recency = (when - when.min()) / (np.ptp(when) or 1.0)
    spoken = rng.beta(0.8, 3.0, CANDIDATES)
    return Question(Weights(*(raw / raw.sum()).tolist()), np.column_stack([similarity, recency, spoken / spoken.max()]))


def ranked(asked: Question, weights: Weights) -> npt.NDArray[np.intp]:
    """Candidates by composite score, best first (D1)."""
    triple = np.array([weights.similarity, weights.recency, weights.frequency])
    return np.argsort(-(asked.signals @ triple), kind="stable")


def gain(chances: Array, order: npt.NDArray[np.intp]) -> float:
    """Expected nDCG@10 of the one memory that will be used."""
    return float(chances[order[:SCORED]] @ (1 / np.log2(np.arange(2, SCORED + 2))))


def feedback(user: User, asked: Question, weights: Weights, late: bool, rng: np.random.Generator) -> list[ShownHit]:
    """The list as shown, with one or two hits used: the wanted among those that were looked at."""
    order = ranked(asked, weights)[:SHOWN]
    chances = user.wants(_triple(asked.weights), asked.signals, late)[order]
    chances = chances * np.arange(1, SHOWN + 1) ** -user.position
    used = rng.choice(SHOWN, size=int(rng.integers(1, 3)), replace=False, p=chances / chances.sum())
    hits = zip(*asked.signals[order].T.tolist(), np.isin(np.arange(SHOWN), used).tolist(), strict=True)
    return [ShownHit(*hit) for hit in hits]


def lived(
    user: User, feedbacks: int, seed: int, tested: Sequence[int], per_test: int = 60
) -> list[tuple[float, float]]:
    """Global and adapted expected nDCG of one user, on fresh questions, after each number of feedbacks in `tested`."""
    rng, held = np.random.default_rng(seed), np.random.default_rng(seed + 10_000)
    fresh = [question(held) for _ in range(per_test)]
    state, now, found = NONE, START, []
    for done in range(feedbacks + 1):
        late = done >= feedbacks // 2
        if done in tested:
            found.append(_both(user, fresh, state, now, late))
        asked = question(rng)
        shown = feedback(user, asked, adapt(asked.weights, state, now), late, rng)
        state = learn(state, asked.weights, shown, now)
        now += timedelta(hours=8)
    return found


def _both(user: User, fresh: Sequence[Question], state: Adaptation, now: datetime, late: bool) -> tuple[float, float]:
    plain, own = [], []
    for asked in fresh:
        chances = user.wants(_triple(asked.weights), asked.signals, late)
        plain.append(gain(chances, ranked(asked, asked.weights)))
        own.append(gain(chances, ranked(asked, adapt(asked.weights, state, now))))
    return float(np.mean(plain)), float(np.mean(own))


def _triple(weights: Weights) -> Array:
    return np.array([weights.similarity, weights.recency, weights.frequency])


def differences(
    user: User, feedbacks: int, seeds: int, tested: Sequence[int], per_test: int = 60, first: int = 0
) -> tuple[float, Array]:
    """The global nDCG, and by seed what adapting added to it after each number of feedbacks."""
    runs = np.array([lived(user, feedbacks, seed, tested, per_test) for seed in range(first, first + seeds)])
    return float(runs[:, :, 0].mean()), runs[:, :, 1] - runs[:, :, 0]


def table(feedbacks: int, seeds: int, first: int) -> str:
    """One line a user: the global nDCG, what adapting adds as feedback comes in, the worst mean and the worst run."""
    tested = sorted({feedbacks * part // 100 for part in (3, 6, 12, 25, 50, 75, 100)})
    lines = ["user           global  " + "".join(f"{done:>8}" for done in tested) + "   worst  worst run"]
    lowest = 0.0
    for user in USERS:
        plain, added = differences(user, feedbacks, seeds, tested, first=first)
        means = added.mean(axis=0)
        lowest = min(lowest, float(means.min()))
        lines.append(f"{user.name:<14} {plain:.4f}  {_told(means)} {means.min():+8.4f}   {added.min():+8.4f}")
    verdict = "holds" if lowest >= -MARGIN else "is broken"
    return "\n".join(
        [*lines, f"no user loses more than {MARGIN} on average: worst {lowest:+.4f}, the margin {verdict}"]
    )


def turned(feedbacks: int, seeds: int, first: int) -> str:
    """How soon the correction follows a user whose taste turns half-way."""
    turn = feedbacks // 2
    tested = [turn + after for after in AFTER_TURN if turn + after <= feedbacks]
    _, added = differences(FICKLE, feedbacks, seeds, tested, first=first)
    head = "feedbacks since the turn" + "".join(f"{done - turn:>8}" for done in tested)
    return f"{head}\n{FICKLE.name:<24}{_told(added.mean(axis=0))}"


def _told(means: Array) -> str:
    return "".join(f"{mean:+8.4f}" for mean in means)


def main() -> None:
    parser = argparse.ArgumentParser(description="Expected nDCG@10 of used memories, global against adapted weights.")
    parser.add_argument("--feedbacks", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=100, help="seeds 0 to 7 were used to choose the constants")
    asked = parser.parse_args()
    print(table(asked.feedbacks, asked.seeds, asked.first_seed))
    print(turned(asked.feedbacks, asked.seeds, asked.first_seed))


if __name__ == "__main__":
    main()
