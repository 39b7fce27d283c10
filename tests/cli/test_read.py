"""Commands that answer a question, and show how."""

from __future__ import annotations

import re

from fivefold.retrieval.prompt_block import OPENING
from fivefold.text.display import OPEN
from fivefold.values.explain import NOT_FOUND
from tests.support.shell import Command, Small


def test_recall_shows_text_when_who_chance_and_a_reason(small: Small, command: Command) -> None:
    ran = command("recall", "what is my badge ID?", "-k", "1", "--store", small.path)
    first, second, last = ran.out.splitlines()
    assert re.fullmatch(r" 1\. +\d+ %  My badge ID is E-47821", first)
    assert second == "    6 Jan 2025, user · says “badge”, “ID”"
    assert re.fullmatch(r"1 memory · recall [\w-]{36}", last)


def test_recall_shows_days_of_the_time_zone(small: Small, command: Command) -> None:
    command("add", "The gate code is 4711", "--at", "2025-01-31T23:30:00Z", "--store", small.path)
    command("settings", "timezone=Asia/Tokyo", "--store", small.path)
    assert "    1 Feb 2025 · " in command("recall", "what is the gate code?", "-k", "1", "--store", small.path).out


def test_recall_as_json_has_the_trace_only_when_asked(small: Small, command: Command) -> None:
    asked = ("recall", "what is my badge ID?", "--store", small.path, "--json")
    short, whole = command(*asked), command(*asked, "--trace")
    assert len(short.out) < len(whole.out) / 4
    for few, many in zip(short.json["hits"], whole.json["hits"], strict=True):
        assert {**many, "memory": {name: many["memory"][name] for name in few["memory"]}}.items() >= few.items()
        assert {"id", "content", "speaker", "session_id", "event_at"} == set(few["memory"])
    assert {"plan", "routes", "timings"} <= set(whole.json)


def test_understand_shows_how_a_question_is_read(small: Small, command: Command) -> None:
    ran = command("understand", "what did Mrs Okafor say last week?", "--now", "2025-02-01", "--store", small.path)
    assert ran.out.startswith("what did Mrs [Okafor = Okafor] say [last week = ")
    assert "'last week' is 2025-01-20 00:00 to 2025-01-27 00:00 UTC" in ran.out
    earlier = ("--history", "hello", "--store", small.path, "--json")
    assert command("understand", "and her?", *earlier).json["history"] == ["hello"]


def test_recall_in_detail_shows_the_memory_and_its_routes(small: Small, command: Command) -> None:
    ran = command("recall", "what is my badge ID?", "-k", "1", "-v", "--store", small.path)
    first, second, *bars, score, last = ran.out.splitlines()
    assert re.fullmatch(r" 1\. +\d+ %  My badge ID is E-47821", first)
    assert second == "    6 Jan 2025, user · fact · badge"
    figures = {line.split()[0]: line.split()[1] for line in bars}
    assert figures["dense"] == figures["lexical"] == "#1"
    assert re.fullmatch(r" +=  +[\d.]+", score)
    waited = r"( \(\+ \d+ ms waited for the model\))?"  # left out where the model is done before the rest
    assert re.fullmatch(rf"1 memory · recipe default · [\d.]+ ms{waited} · recall [\w-]+", last)


def test_recall_takes_time_context_and_recipe(small: Small, command: Command) -> None:
    answer = command(
        "recall",
        "badge",
        "--now",
        "2025-02-01",
        "--history",
        "hello",
        "--history",
        "again",
        "--recipe",
        "lexical",
        "--store",
        small.path,
        "--json",
        "--trace",
    ).json
    assert answer["query"]["now"] == "2025-02-01T00:00:00Z"
    assert answer["query"]["history"] == ["hello", "again"]
    assert [run["route"] for run in answer["routes"]] == ["lexical"]


def test_recall_that_finds_nothing_says_so(small: Small, command: Command) -> None:
    ran = command("recall", "zebra", "--recipe", "lexical", "--store", small.path)
    assert ran.code == 0
    assert ran.out.startswith(NOT_FOUND)


