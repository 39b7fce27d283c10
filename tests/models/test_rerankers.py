"""Rerankers: our own, those of packages and of servers, and scores that are computed once."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fivefold.errors import MissingExtra, RerankerError
from fivefold.models.bert import word_pieces
from fivefold.models.rerankers import (
    DIGEST_BYTES,
    FILE,
    MAX_BEFORE_TOKENS,
    MAX_MEMORY_TOKENS,
    MAX_QUESTION_TOKENS,
    FastEmbedReranker,
    HostedReranker,
    Local,
    Scores,
    SentenceTransformersReranker,
    reranker,
    token_rows,
)
from fivefold.values.vectors import Passage
from tests.support.judges import AWAY, Judge
from tests.support.model_folder import with_model_file
from tests.support.rerank_service import SHAPES, Service, serving

# Our own cross-encoder, for real: plain examples, odd texts, threads, and a file that is missing or damaged.


PLAIN = [
    ("Where does Priya live?", "Priya (7 May 2023): I moved to Lisbon last week", "Priya (7 May 2023): I love jazz"),
    ("What is the name of Tom's dog?", "Tom: My dog Rufus is three now", "Tom: I had pasta for lunch"),
    ("When is the dentist appointment?", "The dentist is on Tuesday at nine", "The garden needs more water"),
    ("What does Ana do for work?", "Ana: I work as a nurse at the clinic", "Ana: It rained all day here"),
    ("Which colour is the kettle?", "The kettle in the kitchen is red", "The kettle was a present from Bo"),
    ("What instrument does Leo play?", "Leo: I have played the cello for years", "Leo: My car broke down"),
    ("Is Mia allergic to anything?", "Mia: I can't eat peanuts, I'm allergic", "Mia: I went to bed early"),
    ("How many children does Sara have?", "Sara: My two sons and my daughter say hello", "Sara: I like hiking"),
    ("What did Paul buy?", "Paul: I finally bought a new bicycle", "Paul: The meeting was long"),
    ("Who is Nina's sister?", "Nina: My sister Clara visits on Sunday", "Nina: The soup was too salty"),
    ("What is the wifi password?", "The wifi password is tulip-42", "The wifi was slow yesterday"),
    ("Where are the spare keys?", "The spare keys hang behind the door", "The door was painted green"),
]


@pytest.fixture(scope="module")
def model() -> Local:
    return Local()


def scored(model: Local, question: str, *texts: str) -> list[float]:
    return model.scores(question, [Passage(text) for text in texts], 60)


def test_the_choice_gives_this_reranker() -> None:
    assert isinstance(reranker("local"), Local)
    assert reranker("local").pin == "local@1"


@pytest.mark.parametrize(("question", "answers", "misleads"), PLAIN)
def test_what_answers_scores_higher_than_what_does_not(
    model: Local, question: str, answers: str, misleads: str
) -> None:
    good, bad = scored(model, question, answers, misleads)
    assert 0 <= bad < good <= 1


def test_what_answers_comes_first_among_all(model: Local) -> None:
    texts = [text for _, answers, misleads in PLAIN for text in (answers, misleads)]
    first = [int(np.argmax(scored(model, question, *texts))) for question, _, _ in PLAIN]
    assert sum(best == 2 * i for i, best in enumerate(first)) >= len(PLAIN) - 2


@pytest.mark.parametrize(
    ("question", "told", "before"),
    [
        (
            "Where was Maria born?",
            "Maria (7 May 2023): In Porto, but we moved away soon",
            "Where were you born, Maria?",
        ),
        ("What instrument does Mia play?", "Mia: The cello, for ten years now", "Do you play any instruments?"),
        ("Where did Paul go on holiday?", "Paul: We went to Norway", "Where did you go on holiday?"),
    ],
)
def test_the_turn_before_makes_a_difference(model: Local, question: str, told: str, before: str) -> None:
    alone, asked, chatted = (
        model.scores(question, [Passage(told, said)], 60)[0] for said in ("", before, "It rained all day.")
    )
    assert asked > alone
    assert asked > chatted


@pytest.mark.parametrize(
    "question", ["", " ", "?", "🎉", "昨日何を話しましたか", "which " * 3_000, "x" * 50_000, "\x00"]
)
def test_any_question_and_any_text_have_scores_between_0_and_1(model: Local, question: str) -> None:
    odd = ["", " ", "🎉", "我住在利兹", "tea " * 5_000, "x" * 100_000, "[SEP] [CLS] [PAD]", "\u200b", "tea"]
    found = model.scores(question, [*map(Passage, odd), Passage("", "before"), Passage("tea", "x" * 100_000)], 60)
    assert len(found) == len(odd) + 2
    assert all(0 <= score <= 1 for score in found)


def test_no_passages_have_no_scores(model: Local) -> None:
    assert model.scores("which?", [], 60) == []


def test_the_same_passages_give_the_same_scores(model: Local) -> None:
    texts = [answers for _, answers, _ in PLAIN]
    assert scored(model, "where?", *texts) == scored(model, "where?", *texts)
    assert scored(model, "where?", texts[0]) == scored(Local(), "where?", texts[0])


def test_company_hardly_changes_a_score(model: Local) -> None:
    """Int8 takes its scale from the whole batch, so that a little difference is left."""
    texts = [text for _, answers, misleads in PLAIN for text in (answers, misleads, f"{answers} {misleads} " * 4)]
    together = scored(model, "Where does Priya live?", *texts)
    alone = [scored(model, "Where does Priya live?", text)[0] for text in texts]
    assert together == pytest.approx(alone, abs=0.1)
    assert int(np.argmax(together)) == int(np.argmax(alone))


def test_threads_share_one_model(model: Local) -> None:
    fresh = Local()
    wanted = [scored(model, *example) for example in PLAIN]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda example: scored(fresh, *example), PLAIN)) == wanted


def test_it_gives_up_when_its_time_is_over(model: Local) -> None:
    with pytest.raises(RerankerError, match=r"local@1 had not read 2 memories after 0 s"):
        model.scores("which?", [Passage("tea"), Passage("rye")], 0.0)


# What the model is given


def test_a_row_holds_question_memory_and_what_came_before() -> None:
    pieces = word_pieces()
    known = list(pieces.vocabulary)
    (plain, after), start = token_rows(
        pieces, "which tea?", [Passage("green tea"), Passage("green", "black or green?")]
    )
    assert [known[i] for i in plain] == "[CLS] which tea ? [SEP] green tea [SEP]".split()
    assert [known[i] for i in after[start:]] == "green [SEP] black or green ? [SEP]".split()
    assert (plain[0], plain[start - 1]) == (pieces.cls, pieces.sep)


def test_the_first_of_question_and_text_and_the_last_of_before_are_read() -> None:
    pieces = word_pieces()
    (row,), start = token_rows(pieces, "one " * 99 + "end", [Passage("two " * 199, "start " + "three " * 99)])
    words = [list(pieces.vocabulary)[i] for i in row]
    assert start == MAX_QUESTION_TOKENS + 2
    assert words == [
        "[CLS]",
        *["one"] * MAX_QUESTION_TOKENS,
        "[SEP]",
        *["two"] * MAX_MEMORY_TOKENS,
        "[SEP]",
        *["three"] * MAX_BEFORE_TOKENS,
        "[SEP]",
    ]


# A damaged install


@pytest.mark.parametrize("data", [None, b"", b"no graph at all"])
def test_a_missing_or_damaged_file_is_a_reranker_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes | None
) -> None:
    with_model_file(monkeypatch, tmp_path, FILE, data)
    with pytest.raises(RerankerError, match=FILE):
        Local().scores("which?", [Passage("tea")], 60)


# Scores kept by model, question and passage: what is asked anew, what goes first, and threads.


TEA, RYE, KEY = Passage("tea @0.7"), Passage("rye @0.2"), Passage("key @0.9")


def test_what_was_judged_is_not_judged_again() -> None:
    kept, judge = Scores(), Judge()
    assert kept.of(judge, "which?", [TEA, RYE], 1.0) == ([0.7, 0.2], 2)
    assert kept.of(judge, "which?", [RYE, KEY, TEA], 1.0) == ([0.2, 0.9, 0.7], 1)
    assert kept.of(judge, "which?", [KEY, TEA], 1.0) == ([0.9, 0.7], 0)
    assert [passages for _, passages, _ in judge.asked] == [[TEA, RYE], [KEY]]


def test_another_model_question_or_text_is_judged_anew() -> None:
    kept, judge, other = Scores(), Judge(), Judge("judge@2")
    kept.of(judge, "which?", [TEA], 1.0)
    assert kept.of(other, "which?", [TEA], 1.0)[1] == 1
    assert kept.of(judge, "who?", [TEA], 1.0)[1] == 1
    assert kept.of(judge, "which?", [Passage("tea @0.8")], 1.0) == ([0.8], 1)
    assert kept.of(judge, "which?", [Passage("tea @0.7", "coffee?")], 1.0)[1] == 1
    assert kept.of(judge, "which?", [TEA], 1.0)[1] == 0


def test_a_passage_given_twice_is_judged_once() -> None:
    kept, judge = Scores(), Judge()
    assert kept.of(judge, "which?", [TEA, RYE, TEA], 1.0) == ([0.7, 0.2, 0.7], 2)
    assert judge.asked == [("which?", [TEA, RYE], 1.0)]


def test_nothing_is_asked_for_nothing() -> None:
    judge = Judge()
    assert Scores().of(judge, "which?", [], 1.0) == ([], 0)
    assert judge.asked == []


def test_the_least_recently_asked_go_first() -> None:
    kept, judge = Scores(size=2), Judge()
    kept.of(judge, "which?", [TEA, RYE], 1.0)
    kept.of(judge, "which?", [TEA], 1.0)
    kept.of(judge, "which?", [KEY], 1.0)
    assert kept.of(judge, "which?", [TEA, KEY], 1.0)[1] == 0
    assert kept.of(judge, "which?", [RYE], 1.0)[1] == 1


def test_more_than_is_kept_is_still_answered_whole() -> None:
    kept, judge = Scores(size=3), Judge()
    many = [Passage(f"memory @0.{i:02}") for i in range(10)]
    assert kept.of(judge, "which?", many, 1.0) == ([i / 100 for i in range(10)], 10)
    assert kept.of(judge, "which?", many[-3:], 1.0)[1] == 0


def test_a_failure_is_told_and_keeps_nothing() -> None:
    kept, judge = Scores(), Judge(error=AWAY)
    with pytest.raises(RerankerError, match="it is away"):
        kept.of(judge, "which?", [TEA], 1.0)
    judge.error = None
    assert kept.of(judge, "which?", [TEA], 1.0) == ([0.7], 1)


def test_threads_share_it() -> None:
    kept, judge = Scores(size=40), Judge()
    many = [Passage(f"memory @0.{i:02}") for i in range(60)]

    def asked(start: int) -> list[float]:
        return kept.of(judge, "which?", many[start : start + 20], 1.0)[0]

    starts = [i % 41 for i in range(400)]
    with ThreadPoolExecutor(8) as pool:
        for start, found in zip(starts, pool.map(asked, starts), strict=True):
            assert found == [i / 100 for i in range(start, start + 20)]


def test_it_keeps_digests_and_no_text() -> None:
    kept, judge = Scores(), Judge()
    text = f"{'a long memory ' * 10_000}@0.5"
    assert kept.of(judge, "which?", [Passage(text)], 1.0) == ([0.5], 1)
    (key,) = kept._scores
    assert isinstance(key, bytes)
    assert len(key) == DIGEST_BYTES


def test_parts_do_not_run_into_each_other() -> None:
    kept, judge = Scores(), Judge()
    pairs = [("ab", "c"), ("a", "bc"), ("abc", "")]
    assert kept.of(judge, "which?", [Passage(f"{text} @0.5", before) for text, before in pairs], 1.0)[1] == 3


def test_two_caches_have_different_keys() -> None:
    one, other = Scores(), Scores()
    for kept in (one, other):
        kept.of(Judge(), "which?", [TEA], 1.0)
    assert set(one._scores).isdisjoint(other._scores)


# Hosted rerankers against a real local server: their three shapes, and every way a server can fail.


pytestmark = pytest.mark.slow

every_service = pytest.mark.parametrize("name", list(SHAPES))


@pytest.fixture
def name() -> str:
    return "cohere"


@pytest.fixture
def service(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with serving(SHAPES[name][0]) as made:
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", made.url + "/")
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "local-key")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield made


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, taken down instead of slept."""
    slept: list[float] = []
    monkeypatch.setattr("fivefold.models.remote.time.sleep", slept.append)
    return slept


