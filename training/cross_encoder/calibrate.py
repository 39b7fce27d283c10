"""Scores into chances: a scale and a shift fitted on held-out pairs, and how far the chances are off."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BINS = 15


@dataclass(frozen=True)
class Calibration:
    """chance = sigmoid(scale · logit + shift)."""

    scale: float
    shift: float

    def chance(self, logits: np.ndarray) -> np.ndarray:
        return np.asarray(1.0 / (1.0 + np.exp(-(self.scale * logits + self.shift))))


def fitted(logits: np.ndarray, answers: np.ndarray, steps: int = 100) -> Calibration:
    """The likeliest scale and shift, by Newton's method."""
    rows, at = np.stack([logits, np.ones_like(logits)], 1).astype(np.float64), np.array([1.0, 0.0])
    for _ in range(steps):
        chance = 1.0 / (1.0 + np.exp(-rows @ at))
        slope = rows.T @ (chance - answers) + 1e-6 * at
        bend = (rows * (chance * (1 - chance))[:, None]).T @ rows + 1e-6 * np.eye(2)
        step = np.linalg.solve(bend, slope)
        at = at - step * min(1.0, 2.0 / (np.abs(step).max() + 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    return Calibration(float(at[0]), float(at[1]))


def calibration_error(chances: np.ndarray, answers: np.ndarray) -> float:
    """Expected calibration error: the mean gap of chance and truth over bins, by how many pairs each holds."""
    place = np.minimum((chances * BINS).astype(int), BINS - 1)
    gaps = [np.sum(chances[place == i]) - np.sum(answers[place == i]) for i in range(BINS)]
    return float(np.abs(gaps).sum() / len(chances))


def judged_pairs(path: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, answers, and for each pair whether its question is in the half to fit on."""
    held = np.load(path)
    valid = held["valid"] > 0
    half = np.broadcast_to((np.arange(len(valid)) % 2 == 0)[:, None], valid.shape)
    return held[name][valid], held["answers"][valid], half[valid]


def calibrated(path: Path, name: str) -> tuple[Calibration, float, float]:
    """Fitted on one half of the held-out questions; the error on the other half, before and after."""
    logits, answers, half = judged_pairs(path, name)
    found = fitted(logits[half], answers[half])
    before = calibration_error(Calibration(1.0, 0.0).chance(logits[~half]), answers[~half])
    return found, before, calibration_error(found.chance(logits[~half]), answers[~half])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("judged", type=Path, help="judged.npz of a training run")
    given = parser.parse_args()
    for name in np.load(given.judged).files:
        if name not in ("answers", "valid", "source"):
            found, before, after = calibrated(given.judged, name)
            print(f"{name:18s} scale {found.scale:.3f} shift {found.shift:.3f} error {before:.4f} -> {after:.4f}")


if __name__ == "__main__":
    main()