def test_recall_that_is_not_sure_says_so_and_still_shows_the_hits(small: Small, command: Command) -> None:
    asked = ("recall", "what is my badge ID?", "--set", "select.chance.found=1", "--store", small.path)
    shown = command(*asked).out
    first, second, *_ = shown.splitlines()
    assert first == NOT_FOUND
    assert "My badge ID" in second
    hits = command(*asked, "--json").json["hits"]
    chances = [int(figure) for figure in re.findall(r"^ *\d+\. +(\d+) %  ", shown, re.MULTILINE)]
    assert chances == [min(99, round(100 * hit["chance"])) for hit in hits]


def test_recall_leaves_out_what_is_less_likely_than_asked_for(small: Small, command: Command) -> None:
    asked = ("recall", "what is my badge ID?", "--store", small.path, "--json")
    every = command(*asked).json["hits"]
    least = max(hit["chance"] for hit in every)
    likely = command(*asked, "--min-chance", str(least), "--trace").json
    assert [hit["chance"] for hit in likely["hits"]] == [least]
    assert len(every) > 1
    assert {drop["stage"] for drop in likely["dropped"]} == {"min_chance"}
    refused = command("recall", "badge", "--recipe", "ditto", "--min-chance", "0.5", "--store", small.path)
    assert refused.code != 0
    assert "--min-chance needs a recipe" in refused.err
    assert "'default'" in refused.err


def test_a_filter_says_which_memories_may_answer(small: Small, command: Command) -> None:
    asked = ("what is my badge ID?", "--filter", 'speaker:assistant session:"monday"', "--store", small.path)
    assert [hit["memory"]["id"] for hit in command("recall", *asked, "--json").json["hits"]] == ["nod"]
    assert "filter speaker:assistant session:monday" in command("explain", *asked).out
    assert "filter speaker:assistant session:monday" in command("plan", *asked).out
    assert command("plan", *asked, "--json").json["filter"] == "speaker:assistant session:monday"
    assert [source["id"] for source in command("context", *asked, "--json").json["sources"]] == ["nod"]
    refused = command("recall", "badge", "--filter", "speaker", "--store", small.path)
    assert refused.code != 0
    assert "filter, character 1: 'speaker' is not a condition" in refused.err


def test_recall_that_encodes_nothing_says_nothing_of_it(small: Small, command: Command) -> None:
    last = command("recall", "badge", "--recipe", "lexical", "-v", "--store", small.path).out.splitlines()[-1]
    assert re.fullmatch(r"2 memories · recipe lexical · [\d.]+ ms · recall [\w-]+", last)


def test_explain_shows_the_arithmetic(small: Small, command: Command) -> None:
    ran = command("explain", "what is my badge ID?", "-k", "1", "--store", small.path)
    assert re.search(r"dense +hits", ran.out)
    assert re.search(r"^#1  \d\.\d{4}  My badge ID is E-47821$", ran.out, re.MULTILINE)
    sums = re.search(r"fused +([\d.]+) \+ ([\d.]+) \+ ([\d.]+) = ([\d.]+)", ran.out)
    assert sums is not None
    dense, lexical, late, fused = map(float, sums.groups())
    assert abs(dense + lexical + late - fused) < 2e-4
    assert re.search(r"^    late +rank 1 .*\(.*“badge” ~ “badge” 0\.\d\d", ran.out, re.MULTILINE)
    assert "dropped nod at select: rank 2 of" in ran.out


def test_plan_shows_each_route(small: Small, command: Command) -> None:
    ran = command("plan", "the", "-k", "7", "--store", small.path)
    assert "recipe default · k 7" in ran.out
    assert re.search(r"dense +yes", ran.out)
    assert re.search(r"lexical +no .*only stop words", ran.out)


def test_all_three_take_five_unless_told(small: Small, command: Command) -> None:
    for name in ("recall", "explain"):
        trace = ["--trace"] if name == "recall" else []
        assert command(name, "badge", "--store", small.path, "--json", *trace).json["plan"]["k"] == 5
    assert command("plan", "badge", "--store", small.path, "--json").json["k"] == 5