def passages(*scores: float) -> list[Passage]:
    return [Passage(f"memory {score}") for score in scores]


def asked(name: str, *scores: float, patience: float = 30.0) -> list[float]:
    return HostedReranker(name, "big").scores("which?", passages(*scores), patience)


@every_service
def test_scores_come_in_the_order_of_the_passages(service: Service, name: str) -> None:
    assert asked(name, 0.2, 0.9, 0.0, 0.5) == [0.2, 0.9, 0.0, 0.5]


@every_service
def test_the_request_has_the_shape_of_the_service(service: Service, name: str) -> None:
    HostedReranker(name, "big").scores(
        "which?", [Passage("Ann: tea 0.4"), Passage("Bo: no 0.1", "Ann: coffee? 0.3")], 30
    )
    (path, key, body), limit = service.asked[0], SHAPES[name][1]
    assert (path, key) == ("/api/rerank", "Bearer local-key")
    assert body == {
        "model": "big",
        "query": "which?",
        limit: 2,
        "documents": ["Ann: tea 0.4", "Bo: no 0.1\n(said before: Ann: coffee? 0.3)"],
    }


@every_service
def test_the_choice_gives_this_reranker_under_its_pin(name: str) -> None:
    assert reranker(f"{name}:some:model").pin == f"{name}:some:model"
    assert reranker(f"{name}:some:model") is reranker(f"{name}:some:model")


