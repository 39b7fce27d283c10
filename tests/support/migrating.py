"""What the tests of migrations share: namespaces to move, copies that are disturbed, and an export of what arrived."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import fivefold
from fivefold.stores import open_store
from fivefold.transfer.migrate import Migration, migrate

ODD = "wörk / 'quoted' \"it\"; DROP TABLE memories -- 日本 🎉"
QUESTIONS = ("where do I live now?", "what did Sarah say about the Kestrel?", "how do I take my tea?")

TOKENS = [bytes([number]) * length for number, length in enumerate((0, 1, 659, 660, 661, 1_300, 5_000, 40, 0, 9_999))]
"""Token vectors of seven short texts and of the three passages of a long one, of sizes that stores may split."""


def exported(location: str, namespace: str, folder: Path) -> bytes:
    """A namespace as it is exported; the doctor finds it sound."""
    with fivefold.open(location, namespace=namespace) as mem:
        mem.export_jsonl(folder / "out.jsonl")
        assert [finding for finding in mem.doctor() if not finding.ok] == []
    return (folder / "out.jsonl").read_bytes()


def make_namespace(path: str, name: str) -> None:
    with closing(open_store(path)) as store, store.write(name):
        pass


def checksums(moved: list[Migration]) -> dict[str, str]:
    return {item.namespace: item.checksum for item in moved}


@contextmanager
def meanwhile(act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Does something once, in the middle of a copy: after its first batch."""
    acts = [act]

    @contextmanager
    def bar(title: str, total: int, *, show: bool) -> Iterator[Callable[[int], None]]:
        def advance(done: int) -> None:
            if done and acts:
                acts.pop()()

        yield advance

    with monkeypatch.context() as patch:
        patch.setattr("fivefold.transfer.migrate.bar", bar)
        yield
    assert not acts


def interrupted(source: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that stops after its first batch of memories."""

    def stop() -> None:
        raise KeyboardInterrupt

    with meanwhile(stop, monkeypatch), pytest.raises(KeyboardInterrupt):
        migrate(source, target, ["default"])