def test_explain_and_plan_take_context(small: Small, command: Command) -> None:
    said = ("--history", "hello", "--history", "again", "--store", small.path)
    assert command("explain", "badge", *said, "--json").json["query"]["history"] == ["hello", "again"]
    assert "recipe default · k 5" in command("plan", "badge", *said).out


def test_long_memories_are_cut_unless_in_full(small: Small, command: Command) -> None:
    long = "The spare parts list: " + ", ".join(f"screw number {number}" for number in range(100))
    command("add", long, "--id", "parts", "--store", small.path)
    for name in ("recall", "explain", "list"):
        args = [name, *(["spare parts list"] if name != "list" else []), "--store", small.path]
        cut = next(line for line in command(*args).out.splitlines() if "The spare parts list" in line and "…" in line)
        assert "screw number 99" not in cut
        assert "screw number 99" in command(*args, "--full").out
    assert "screw number 99" in command("get", "parts", "--store", small.path).out


def test_recent_turns_come_along_and_are_shown(small: Small, command: Command) -> None:
    found = command("recall", "where do I live?", "-k", "1", "--recent", "1", "--store", small.path, "--json").json
    assert [turn["id"] for turn in found["recent"]] == ["nod"]
    said = command("recall", "where do I live?", "-k", "1", "--recent", "2", "--store", small.path).out
    assert re.search(
        r"^recent +user: My badge ID is E-47821 *\nrecent +assistant: Noted, the badge", said, re.MULTILINE
    )
    named = command("explain", "where do I live?", "--recent", "2", "--session", "tuesday", "--store", small.path).out
    assert not re.search("^ +recent (badge|nod)", named, re.MULTILINE)
    command("settings", "recent_turns=1", "--store", small.path)
    assert "recent nod" in command("explain", "where do I live?", "--store", small.path).out


def test_effort_is_said_with_the_recipe(small: Small, command: Command) -> None:
    assert "recipe default, low effort · k 5" in command("plan", "badge", "--effort", "low", "--store", small.path).out
    ran = command("recall", "badge", "--effort", "low", "-v", "--store", small.path)
    assert "recipe default, low effort · " in ran.out
    ran = command("recall", "badge", "--effort", "huge", "--store", small.path)
    assert ran.err == "fivefold: --effort 'huge' is unknown; it is one of low, normal, high\n"


def test_context_prints_the_block_alone(small: Small, command: Command) -> None:
    ran = command("context", "what is my badge ID?", "-k", "2", "--recent", "1", "--store", small.path)
    opening, fence, first, second, *rest = ran.out.splitlines()
    assert (opening, fence, first) == (OPENING, OPEN, "Last turns of the conversation:")
    assert second == "[1] Mon 6 Jan 2025 09:00, assistant: Noted, the badge is E-47821."
    assert any(line.endswith("] user: My badge ID is E-47821") for line in rest)
    assert re.fullmatch(r"fivefold: \d+ of 1,000 tokens · \d sources · recall [\w-]{36}\n", ran.err)


def test_context_says_what_it_left_out(small: Small, command: Command) -> None:
    ran = command("context", "what is my badge ID?", "--budget", "70", "--recent", "2", "--store", small.path)
    made = command("context", "badge", "--budget", "70", "--recent", "2", "--store", small.path, "--json").json
    assert made["tokens"] <= 70
    assert re.search(r"\d (?:memory|memories|turns?) left out: no room left in 70 tokens", ran.err)
    assert "E-47821" in ran.out, "the best hit comes in, also if it is one of the last turns"
    tight = command("context", "badge", "--budget", "9", "--store", small.path)
    assert tight.out == ""
    assert "not even the beginning of one memory fits into 9 tokens; " in tight.err
    assert command("context", "badge", "--budget", "0", "--store", small.path).err == (
        "fivefold: --budget must be a whole number from 1 to 1000000, not 0\n"
    )