def test_scores_beyond_the_scale_are_cut_to_it(service: Service, name: str) -> None:
    assert asked(name, 1.7, -3.0, 1.0) == [1.0, 0.0, 1.0]


def test_a_busy_service_is_asked_again_after_growing_pauses(service: Service, name: str, pauses: list[float]) -> None:
    service.failures = [(429, "slow down"), (503, "later"), (500, "oops")]
    assert asked(name, 0.3) == [0.3]
    assert len(service.asked) == 4
    assert len(pauses) == 3
    assert pauses == sorted(pauses)


def test_a_service_that_stays_busy_is_given_up_with_its_words(service: Service, name: str, pauses: list[float]) -> None:
    service.failures = [(503, "closed for tea")] * 9
    with pytest.raises(RerankerError, match=r"cohere:big gave no scores: .*HTTP 503: closed for tea"):
        asked(name, 0.3)
    assert len(service.asked) == 4


def test_no_attempt_begins_after_the_patience_is_over(service: Service, name: str, pauses: list[float]) -> None:
    """The first pause is half a second and more, so that a patience of less leaves no second attempt."""
    service.failures = [(503, "closed for tea")] * 9
    with pytest.raises(RerankerError, match="HTTP 503"):
        asked(name, 0.3, patience=0.4)
    assert (len(service.asked), pauses) == (1, [])


