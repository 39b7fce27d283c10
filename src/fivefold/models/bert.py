"""The ONNX models of the BERT family: word pieces, and a session whose runs share the cores."""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from string import punctuation
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fivefold.errors import EmbedderError, FivefoldError
from fivefold.models import shipped
from fivefold.models.shipped import load_shipped
from fivefold.text.lexemes import empty_on_forget
from fivefold.values.vectors import Span

if TYPE_CHECKING:
    import onnxruntime


MAX_WORD_CHARS = 100
"""Longer words are unknown."""

MAX_CACHED_WORDS = 50_000
"""Maximum number of words whose ids are cached."""

_CHINESE = "4e00-9fff 3400-4dbf 20000-2a6df 2a700-2b73f 2b740-2b81f 2b920-2ceaf f900-faff 2f800-2fa1f"

_LATER = """
61d 7fd 890-891 898-89f 8ca-8e2 9fd-9fe a76 afa-aff b55 c04 c3c c77 c84 d00 d3b-d3c d81 eba ece 180f 1885-1886 1abf-1ace
1b7d-1b7e 1df6-1dfb 2e43-2e4f 2e52-2e5d a82c a8c5 a8ff a9bd 10d24-10d27 10eab-10ead 10efd-10eff 10f46-10f50 10f55-10f59
10f82-10f89 11070 11073-11074 110c2 110cd 111cf 1123e 11241 1133b 11438-1143f 11442-11444 11446 1144b-1144f 1145a-1145b
1145d-1145e 11660-1166c 116b9 1182f-11837 11839-1183b 1193b-1193c 1193e 11943-11946 119d4-119d7 119da-119db 119e0 119e2
11a01-11a0a 11a33-11a38 11a3b-11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 11a98-11a9c 11a9e-11aa2 11b00-11b09 11c30-11c36
11c38-11c3d 11c3f 11c41-11c45 11c70-11c71 11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d
11d3f-11d45 11d47 11d90-11d91 11d95 11d97 11ef3-11ef4 11ef7-11ef8 11f00-11f01 11f36-11f3a 11f40 11f42-11f4f 11fff
12ff1-12ff2 13430-13440 13447-13455 16e97-16e9a 16f4f 16fe2 16fe4 1cf00-1cf2d 1cf30-1cf46 1e000-1e006 1e008-1e018
1e01b-1e021 1e023-1e024 1e026-1e02a 1e08f 1e130-1e136 1e2ae 1e2ec-1e2ef 1e4ec-1e4ef 1e944-1e94a 1e95e-1e95f
"""
"""Marks, format characters and punctuation that Unicode has had since version 9: the models were trained with them as
letters."""

_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-~]")
_WORD = re.compile(r"\S+")


@cache
def _ranges(codes: str) -> tuple[range, ...]:
    ends = ([int(end, 16) for end in part.split("-")] for part in codes.split())
    return tuple(range(first, (last or [first])[0] + 1) for first, *last in ends)


def _is_among(character: str, codes: str) -> bool:
    return any(ord(character) in found for found in _ranges(codes))


class _Characters(dict[int, str]):
    """The replacement of each character of a text, for `str.translate`; filled as characters occur."""

    def __missing__(self, code: int) -> str:
        made = self[code] = _cleaned(chr(code))
        return made


_CHARACTERS = _Characters()


def _cleaned(character: str) -> str:
    """Returns nothing, or small letters without accents; a space for any space, and spaces around a sign that is a word
    by itself."""
    if character in "\t\n\r":
        return " "
    if character in "\x00\ufffd\u1734":
        return ""
    if not _is_among(character, _LATER) and unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs"}:
        return ""
    if character.isspace():
        return " "
    made = "".join(map(_letter, unicodedata.normalize("NFD", character)))
    return f" {made} " if _is_among(character, _CHINESE) else made


def _letter(character: str) -> str:
    if _is_among(character, _LATER):
        return character
    kind = unicodedata.category(character)
    if kind[0] == "P" or character in punctuation or character in "\u166d\U000111c9":
        return f" {character} "
    return "" if kind == "Mn" else character.lower()


