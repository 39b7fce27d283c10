"""Our own cross-encoder, for real: plain examples, odd texts, threads, and a file that is missing or damaged."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fivefold.errors import RerankerError
from fivefold.models.bert import tokenizer
from fivefold.models.rerankers import BEFORE, CLS, FILE, QUESTION, SEP, TEXT, Local, model_inputs, reranker, token_rows
from fivefold.values.vectors import Passage
from tests.support.model_folder import with_model_file

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
    pieces = tokenizer(512)
    (plain, after), start = token_rows(
        pieces, "which tea?", [Passage("green tea"), Passage("green", "black or green?")]
    )
    assert [pieces.id_to_token(i) for i in plain] == "[CLS] which tea ? [SEP] green tea [SEP]".split()
    assert [pieces.id_to_token(i) for i in after[start:]] == "green [SEP] black or green ? [SEP]".split()
    assert (plain[0], plain[start - 1]) == (CLS, SEP)


def test_the_first_of_question_and_text_and_the_last_of_before_are_read() -> None:
    pieces = tokenizer(512)
    (row,), start = token_rows(pieces, "one " * 99 + "end", [Passage("two " * 199, "start " + "three " * 99)])
    words = [pieces.id_to_token(i) for i in row]
    assert start == QUESTION + 2
    assert words == ["[CLS]", *["one"] * QUESTION, "[SEP]", *["two"] * TEXT, "[SEP]", *["three"] * BEFORE, "[SEP]"]


def test_a_batch_is_padded_and_masked() -> None:
    given = model_inputs([[CLS, 7, SEP, 8, SEP], [CLS, 7, SEP, 9, 9, 9, SEP]], start=3)
    assert given["input_ids"].tolist() == [[CLS, 7, SEP, 8, SEP, 0, 0], [CLS, 7, SEP, 9, 9, 9, SEP]]
    assert given["attention_mask"].tolist() == [[1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1, 1]]
    assert given["token_type_ids"].tolist() == [[0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 1]]


# A damaged install


@pytest.mark.parametrize("data", [None, b"", b"no graph at all"])
def test_a_missing_or_damaged_file_is_a_reranker_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes | None
) -> None:
    with_model_file(monkeypatch, tmp_path, FILE, data)
    with pytest.raises(RerankerError, match=FILE):
        Local().scores("which?", [Passage("tea")], 60)