def test_an_answer_that_does_not_come_in_time_is_given_up(service: Service, name: str) -> None:
    service.wait = True
    with pytest.raises(RerankerError, match=r"cohere:big gave no scores: .*ReadTimeout"):
        asked(name, 0.3, patience=0.2)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_told_at_once(service: Service, name: str, pauses: list[float], status: int) -> None:
    service.failures = [(status, "not like this")]
    with pytest.raises(RerankerError, match=f"HTTP {status}: not like this"):
        asked(name, 0.3)
    assert (len(service.asked), pauses) == (1, [])


@every_service
def test_a_refusal_without_a_key_says_which_to_set(
    service: Service, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(f"{name.upper()}_API_KEY")
    service.failures = [(401, "no key")]
    with pytest.raises(RerankerError, match=f"{name.upper()}_API_KEY is not set"):
        asked(name, 0.3)
    assert service.asked[0][1] is None


def test_a_service_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch, pauses: list[float]) -> None:
    with serving("results") as gone:
        url = gone.url
    monkeypatch.setenv("JINA_BASE_URL", url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(RerankerError, match=r"jina:big gave no scores: .*ConnectError"):
        asked("jina", 0.3)
    assert len(pauses) == 3


@pytest.mark.parametrize("given", [[0], [0, 1, 2], [], [0, 0], [1, 2], [-1, 0]])
def test_a_wrong_number_of_scores_is_told(service: Service, name: str, given: list[int]) -> None:
    service.answer = lambda _: {"results": [{"index": i, "relevance_score": 0.5} for i in given]}
    with pytest.raises(RerankerError, match=rf"cohere:big gave no scores: {len(set(given))} scores for 2 passages"):
        asked(name, 0.3, 0.4)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"data": [{"index": 0, "relevance_score": 0.5}]},
        {"results": None},
        {"results": 5},
        {"results": {"index": 0}},
        {"results": [{"index": 0}]},
        {"results": [{"relevance_score": 0.5}]},
        {"results": [{"index": "x", "relevance_score": 0.5}]},
        {"results": [{"index": 0, "relevance_score": None}]},
        {"results": [{"index": 0, "relevance_score": "high"}]},
        {"results": ["text"]},
        [],
        None,
        "text",
    ],
)
def test_an_answer_of_another_shape_is_a_reranker_error(service: Service, name: str, answer: Any) -> None:
    service.answer = lambda _: answer
    with pytest.raises(RerankerError, match="cohere:big gave no scores"):
        asked(name, 0.3)


def test_an_answer_that_is_no_json_is_a_reranker_error(service: Service, name: str) -> None:
    service.failures = [(200, "<html>welcome</html>")]
    with pytest.raises(RerankerError, match="cohere:big gave no scores"):
        asked(name, 0.3)