class WordPieces:
    """Splits texts into the pieces of one vocabulary."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self.vocabulary = vocabulary
        self.cls: int
        self.sep: int
        self.cls, self.sep, self._unknown = (vocabulary[mark] for mark in ("[CLS]", "[SEP]", "[UNK]"))
        self._longest = max(map(len, vocabulary))
        self._words: dict[str, tuple[int, ...]] = {}
        empty_on_forget(self._words.clear)

    def ids(self, text: str) -> list[int]:
        """The ids of a text, without marks at its ends."""
        if text.isascii() and not _ASCII_CONTROL.search(text):
            words = _ASCII_WORD.findall(text.lower())
        else:
            words = text.translate(_CHARACTERS).split()
        found: list[int] = []
        known = self._words
        for word in words:
            found += known.get(word) or self._split(word)
        return found

    def spans(self, text: str) -> list[Span]:
        """The characters of the text that each of its ids stands for."""
        places: Sequence[int]
        if text.isascii() and not _ASCII_CONTROL.search(text):
            places, words = range(len(text)), _ASCII_WORD.finditer(text.lower())
        else:
            made = [_CHARACTERS[ord(character)] for character in text]
            places = [place for place, characters in enumerate(made) for _ in characters]
            words = _WORD.finditer("".join(made))
        spans = []
        for word in words:
            start, ids = word.start(), self._words.get(word[0]) or self._split(word[0])
            for id in ids:
                end = word.end() if id == self._unknown else start + self._lengths[id]
                spans.append((places[start], places[end - 1] + 1))
                start = end
        return spans

    @cached_property
    def _lengths(self) -> dict[int, int]:
        return {id: len(piece.removeprefix("##")) for piece, id in self.vocabulary.items()}

    def _split(self, word: str) -> tuple[int, ...]:
        """The pieces of a word; a word with a part that no piece fits is unknown as a whole."""
        ids: list[int] = []
        start = 0
        while start < len(word) <= MAX_WORD_CHARS:
            goes_on = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                id = self.vocabulary.get(goes_on + word[start:end])
                if id is not None:
                    ids.append(id)
                    start = end
                    break
            else:
                break
        made = tuple(ids) if start == len(word) else (self._unknown,)
        if len(self._words) >= MAX_CACHED_WORDS:
            self._words.clear()
        self._words[word] = made
        return made


def word_pieces(file: str = "bert-uncased-vocab.txt") -> WordPieces:
    """The pieces of a vocabulary that is shipped; one object serves the whole process."""
    return _loaded(shipped.FOLDER, file)


@cache
def _loaded(folder: Path, file: str) -> WordPieces:
    return WordPieces({piece: id for id, piece in enumerate(shipped.shipped_lines(file))})


Ids = npt.NDArray[np.int64]
Inputs = Mapping[str, Ids]

MAX_TOKENS = 256
MAX_ROUND_ROWS = 8
"""Rows that a thread runs before its call goes on: handing over each row alone would take longer."""


@cache
def whole_words() -> dict[str, int]:
    """The words of letters that the models know whole, by rank: common ones first; none if the file is missing."""
    try:
        pieces = word_pieces().vocabulary
    except EmbedderError:
        return {}
    return {word: rank for word, rank in pieces.items() if word.isascii() and word.isalpha() and len(word) > 1}


def _cores() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(os.cpu_count() or 1)


@dataclass(slots=True)
class Cores:
    """Shares the cores among the models of this process. A run takes one thread, so that a model which was loaded
    before a fork works after it; rows run side by side, which is faster than threads within a run."""

    parts: int = min(4, os.cpu_count() or 1)
    """Threads that run the rows of one call. Processes that share the cores take one."""
    running: threading.BoundedSemaphore = field(default_factory=_cores)
    """Allows as many runs at once as there are cores, over all models. More would not be faster, and each takes 20 MB
    and more that the allocator keeps: twelve at once raised a process from 160 MB to 384, two at once to 210."""
    _helpers: ThreadPoolExecutor | None = None
    _making: threading.Lock = field(default_factory=threading.Lock)

    @property
    def helpers(self) -> ThreadPoolExecutor:
        """The threads that take the other parts."""
        with self._making:
            if self._helpers is None:
                self._helpers = ThreadPoolExecutor(max(1, self.parts - 1), "fivefold-models")
            return self._helpers

    def renew(self) -> None:
        """A forked process has no part in runs that were under way, nor in threads."""
        self.running, self._making, self._helpers = _cores(), threading.Lock(), None


CORES = Cores()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CORES.renew)


class Session:
    """A model whose runs wait for a core."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session

    def run(self, outputs: Sequence[str], inputs: Inputs) -> list[Any]:
        with CORES.running:
            found: list[Any] = self._session.run(outputs, inputs)
        return found

    def run_each(self, outputs: Sequence[str], rows: Sequence[Inputs]) -> Iterator[tuple[int, list[Any]]]:
        """The place of each row with what the model gives for it, in runs side by side.

        Each row is a run of its own: int8 takes its scale from all that is read at once, so a text in company would
        have another vector. It is as fast, since nothing is padded, and takes the memory of one row.
        """
        order = sorted(range(len(rows)), key=lambda place: rows[place]["input_ids"].shape[1])

        def run(places: Sequence[int]) -> list[tuple[int, list[Any]]]:
            return [(place, self.run(outputs, rows[place])) for place in places]

        for start in range(0, len(order), MAX_ROUND_ROWS * CORES.parts):
            chosen = order[start : start + MAX_ROUND_ROWS * CORES.parts]
            first, *others = (chosen[part :: CORES.parts] for part in range(min(CORES.parts, len(chosen))))
            waiting = [CORES.helpers.submit(run, other) for other in others]
            yield from run(first)
            for each in waiting:
                yield from each.result()


def session(path: str | Path) -> Session:
    """A model on the CPU, on the thread that runs it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return Session(onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]))


class ShippedModel:
    """A model of this package, loaded when it is used first."""

    file = ""
    words = "bert-uncased-vocab.txt"
    error: type[FivefoldError] = EmbedderError
    """The error to raise if a file is missing or damaged."""

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def load(self) -> tuple[WordPieces, Session]:
        """The word pieces and the model; loads them if they are not."""
        with self._loading:
            try:
                pieces = word_pieces(self.words)
            except EmbedderError as error:
                raise self.error(str(error)) from error
            return pieces, self._session

    @cached_property
    def _session(self) -> Session:
        try:
            return load_shipped(self.file, session)
        except Exception as error:
            raise self.error(f"{self.file} could not be loaded; install fivefold again ({error})") from error


def row_inputs(ids: Sequence[int], second: int | None = None) -> dict[str, Ids]:
    """One row as a model takes it: its ids, a mask of ones, and 1 from the beginning of its second text on."""
    row = np.array([ids], dtype=np.int64)
    parts = np.zeros_like(row)
    if second is not None:
        parts[:, second:] = 1
    return {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": parts}
