"""The training data as tensors of word pieces, laid out afresh for every batch: who speaks, when, in which person.

Everything is held on the device. The two people of a conversation are placeholders in the text, given names when a text
is laid out, so that a name never becomes a fact.
"""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from torch import Tensor
from wording import first_person, is_clean, made_questions

WORDS = 30522
SLOTS = 3
"""Word pieces a name may have."""

CLS, SEP = 101, 102
DOC_TOKENS, QUESTION_TOKENS = 80, 40
HELD_OUT_IN = 20
"""One conversation in so many is kept from training, to choose settings by."""

UNSEEN = ("molweni", "nq", "selqa", "friends_test")
"""Sources kept from training altogether: settings are chosen by what carries over to other people's questions."""

MONTHS = "January February March April May June July August September October November December".split()
YEARS = range(2008, 2027)
NAMED, ROLE = 0, 1
"""How a turn is laid out: "Mia (7 May 2023): …" for a person, "7 May 2023 …" for a part in the talk or for prose."""


@dataclass(frozen=True)
class Corpus:
    """Texts, questions and names as word pieces; `first` holds the questions asked by their own subject."""

    docs: Tensor
    conversation: Tensor
    speaker: Tensor
    begin: Tensor
    end: Tensor
    asks: Tensor
    questions: Tensor
    first: Tensor
    gold: Tensor
    source: Tensor
    held_out: Tensor
    sources: list[str]
    names: Tensor
    days: Tensor
    marks: dict[str, int]

    @property
    def device(self) -> torch.device:
        return self.docs.device


def word_pieces(vocabulary: Path) -> Tokenizer:
    """BERT's uncased word pieces, with a token for each slot of each person's name."""
    words = {word: number for number, word in enumerate(vocabulary.read_text("utf-8").splitlines())}
    tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens([f"{{{who}{slot}}}" for who in "AB" for slot in range(SLOTS)])
    return tokenizer


def padded(tokenizer: Tokenizer, texts: list[str], width: int, dtype: torch.dtype = torch.int16) -> Tensor:
    """Word pieces of the texts, without marks at the ends, cut and padded with 0 to `width`."""
    rows = torch.zeros(len(texts), width, dtype=dtype)
    for start in range(0, len(texts), 20_000):
        for row, found in enumerate(tokenizer.encode_batch_fast(texts[start : start + 20_000]), start):
            ids = found.ids[:width]
            rows[row, : len(ids)] = torch.tensor(ids, dtype=dtype)
    return rows


def read_corpus(
    data: Sequence[Path],
    vocabulary: Path,
    device: str,
    limit: int = 0,
    made: float = 0.03,
    leave_out: Sequence[str] = (),
) -> Corpus:
    """The corpus of several files on `device`; with a `limit`, that many questions and the conversations they need."""
    docs, questions = joined_files(data)
    questions = [
        ("rough", *q[1:]) if q[0] == "spc_stmt" and not is_clean(q[1], docs[q[2]][3]) else q for q in questions
    ]
    questions += made_questions(docs, made, 0) if made else []
    questions = [question for question in questions if question[0] not in leave_out]
    if limit:
        questions = questions[:: max(1, len(questions) // limit)]
        docs, questions = needed(docs, questions)
    tokenizer = word_pieces(vocabulary)
    names = given_names()
    days = [f"{day} {month} {year}" for year in YEARS for month in MONTHS for day in range(1, 29)]
    sources = sorted({question[0] for question in questions})
    number = {key: i for i, key in enumerate(dict.fromkeys(doc[:2] for doc in docs))}
    conversation = torch.tensor([number[doc[:2]] for doc in docs])
    begin, end = borders(conversation)
    gold = torch.tensor([question[2] for question in questions])
    kept_out = torch.tensor(
        [doc[0] in UNSEEN or zlib.crc32(f"{doc[0]} {doc[1]}".encode()) % HELD_OUT_IN == 0 for doc in docs]
    )
    texts = {
        "docs": padded(tokenizer, [spoken(doc) for doc in docs], DOC_TOKENS),
        "questions": padded(tokenizer, [slotted(question[1]) for question in questions], QUESTION_TOKENS),
        "first": padded(tokenizer, [own(question, docs) for question in questions], QUESTION_TOKENS),
        "names": padded(tokenizer, names, SLOTS),
        "days": padded(tokenizer, days, 4),
    }
    facts = {
        "conversation": conversation,
        "speaker": torch.tensor(["AB".find(doc[2]) + 1 if doc[2] else 0 for doc in docs]),
        "begin": begin,
        "end": end,
        "asks": torch.tensor([doc[3].rstrip().endswith("?") for doc in docs]),
        "gold": gold,
        "source": torch.tensor([sources.index(question[0]) for question in questions]),
        "held_out": kept_out[gold],
    }
    marks = {mark: tokenizer.token_to_id(mark) or 0 for mark in ("(", ")", ":", ",", "in", "on", "|")}
    tensors = {name: value.to(device) for name, value in (texts | facts).items()}
    return Corpus(**tensors, sources=sources, marks=marks)


def joined_files(paths: Sequence[Path]) -> tuple[list[tuple], list[tuple]]:  # type: ignore[type-arg]
    """The texts and questions of all files; a question's number of a text counts through all of them."""
    docs: list[tuple] = []  # type: ignore[type-arg]
    questions: list[tuple] = []  # type: ignore[type-arg]
    for path in paths:
        with lzma.open(path) as file:
            found = json.load(file)
        questions += [(source, question, len(docs) + doc) for source, question, doc in found["q"]]
        docs += [tuple(doc) for doc in found["docs"]]
    return docs, questions


def needed(docs: list[tuple], questions: list[tuple]) -> tuple[list[tuple], list[tuple]]:  # type: ignore[type-arg]
    """Only the conversations that the questions are about."""
    asked = {docs[question[2]][:2] for question in questions}
    place = {old: new for new, old in enumerate(i for i, doc in enumerate(docs) if doc[:2] in asked)}
    return [docs[i] for i in place], [(q[0], q[1], place[q[2]]) for q in questions]


def borders(conversation: Tensor) -> tuple[Tensor, Tensor]:
    """The first text of each text's conversation, and the one after its last."""
    _, counts = conversation.unique_consecutive(return_counts=True)
    ends = counts.cumsum(0)
    return (ends - counts).repeat_interleave(counts), ends.repeat_interleave(counts)


def given_names() -> list[str]:
    lines = (folder() / "names.txt").read_text().splitlines()
    return [name for line in lines if line[0] != "#" for name in line.split()]


def folder() -> Path:
    return Path(__file__).parent


def vocabulary_file() -> Path:
    return folder().parents[1] / "src/fivefold/models/data/bert-uncased-vocab.txt"


def slotted(text: str) -> str:
    """Each person's placeholder as the slots of a name."""
    for who in "AB":
        text = text.replace(f"{{{who}}}", "".join(f"{{{who}{slot}}}" for slot in range(SLOTS)))
    return text


def spoken(doc: tuple[str, int, str, str]) -> str:
    """A turn of a chat with its own nick names keeps them; other turns get theirs when laid out."""
    return f"{doc[2][2:]}: {doc[3]}" if doc[2].startswith("S:") else slotted(doc[3])


def own(question: tuple[str, str, int], docs: list[tuple[str, int, str, str]]) -> str:
    speaker = docs[question[2]][2]
    return slotted(first_person(question[1], speaker) if speaker in ("A", "B") else question[1])
