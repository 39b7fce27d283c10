"""Further data sets as they are published, into texts and questions: a small hand-written sample of each."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.training.scripts import scripts

pytestmark = pytest.mark.slow

HOTPOT = [
    {
        "question": "Which of the two bridges is older?",
        "supporting_facts": [["Arch Bridge", 1], ["Rope Bridge (Kent)", 0]],
        "context": [
            ["Mill", ["A mill grinds."]],
            ["Arch Bridge", ["Arch Bridge is made of stone.", " It opened in 1801. ", ""]],
            ["Rope Bridge (Kent)", ["Rope Bridge opened in 1790.", "It sways."]],
        ],
    }
]
MUSIQUE = [
    {
        "question": "Who founded the town where the fair began?",
        "paragraphs": [
            {"title": "Fair", "paragraph_text": "It began in Alder.", "is_supporting": True},
            {"title": "Ferry", "paragraph_text": "It crosses the lake.", "is_supporting": False},
            {"title": "Alder", "paragraph_text": "Founded by Ines Roe.", "is_supporting": True},
        ],
    }
]
SCENES = {
    "data": [
        {
            "paragraphs": [
                {
                    "utterances:": [
                        {"speakers": ["Ann Low"], "utterance": "I ca n't find it , sorry ."},
                        {"speakers": ["Bob May", "Cy Orr"], "utterance": "We 're gon na look ."},
                        {"speakers": [], "utterance": "Here !"},
                    ],
                    "qas": [
                        {
                            "question": "Who looks ?",
                            "answers": [
                                {"utterance_id": 1},
                                {"utterance_id": 1},
                                {"utterance_id": 2},
                                {"utterance_id": 0},
                            ],
                        }
                    ],
                }
            ]
        }
    ]
}
MEETING = {
    "meeting_transcripts": [
        {"speaker": "Chair, Ms Ode", "content": "{vocalsound} Welcome ."},
        {
            "speaker": "Clerk",
            "content": "The budget for the garden was raised again , by a third , after the storm last year .",
        },
        {
            "speaker": "Clerk",
            "content": "Nobody asked about anything else in that long meeting , which surprised all of us there .",
        },
        {"speaker": "Chair, Ms Ode", "content": "{gap}"},
    ],
    "specific_query_list": [
        {"query": "What about the garden budget?", "relevant_text_span": [["0", "2"], ["3", "9"]]},
        {"query": "How did it open?", "relevant_text_span": [["0", "0"]]},
    ],
}


@pytest.fixture(scope="module")
def made() -> SimpleNamespace:
    return scripts("embedder")


def converted(made: SimpleNamespace, folder: Path, **files: object) -> dict[str, Any]:
    """What the script writes for these files, each given as the option of its name."""
    options = [str(folder / "further.json.xz")]
    for name, content in files.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(content), "utf-8")
        options += [f"--{name.replace('_', '-')}", str(path)]
    made.further_data.collect(made.further_data.arguments().parse_args(options)).write(Path(options[0]))
    with lzma.open(options[0]) as file:
        found: dict[str, Any] = json.load(file)
    return found


def answers(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(source, question, found["docs"][number][3]) for source, question, number in found["q"]]


def test_every_supporting_sentence_answers(made: SimpleNamespace, tmp_path: Path) -> None:
    found = converted(made, tmp_path, hotpot=HOTPOT)
    question = HOTPOT[0]["question"]
    assert answers(found) == [
        ("hotpot", question, "Arch Bridge: It opened in 1801."),
        ("hotpot", question, "Rope Bridge opened in 1790."),
    ]
    texts = [(conversation, text) for _, conversation, _, text in found["docs"]]
    assert texts == [
        (0, "Arch Bridge is made of stone."),
        (0, "Arch Bridge: It opened in 1801."),
        (1, "Rope Bridge opened in 1790."),
        (1, "Rope Bridge: It sways."),
        (2, "A mill grinds."),
    ]


def test_every_supporting_paragraph_answers(made: SimpleNamespace, tmp_path: Path) -> None:
    found = converted(made, tmp_path, musique=MUSIQUE)
    assert [text for _, _, text in answers(found)] == ["Fair: It began in Alder.", "Alder: Founded by Ines Roe."]
    assert [doc[1] for doc in found["docs"]] == [0, 1, 2]


def test_an_answer_is_its_utterance(made: SimpleNamespace, tmp_path: Path) -> None:
    found = converted(made, tmp_path, friends=SCENES, friends_test=SCENES)
    assert found["docs"][:3] == [
        ["friends", 0, "S:Ann", "I can't find it, sorry."],
        ["friends", 0, "S:Bob & Cy", "We're gonna look."],
        ["friends", 0, "S:Someone", "Here!"],
    ]
    assert [text for _, _, text in answers(found)[:2]] == ["We're gonna look.", "Here!"]
    assert {doc[:2] == ["friends_test", 1] for doc in found["docs"][3:]} == {True}
    assert "friends_test" in made.corpus.UNSEEN


def test_turns_that_share_words_with_the_query_answer(made: SimpleNamespace, tmp_path: Path) -> None:
    """The second query has no turn that is long enough."""
    found = converted(made, tmp_path, qmsum=MEETING)
    assert [doc[2:] for doc in found["docs"]][::3] == [["S:Chair", "Welcome."], ["S:Chair", "-"]]
    assert [number for _, _, number in found["q"]] == [1, 2]
    assert found["docs"][1][3].endswith("after the storm last year.")
