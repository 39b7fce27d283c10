"""Questions put in better words: awkward ones left out, some made by rule, and turned to the first person."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

DANGLING = frozenset(
    "to a an the of and or but that every some all lot their her his my our its it them those these there here you so "
    "too just different new who which because when while if as than very really been being both either such more "
    "most".split()
)
EMPTY = frozenset(
    "what when where who whom whose which why how is are was were do does did has have had will would can could should "
    "often long many times said about start started feel like love likes loves get go going i me my mine you your the "
    "a an of to in on at for with and or it that this their they them he she his her not no any some there be been "
    "am".split()
)
STATIVE = r"(?:like|love|have|live|hope|want|know|think|need|guess|feel|am|be)"
AWKWARD = re.compile(
    rf"\bhow often (?:does|is) \S+ {STATIVE}\b"
    r"|\bhow many times has \S+ (?:loved|wanted|been|had|thought|always|never|heard)\b"
    rf"|\b(?:hope|guess|think|wish|glad|sure|sorry)\b|\bstart to {STATIVE}\b|been going to"
    r"|\[|\byou\b|\b(?:it|those|these|too|that one)\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[a-z]{2,}(?:'[a-z]+)?|\d+", re.IGNORECASE)

POSSESSED = re.compile(r"\b[Mm]y ((?:\w+ ){0,3}\w+) (is|are|was|were) (?!that\b|so\b|too\b)")
NAMED = re.compile(r"\b(?:a|an|my|two|three|our) ((?:\w+ ){0,2}\w+) (?:named|called) [A-Z{]")
PLANNED = re.compile(r"\bI(?:'m| am) (?:going|planning|hoping) to ([^.,!?;]{10,60})[.,!;]")
OWN_WORDS = {
    "my": "their",
    "mine": "theirs",
    "me": "them",
    "i": "they",
    "myself": "themselves",
    "am": "are",
    "i'm": "they're",
}


def is_clean(question: str, answer: str) -> bool:
    """Whether a rule-made question reads as one a person might ask."""
    words = [word.casefold() for word in WORD.findall(question)]
    if not words or words[-1] in DANGLING or AWKWARD.search(question):
        return False
    if question.startswith("Who ") and words[-1] == "with" and " with " not in answer:
        return False
    return len({word for word in words if word not in EMPTY}) >= 2


def first_person(question: str, speaker: str) -> str:
    """The question as its own subject would ask it: "does {A} like their job" → "do I like my job"."""
    who = re.escape(f"{{{speaker}}}")
    for pattern, words in (
        (rf"{who}'s", "my"),
        (rf"\b(d)oes {who}", r"\1o I"),
        (rf"\b(D)oes {who}", r"\1o I"),
        (rf"\bis {who}", "am I"),
        (rf"\bIs {who}", "Am I"),
        (rf"\bhas {who}", "have I"),
        (rf"\bHas {who}", "Have I"),
        (rf"\b(about|with|to|for|of|from) {who}", r"\1 me"),
        (rf"{who} has\b", "I have"),
        (rf"{who} is\b", "I am"),
        (who, "I"),
        (r"\btheir\b", "my"),
        (r"\bthey're\b", "I'm"),
        (r"\bthey\b", "I"),
        (r"\bthem\b", "me"),
    ):
        question = re.sub(pattern, words, question)
    return question


def ruled(text: str, speaker: str) -> Iterator[str]:
    """Questions that a turn answers by its very form: "My dog is …", "a cat named …", "I'm planning to …"."""
    who = f"{{{speaker}}}"
    if found := POSSESSED.search(text):
        yield f"What {found[2]} {who}'s {_theirs(found[1])}?"
    if found := NAMED.search(text):
        yield f"What is the name of {who}'s {_theirs(found[1])}?"
    if found := PLANNED.search(text):
        yield f"When is {who} planning to {_theirs(found[1])}?"


def keywords(text: str, speaker: str, choose: random.Random) -> str | None:
    """A search by a few telling words, as people type into a box; None where the turn has too few."""
    telling = [
        word for word in WORD.findall(re.sub(r"\{[AB]\}", "", text)) if len(word) > 3 and word.casefold() not in EMPTY
    ]
    if len(telling) < 4:
        return None
    count = choose.randint(2, 4)
    first = choose.randrange(len(telling) - count + 1)
    return f"{{{speaker}}} " + " ".join(telling[first : first + count]).casefold()


def made_questions(docs: Sequence[tuple[str, int, str, str]], share: float, seed: int) -> list[tuple[str, str, int]]:
    """Questions made by rule over the turns of people, and keyword searches for a `share` of the turns."""
    choose = random.Random(seed)
    made: list[tuple[str, str, int]] = []
    for number, (source, _, speaker, text) in enumerate(docs):
        if source != "spc" or text.rstrip().endswith("?"):
            continue
        made.extend(("rule", question, number) for question in ruled(text, speaker) if is_clean(question, text))
        if choose.random() < share and (search := keywords(text, speaker, choose)):
            made.append(("keywords", search, number))
    return made


def _theirs(phrase: str) -> str:
    return " ".join(OWN_WORDS.get(word.casefold(), word) for word in phrase.split())
