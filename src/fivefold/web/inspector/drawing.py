"""Where all in a picture stands: the same graph is always drawn the same way, and no two words overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.float64]

STEPS = 240
"""Of the forces; a picture of thirty entities takes some ten milliseconds."""

CLEARING = 160
"""Rounds in which names that still overlap are moved apart."""

AIR = 6.0
"""Between two names, and between a name and the rim, in the picture's units."""

ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
"""Where on its line a word may stand, best first,"""
ASIDE = (-3.0, 12.0, -12.0, 20.0, -21.0, -28.0)
"""and how far below the line its foot is."""

LEAN, ALONE = 0.5, 1.5
"""How much an entity is drawn to the middle; one without ties would else drift into a corner."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The room a picture has, and how many entities stay readable in it."""

    width: float
    height: float
    most: int


@dataclass(frozen=True, slots=True)
class Box:
    """Room that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def inside(self, frame: Frame) -> bool:
        return self.left >= 0 and self.top >= 0 and self.right <= frame.width and self.bottom <= frame.height


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line with a word on it, which is so wide and so high."""

    ends: tuple[float, float, float, float]
    width: float
    height: float


def written(strokes: Sequence[Stroke], taken: Sequence[Box], frame: Frame) -> list[tuple[float, float] | None]:
    """The middle of the foot of each word, clear of all that is drawn; None where there is no room."""
    full, feet = list(taken), list[tuple[float, float] | None]()
    for stroke in strokes:
        found = next((foot for foot in _feet(stroke) if _fits(_around(foot, stroke), full, frame)), None)
        feet.append(found)
        if found is not None:
            full.append(_around(found, stroke))
    return feet


def _feet(stroke: Stroke) -> Iterator[tuple[float, float]]:
    x1, y1, x2, y2 = stroke.ends
    for aside in ASIDE:
        for along in ALONG:
            yield round(x1 + along * (x2 - x1), 1), round(y1 + along * (y2 - y1) + aside, 1)


def _around(foot: tuple[float, float], stroke: Stroke) -> Box:
    (x, y), half = foot, stroke.width / 2
    return Box(x - half, y - 0.8 * stroke.height, x + half, y + 0.2 * stroke.height)


def _fits(box: Box, full: Sequence[Box], frame: Frame) -> bool:
    return box.inside(frame) and not any(box.meets(other) for other in full)


def placed(sizes: Sequence[tuple[float, float]], ties: Sequence[tuple[int, int]], frame: Frame, middle: bool) -> Places:
    """A place for each box of that width and height; those tied come near. With `middle` the first stays in it."""
    count = len(sizes)
    if count == 0:
        return np.zeros((0, 2))
    half = np.array(sizes, dtype=np.float64) / 2
    room = np.array([frame.width, frame.height])
    places = _ring(count, room, middle)
    pulls = _pulls(count, ties)
    ideal = 1.1 * float(np.sqrt(room.prod() / (count + 1)))
    stretch = room / np.sqrt(room.prod())
    for step in range(STEPS):
        moved = _forces(places / stretch, pulls, ideal, room / stretch) * stretch
        reach = 0.12 * room.min() * (1 - step / STEPS)
        length = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        places = places + moved / length * np.minimum(length, reach)
        places = _inside(places, half, room, middle)
    return _cleared(places, half, room, middle)


def _ring(count: int, room: Places, middle: bool) -> Places:
    """Evenly around the middle, the first at the top."""
    around = count - 1 if middle else count
    turns = [2 * pi * place / max(1, around) - pi / 2 for place in range(around)]
    ring = [(room[0] * (0.5 + 0.36 * cos(turn)), room[1] * (0.5 + 0.36 * sin(turn))) for turn in turns]
    return np.array([tuple(room / 2), *ring] if middle else ring, dtype=np.float64)


def _pulls(count: int, ties: Sequence[tuple[int, int]]) -> Places:
    pulls = np.zeros((count, count))
    for one, other in ties:
        pulls[one, other] = pulls[other, one] = 1.0
    return pulls


def _forces(places: Places, pulls: Places, ideal: float, room: Places) -> Places:
    """All push each other away, ties pull, and everything leans a little to the middle."""
    gaps = places[:, None, :] - places[None, :, :]
    squared = np.maximum((gaps**2).sum(axis=2), 1.0)
    push = ideal**2 / squared
    np.fill_diagonal(push, 0.0)
    pull = pulls * np.sqrt(squared) / ideal
    lean = np.where(pulls.any(axis=1), LEAN, ALONE)[:, None] * (room / 2 - places)
    return np.asarray((gaps * (push - pull)[:, :, None]).sum(axis=1) + lean)


def _inside(places: Places, half: Places, room: Places, middle: bool) -> Places:
    edge = half + AIR
    kept = np.clip(places, edge, np.maximum(edge, room - edge))
    if middle:
        kept[0] = room / 2
    return kept


def _cleared(places: Places, half: Places, room: Places, middle: bool) -> Places:
    """Boxes that overlap are moved apart, along the side where least is needed."""
    for _ in range(CLEARING):
        gaps = places[:, None, :] - places[None, :, :]
        lacking = half[:, None, :] + half[None, :, :] + AIR - np.abs(gaps)
        over = np.asarray((lacking > 0).all(axis=2))
        np.fill_diagonal(over, False)
        if not over.any():
            break
        sideways = lacking[:, :, 0] < lacking[:, :, 1]
        order = np.sign(np.arange(len(places))[:, None] - np.arange(len(places))[None, :])
        for axis, chosen in ((0, sideways), (1, ~sideways)):
            away = np.where(gaps[:, :, axis] == 0, order, np.sign(gaps[:, :, axis]))
            moved = np.where(over & chosen, away * (lacking[:, :, axis] / 2 + 0.5), 0.0)
            places[:, axis] += moved.sum(axis=1) / np.maximum(1, (over & chosen).sum(axis=1))
        places = _inside(places, half, room, middle)
    return places
