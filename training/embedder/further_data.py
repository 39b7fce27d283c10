"""Turns further public data sets, as they are published, into one file of texts and questions for training.

They have what the first file lacks: several answers to a question, several steps to an answer, talk of many people.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LONGEST = 420
"""Characters of a text that are read: the end would be cut by the number of word pieces anyway."""

HOTPOT_QUESTIONS = 4_200
MAX_ANSWERS = 2
SHORTEST_TURN = 60
"""Characters that a turn of a meeting needs at least, to answer anything."""

CONTRACTION = re.compile(r" (n't|'s|'m|'re|'ve|'ll|'d)\b")
SPACE_BEFORE_MARK = re.compile(r" ([.,!?;:])")
NOISE = re.compile(r"\{\w+\}")
WORD = re.compile(r"[a-z]{4,}")
Item = dict[str, Any]


@dataclass
class Collection:
    """Texts and questions as they are added. A conversation is a run of texts that belong together."""

    docs: list[tuple[str, int, str, str]] = field(default_factory=list)
    questions: list[tuple[str, str, int]] = field(default_factory=list)
    conversation: int = 0

    def add(self, source: str, speaker: str, text: str) -> int:
        """The number of the new text."""
        self.docs.append((source, self.conversation, speaker, text[:LONGEST]))
        return len(self.docs) - 1

    def ask(self, source: str, question: str, answers: Iterable[int]) -> None:
        self.questions += [(source, question, number) for number in answers]

    def write(self, path: Path) -> None:
        with lzma.open(path, "wt", encoding="utf-8") as file:
            found = {"docs": self.docs, "q": self.questions}
            json.dump(found, file, ensure_ascii=False, separators=(",", ":"))


def add_sentences(to: Collection, source: str, items: Sequence[Item], most: int, chance: random.Random) -> None:
    """HotpotQA and 2WikiMultihopQA: every supporting sentence answers; two other paragraphs come along."""
    items = list(items)
    chance.shuffle(items)
    for item in items[:most]:
        supporting = {(title, number) for title, number in item["supporting_facts"]}
        titles = {title for title, _ in supporting}
        others = [paragraph for paragraph in item["context"] if paragraph[0] not in titles]
        chance.shuffle(others)
        answers = []
        for title, sentences in [paragraph for paragraph in item["context"] if paragraph[0] in titles] + others[:2]:
            for number, sentence in enumerate(sentences):
                if sentence.strip():
                    place = to.add(source, "", in_context(title, number, sentence.strip()))
                    answers += [place] if (title, number) in supporting else []
            to.conversation += 1
        to.ask(source, item["question"], answers)


def in_context(title: str, number: int, sentence: str) -> str:
    """A sentence that does not name its subject gets the title of its article."""
    subject = title.split(" (", maxsplit=1)[0]
    named = number == 0 or subject.split()[0].lower() in sentence.lower()
    return sentence if named else f"{subject}: {sentence}"


def add_paragraphs(to: Collection, source: str, items: Iterable[Item]) -> None:
    """MuSiQue: every supporting paragraph answers; three others come along."""
    for item in items:
        supporting = [paragraph for paragraph in item["paragraphs"] if paragraph["is_supporting"]]
        others = [paragraph for paragraph in item["paragraphs"] if not paragraph["is_supporting"]]
        answers = []
        for paragraph in supporting + others[:3]:
            answers.append(to.add(source, "", f"{paragraph['title']}: {paragraph['paragraph_text']}"))
            to.conversation += 1
        to.ask(source, item["question"], answers[: len(supporting)])


def add_scenes(to: Collection, source: str, items: Iterable[Item]) -> None:
    """FriendsQA: an answer is the utterance it stands in; at most two different ones count."""
    for scene in (scene for item in items for scene in item["paragraphs"]):
        utterances = scene.get("utterances:") or scene["utterances"]
        places = [to.add(source, f"S:{first_names(turn['speakers'])}", spoken(turn)) for turn in utterances]
        to.conversation += 1
        for asked in scene["qas"]:
            numbers = dict.fromkeys(int(answer["utterance_id"]) for answer in asked["answers"])
            answers = [places[number] for number in numbers if number < len(places)]
            to.ask(source, asked["question"], answers[:MAX_ANSWERS])


def first_names(speakers: Iterable[str]) -> str:
    return " & ".join(name.split()[0] for name in speakers) or "Someone"


def spoken(turn: Item) -> str:
    """An utterance without the spaces that its tokens were set apart by."""
    text = CONTRACTION.sub(r"\1", turn["utterance"])
    return SPACE_BEFORE_MARK.sub(r"\1", text).replace("gon na", "gonna")


def add_meetings(to: Collection, source: str, items: Iterable[Item]) -> None:
    """QMSum: of the turns that matter for a query, the two that share most words with it."""
    for meeting in items:
        turns = meeting["meeting_transcripts"]
        places = [to.add(source, f"S:{turn['speaker'].split(',')[0][:24]}", cleaned(turn)) for turn in turns]
        to.conversation += 1
        for asked in meeting["specific_query_list"]:
            to.ask(source, asked["query"], [places[number] for number in nearest_turns(asked, turns)])


def cleaned(turn: Item) -> str:
    return SPACE_BEFORE_MARK.sub(r"\1", NOISE.sub("", turn["content"])).strip() or "-"


def nearest_turns(asked: Item, turns: Sequence[Item]) -> list[int]:
    words = set(WORD.findall(asked["query"].lower()))
    spans = [range(int(first), min(int(last) + 1, len(turns))) for first, last in asked["relevant_text_span"]]

    def nearness(number: int) -> int:
        content = turns[number]["content"]
        return 1_000 * len(words & set(WORD.findall(content.lower()))) + len(content)

    best = sorted((number for span in spans for number in span), key=nearness, reverse=True)[:MAX_ANSWERS]
    return [number for number in best if len(turns[number]["content"]) > SHORTEST_TURN]


def text_of(path: Path) -> str:
    return lzma.open(path, "rt", encoding="utf-8").read() if path.suffix == ".xz" else path.read_text("utf-8")


def lines_of(paths: Iterable[Path]) -> list[Item]:
    return [json.loads(line) for path in paths for line in text_of(path).splitlines()]


def collect(given: argparse.Namespace) -> Collection:
    """All data sets that are given, each under its own source."""
    to, chance = Collection(), random.Random(1)
    steps: list[tuple[Path | None, Callable[[Any], None]]] = [
        (given.hotpot, lambda found: add_sentences(to, "hotpot", found, HOTPOT_QUESTIONS, chance)),
        (given.two_wiki, lambda found: add_sentences(to, "2wiki", found, len(found), chance)),
        (given.musique, lambda found: add_paragraphs(to, "musique", found)),
        (given.friends, lambda found: add_scenes(to, "friends", found["data"])),
        (given.friends_test, lambda found: add_scenes(to, "friends_test", found["data"])),
    ]
    for path, step in steps:
        if path:
            step(json.loads(text_of(path)))
    add_meetings(to, "qmsum", lines_of(given.qmsum))
    return to


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="the .json.xz file to write")
    for name, about in (
        ("hotpot", "HotpotQA, dev set with distractors"),
        ("two-wiki", "2WikiMultihopQA, as JSON"),
        ("musique", "MuSiQue, as a JSON list"),
        ("friends", "FriendsQA, dev set, to train on"),
        ("friends-test", "FriendsQA, test set, kept from training"),
    ):
        parser.add_argument(f"--{name}", type=Path, help=f"{about}; plain or packed by xz")
    parser.add_argument("--qmsum", type=Path, nargs="*", default=[], help="QMSum, files of one meeting a line")
    return parser


def main() -> None:
    given = arguments().parse_args()
    found = collect(given)
    found.write(given.output)
    print(f"{given.output}: {len(found.docs)} texts, {len(found.questions)} questions")


if __name__ == "__main__":
    main()
