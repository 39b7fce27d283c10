"""Values that wait in a file."""

from __future__ import annotations

from fivefold_bench.data import LazyList, Spool


def test_what_is_put_down_comes_back_and_equal_values_lie_there_once() -> None:
    spool = Spool()
    talk = [{"role": "user", "content": "Die Bienen schwärmen"}]
    first, other, again = spool.put(talk), spool.put(["x"]), spool.put(list(talk))
    assert first == again != other
    assert (spool.get(first), spool.get(other)) == (talk, ["x"])


def test_a_lazy_list_is_made_when_it_is_used_and_not_for_its_length() -> None:
    made = []

    def make() -> list[int]:
        made.append(1)
        return [7, 8, 9]

    numbers = LazyList(3, make)
    assert len(numbers) == 3
    assert made == []
    assert (list(numbers), numbers[1], numbers[1:], 9 in numbers) == ([7, 8, 9], 8, [8, 9], True)
    assert len(made) == 4
    assert numbers == [7, 8, 9]
    assert numbers != [7, 8]
