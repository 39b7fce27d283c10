"""A folder of Markdown: it has all that an export has, people can read it, and what they edit is a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from tests.support.toy_engine import toy


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_sample_comes_back_as_it_was_and_gives_the_same_folder(sample_engine: Engine, tmp_path: Path) -> None:
    count = sample_engine.export_markdown(tmp_path / "first")
    assert count == sample_engine.stats().memories
    with fivefold.open(tmp_path / "copy.db", namespace=sample_engine.namespace) as copy:
        assert len(copy.import_markdown(tmp_path / "first").stored) == count
        assert sorted(copy.export_lines()) == sorted(sample_engine.export_lines())
        copy.export_markdown(tmp_path / "second")
        assert contents(tmp_path / "second") == contents(tmp_path / "first")
        assert copy.import_markdown(tmp_path / "first").stored == ()
    files = contents(tmp_path / "first")
    names = {name for name in files if name.startswith(("sessions/", "subjects/"))}
    assert len(names) > 20
    shown = [line for text in files.values() for line in text.decode().split("\n") if line[:1] not in ("<", ">")]
    links = [part.split("]]")[0].split("|")[0] for line in shown for part in line.split("[[")[1:]]
    assert len(links) > 100
    for link in links:  # Obsidian finds each file, and each memory in it
        page, _, anchor = link.partition("#")
        assert f"{page}.md" in files
        assert not anchor or f"\n{anchor}\n".encode() in files[f"{page}.md"]


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=60)
NAMES = st.one_of(st.sampled_from(["a/b", "../up", "CON", "A", "a", "x" * 150, "[[x]]|#^", ". "]), TEXTS.map(str.strip))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS, NAMES), min_size=1, max_size=6))
def test_any_text_and_any_name_come_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    with toy(":memory:") as one, toy(":memory:") as two:
        for text, session in items:
            try:
                one.remember(f"> {text}\n<!-- fivefold -->", session_id=session or None, speaker=session or None)
            except InvalidInput:
                continue
        one.export_markdown(folder / "out")
        two.import_markdown(folder / "out")
        assert sorted(two.export_lines()) == sorted(one.export_lines())
    assert not (folder.parent / "up.md").exists()
    assert {path.name for path in folder.iterdir()} == {"out"}


def test_an_edited_text_is_a_change_and_other_files_stay(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    with toy(str(tmp_path / "m.db")) as engine:
        engine.remember("Ines lives in Porto", id="home", speaker="user")
        engine.remember("The tap drips", id="tap", session_id="monday", pinned=True)
        engine.export_markdown(folder)
        (file,) = folder.glob("subjects/Ines.md")
        file.write_bytes(
            file.read_bytes().replace(b"> Ines lives in Porto", b"> Ines lives\n>\n> in Braga").replace(b"\n", b"\r\n")
        )
        (folder / "subjects" / "mine.md").write_text("my own page")
        assert engine.import_markdown(folder).notes == ("home was edited, and is updated",)
        assert engine.get("home").content == "Ines lives\n\nin Braga"
        with toy(":memory:") as other:
            assert set(other.import_markdown(folder).stored) > {"home", "tap"}
            assert (other.get("home").content, other.get("tap").pinned) == ("Ines lives\n\nin Braga", True)
        engine.forget_session("monday")
        engine.export_markdown(folder)
        assert sorted(contents(folder)) == ["index.md", "subjects/Braga.md", "subjects/Ines.md", "subjects/mine.md"]


def test_secrets_are_masked_if_asked_for(tmp_path: Path) -> None:
    with toy(":memory:") as engine:
        engine.remember("The wifi password is hunter22", id="wifi", tags=["home"])
        engine.export_markdown(tmp_path / "open")
        engine.export_markdown(tmp_path / "masked", mask_secrets=True)
    assert b"hunter22" in b"".join(contents(tmp_path / "open").values())
    assert b"hunter22" not in b"".join(contents(tmp_path / "masked").values())


def test_what_is_not_an_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.md").write_text("dear diary")
    with toy(":memory:") as engine:
        engine.remember("The tap drips", id="tap")
        for wrong in (tmp_path / "notes", tmp_path / "none"):
            with pytest.raises(InvalidInput):
                engine.import_markdown(wrong)
        with pytest.raises(InvalidInput):
            engine.export_markdown(tmp_path / "notes")
        engine.export_markdown(tmp_path / "out")
        damaged = tmp_path / "out" / "notes.md"
        text = damaged.read_text()
        for wrong_text in (
            text.replace('"kind": "note"', '"kind": "verse"'),
            text.replace('"place": 0', '"x": 0'),
            text + text,
        ):
            damaged.write_text(wrong_text)
            with pytest.raises(InvalidInput) as raised:
                engine.import_markdown(tmp_path / "out")
            assert "notes.md" in str(raised.value)
