"""Trains the model of change: teachers of twelve and six layers learn the relations, a small student learns from them.

    python -m training.reader.train E5 MINILM WORDS POOL OUT

E5 and MINILM are model.safetensors of e5-small and all-MiniLM-L6-v2, WORDS the word pieces that the
student knows, POOL texts of talk without labels, one a line, from which like ones are paired for the teachers to judge.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))

import numpy as np
import torch
from model import Encoder, mean_of, published
from tokenizers import Tokenizer
from torch import Tensor
from training.reader.learn import Course, labels_of, learn, logits_of, rows_of
from training.reader.pair_reader import PairReader, cut, save
from training.reader.pairs import Pair, drawn, read_pairs
from training.reader.wordings import read_wordings, worded

from fivefold.models.bert import tokenizer

STUDENTS = {"thin": ((0, 1, 2, 3, 4, 5), 768), "four": ((0, 1, 3, 5), 1536)}
"""Layers of MiniLM each student takes, and how wide their inner part stays."""

Text = tuple[str, str]
"""A speaker, and what was said."""


def names() -> list[str]:
    lines = (Path(__file__).parents[1] / "embedder" / "names.txt").read_text("utf-8").splitlines()
    return " ".join(line for line in lines if not line.startswith("#")).split()


def examples(pairs: Sequence[Pair], count: int, by_hand: Callable[[float], float], seed: int) -> list[Pair]:
    """Pairs in the order of training; `by_hand` is the share written by hand at each point of it."""
    dice = random.Random(seed)
    sections, values = read_wordings()
    hand, made = drawn(pairs, names(), dice), worded(sections, values, names(), dice)
    return [next(hand if dice.random() < by_hand(at / count) else made) for at in range(count)]


@torch.no_grad()
def like_pairs(texts: Sequence[Text], encoder: Encoder, near: int, device: str) -> list[Pair]:
    """Each text with some of the most like ones, for the teachers to judge; the relation is not known."""
    pieces = tokenizer(96)
    encoded = pieces.encode_batch([text for _, text in texts])
    vectors = []
    for start in range(0, len(texts), 512):
        part = encoded[start : start + 512]
        width = max(len(item.ids) for item in part)
        ids = torch.tensor([item.ids + [0] * (width - len(item.ids)) for item in part], device=device)
        vectors.append(torch.nn.functional.normalize(mean_of(encoder(ids, ids != 0), ids != 0), dim=-1))
    all_vectors = torch.cat(vectors)
    found: list[Pair] = []
    dice = random.Random(5)
    for start in range(0, len(texts), 4096):
        likeness = all_vectors[start : start + 4096] @ all_vectors.T
        values, places = likeness.topk(min(3 * near + 1, len(texts)), dim=1)
        for row, (shares, others) in enumerate(zip(values.tolist(), places.tolist(), strict=True), start):
            usable = [at for share, at in zip(shares, others, strict=True) if at != row and share < 0.98]
            for at in dice.sample(usable, min(near, len(usable))):
                (one, older), (other, newer) = texts[row], texts[at]
                found.append(Pair("like", "unknown", older, newer, one, other))
    return found


def judge(name: str, logits: Tensor, pairs: Sequence[Pair]) -> None:
    """Prints accuracy, and the share of changes found where one in a hundred other pairs is taken for one."""
    chances = logits.softmax(-1)[:, 0].cpu().numpy()
    change = np.array([pair.relation == "replaces" for pair in pairs])
    right = (logits.argmax(-1).cpu() == labels_of(pairs, "cpu")).float().mean()
    shares = []
    for wrong in (0.01, 0.02, 0.05):
        limit = np.sort(chances[~change])[::-1][int(wrong * (~change).sum())]
        shares.append(f"{(chances[change] > limit).mean():.3f} at {wrong:.0%}")
    print(f"{name}: right {right:.3f}, changes found {', '.join(shares)}", flush=True)


@dataclass
class School:
    """What a run works with: the pairs of each part, the device, how much of everything, and where results go."""

    parts: dict[str, list[Pair]]
    device: str
    size: float
    seconds: float
    output: Path
    began: float = field(default_factory=time.monotonic)

    def clock(self, what: str) -> None:
        print(f"[{time.monotonic() - self.began:.0f} s] {what}", flush=True)

    def test(self, name: str, models: Sequence[PairReader], pieces: Tokenizer) -> None:
        """Print and store what models together say of the families they have not seen."""
        for part in ("choose", "report"):
            rows = rows_of(self.parts[part], pieces, self.device)
            found = torch.stack([logits_of(model, rows) for model in models]).mean(0)
            judge(f"{name} {part}", found, self.parts[part])
            np.save(self.output / f"{name.replace(' ', '-')}-{part}.npy", found.cpu().numpy())


def teach(school: School, bases: dict[str, Encoder], chosen: Sequence[str]) -> list[PairReader]:
    """The teachers, each from its base and with its own seed."""
    whole = tokenizer(512)
    lessons = examples(school.parts["train"], int(64_000 * school.size), lambda done: 0.3 + 0.6 * done, 1)
    rows, labels = rows_of(lessons, whole, school.device), labels_of(lessons, school.device)
    course = Course(1e-4, len(lessons) // 64, 64, school.seconds / len(chosen), masked=0.08)
    teachers = []
    for seed, base in enumerate(chosen):
        torch.manual_seed(seed)
        model = PairReader(copy.deepcopy(bases[base]), dropout=0.1).to(school.device)
        learn(model, rows, labels, None, course, f"teacher {seed} {base}")
        school.test(f"teacher {seed} {base}", [model], whole)
        teachers.append(model)
    school.test("teachers", teachers, whole)
    return teachers


def pool_pairs(school: School, talk: Sequence[Text], encoder: Encoder) -> list[Pair]:
    """Examples of all kinds, and like texts of the training pairs and of the talk, in turn."""
    train, count = school.parts["train"], int(110_000 * school.size)
    hand = [said for pair in train for said in ((pair.older_speaker, pair.older), (pair.newer_speaker, pair.newer))]
    like = like_pairs(hand, encoder, max(1, int(16 * school.size)), school.device)
    like += like_pairs(talk[: int(len(talk) * school.size)], encoder, 2, school.device)
    random.Random(2).shuffle(like)
    mixed = examples(train, count, lambda done: 0.5, 3)
    return [pair for both in itertools.zip_longest(mixed, like) for pair in both if pair is not None]


def study(school: School, base: Encoder, words: Sequence[str], pairs: Sequence[Pair], taught: Tensor) -> None:
    """The students learn the teachers' chances; their weights are stored."""
    few, full = tokenizer(512, {word: at for at, word in enumerate(words)}), tokenizer(512)
    rows, labels = rows_of(pairs, few, school.device), labels_of(pairs, school.device)
    for name, (layers, inner) in STUDENTS.items():
        torch.manual_seed(7)
        student = cut(base.cpu(), [full.token_to_id(word) for word in words], layers, inner).to(school.device)
        course = Course(3e-4, int(3.5 * len(pairs) / 256), 256, school.seconds * 0.8, own=0.15)
        learn(student, rows, labels, taught, course, name)
        save(student, school.output / f"{name}.safetensors")
        school.test(name, [student], few)
        school.clock(f"student {name} done")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("e5", "minilm", "words", "pool", "output"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--teachers", default="e5,e5,e5,minilm", help="what each teacher starts from")
    parser.add_argument("--size", type=float, default=1.0, help="share of the usual number of examples and steps")
    parser.add_argument("--seconds", type=float, default=1e9, help="time for the teachers; a student has a fifth less")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    parts = {part: read_pairs(part) for part in ("train", "choose", "report")}
    school = School(parts, given.device, given.size, given.seconds, given.output)
    bases = {"e5": published(given.e5), "minilm": published(given.minilm)}
    teachers = teach(school, bases, given.teachers.split(","))
    school.clock("teachers done")
    minilm = bases["minilm"].to(given.device).eval()
    talk = [line.partition("\t")[::2] for line in given.pool.read_text("utf-8").splitlines()]
    pairs = pool_pairs(school, talk, minilm)
    rows = rows_of(pairs, tokenizer(512), given.device)
    taught = torch.stack([logits_of(model, rows) for model in teachers]).mean(0)
    school.clock(f"{len(pairs)} pairs judged by the teachers")
    study(school, minilm, given.words.read_text("utf-8").split("\n"), pairs, taught)


if __name__ == "__main__":
    main()
