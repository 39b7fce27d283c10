"""The parts of a question are searched one by one."""

from __future__ import annotations

import fivefold


def test_each_part_of_a_question_has_a_hit_for_itself() -> None:
    with fivefold.open(":memory:") as mem:
        mem.remember_many([f"The marathon of group {i} went past the old marathon school" for i in range(30)])
        mem.remember("We took the night train to Oslo in spring", id="oslo")
        found = mem.recall("Which happened first, the trip to Oslo or the marathon?", k=40)
        route = next(run for run in found.routes if run.route == "parts")
        whole = mem.plan("Where is Oslo?")
    assert found.query.parts == ("the trip to Oslo", "the marathon")
    notes = {hit.note for hit in route.hits}
    assert notes == {"for 'the trip to Oslo'", "for 'the marathon'"}
    assert "oslo" in [hit.memory.id for hit in found]
    assert next(part for part in whole.routes if part.route == "parts").reason == "the question has one part"