@pytest.mark.parametrize("url", ["http://127.0.0.1:notaport", "127.0.0.1/v1", "ftp://127.0.0.1"])
def test_an_address_that_is_none_is_a_reranker_error(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float], url: str
) -> None:
    monkeypatch.setenv("VOYAGE_BASE_URL", url)
    with pytest.raises(RerankerError, match="voyage:big gave no scores"):
        asked("voyage", 0.3)


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fivefold.models.rerankers.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"reranker jina:big needs .* pip install 'fivefold\[rerank\]'"):
        HostedReranker("jina", "big")


# Cross-encoders of other packages: the extra that is missing, and small stand-ins for the packages themselves.


PASSAGES = [Passage("tea 0.0"), Passage("rye -2.0", "bread?"), Passage("key 3.0")]

SENTENCE_TRANSFORMERS = """
import numpy as np

class CrossEncoder:
    def __init__(self, name):
        if name == "none":
            raise OSError("no such model")
        self.scale = 0.1 if name == "inside" else 1.0

    def predict(self, pairs, show_progress_bar):
        assert all(question == "which?" for question, _ in pairs)
        numbers = np.array([float(text.split()[1]) for _, text in pairs], dtype=np.float32)
        return 0.5 + numbers * self.scale
"""

FASTEMBED = """
class TextCrossEncoder:
    def __init__(self, model_name):
        if model_name == "none":
            raise ValueError("no such model")

    def rerank(self, question, texts):
        assert question == "which?"
        yield from (float(text.split()[1]) for text in texts)
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that have the names and the calls of the real ones, installed as those would be."""
    written = {
        "sentence_transformers/__init__.py": SENTENCE_TRANSFORMERS,
        "sentence_transformers-3.4.1.dist-info/METADATA": "Name: sentence-transformers\nVersion: 3.4.1\n",
        "fastembed/__init__.py": "",
        "fastembed/rerank/__init__.py": "",
        "fastembed/rerank/cross_encoder.py": FASTEMBED,
        "fastembed-0.7.2.dist-info/METADATA": "Name: fastembed\nVersion: 0.7.2\n",
    }
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in [name for name in sys.modules if name.split(".")[0] in {"sentence_transformers", "fastembed"}]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))


def squashed(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


@pytest.mark.parametrize("extra", ["fastembed", "sentence-transformers"])
def test_a_choice_without_its_package_names_the_extra_to_install(extra: str) -> None:
    with pytest.raises(MissingExtra, match=rf"{extra}:some/model needs .* pip install 'fivefold\[{extra}\]'"):
        reranker(f"{extra}:some/model")


@pytest.mark.parametrize("choice", ["", "Local", "local:x", "cohere", "cohere:", "voyage", "jina:", "openai:x", ":x"])
def test_an_unknown_name_is_refused_and_the_known_ones_listed(choice: str) -> None:
    with pytest.raises(ValueError, match=f"unknown reranker {choice!r}") as caught:
        reranker(choice)
    for known in ("local", "sentence-transformers:NAME", "fastembed:NAME", "voyage:MODEL", "cohere:MODEL", "jina:"):
        assert known in str(caught.value)


@pytest.mark.usefixtures("packages")
def test_pins_name_package_model_and_version() -> None:
    assert SentenceTransformersReranker("a/b").pin == "sentence-transformers:a/b@3"
    assert FastEmbedReranker("a/b").pin == "fastembed:a/b@0"


@pytest.mark.usefixtures("packages")
def test_logits_are_squashed_and_keep_their_order() -> None:
    logits = [0.0, -2.0, 3.0]
    assert FastEmbedReranker("a/b").scores("which?", PASSAGES, 1) == pytest.approx([squashed(x) for x in logits])
    by_other = SentenceTransformersReranker("logits").scores("which?", PASSAGES, 1)
    assert by_other == pytest.approx([squashed(x + 0.5) for x in logits], abs=1e-6)


@pytest.mark.usefixtures("packages")
def test_scores_that_lie_in_0_to_1_are_left_alone() -> None:
    assert SentenceTransformersReranker("inside").scores("which?", PASSAGES, 1) == pytest.approx([0.5, 0.3, 0.8])


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("kind", [SentenceTransformersReranker, FastEmbedReranker])
def test_a_model_that_does_not_load_is_named(kind: type[SentenceTransformersReranker | FastEmbedReranker]) -> None:
    with pytest.raises(RerankerError, match=r"could not load 'none': no such model"):
        kind("none").scores("which?", PASSAGES, 1)
