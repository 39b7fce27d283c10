"""Commands that show the known facts without a question, and correct them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import SpaceOptions, app, terminal
from fivefold.cli.output import say
from fivefold.cli.read import NowOption
from fivefold.cli.write import MemoryArgument

if TYPE_CHECKING:
    from fivefold.values.known import Fact

SecretsOption = Annotated[bool, typer.Option("--secrets", help="Show passwords, keys and card numbers")]


@app.command()
def profile(
    about: Annotated[str, typer.Argument(help="The user, or the name of a person, a place or a project")] = "user",
    budget: Annotated[int, typer.Option("--budget", help="Maximum number of tokens")] = 600,
    now: NowOption = None,
    earlier: Annotated[bool, typer.Option("--earlier", help="Show earlier facts that no longer hold too")] = False,
    secrets: SecretsOption = False,
    *,
    space: SpaceOptions,
) -> None:
    """Show the known facts about the user, or about a person, place or project."""
    with space.reading() as engine:
        known = engine.profile(about, token_budget=budget, now=now, secrets=secrets)

    def draw(_: object) -> None:
        section = ""
        for fact in known:
            if fact.section != section:
                section = fact.section
                terminal.line(section, "bold")
            _line(fact, "pinned" if fact.pinned else "")
        if earlier and known.earlier:
            terminal.line("earlier", "bold")
            for fact in known.earlier:
                _line(fact, "" if fact.until is None else f"until {terminal.day(fact.until)}")
        if not known.facts:
            say("Nothing is known yet.")
        elif known.left_out:
            terminal.line(f"{known.left_out} more did not fit into {budget} tokens.", "dim")

    space.show(known, draw)


@app.command()
def agenda(
    start: Annotated[str | None, typer.Option("--from", help="From when on, ISO 8601 [default: now]")] = None,
    end: Annotated[str | None, typer.Option("--until", help="Until when, ISO 8601 [default: everything ahead]")] = None,
    limit: Annotated[int, typer.Option("--limit", help="Maximum number of entries, the next ones first")] = 50,
    secrets: SecretsOption = False,
    *,
    space: SpaceOptions,
) -> None:
    """Show coming dates by day, and overdue tasks."""
    with space.reading() as engine:
        ahead = engine.agenda(start, end, limit=limit, secrets=secrets)

    def draw(_: object) -> None:
        for fact in ahead:
            notes = ", ".join(filter(None, (fact.repeats, "overdue" if fact.overdue else "")))
            _line(fact, notes, f"{fact.first_day:%a %Y-%m-%d} ")
        if not ahead.facts:
            say("Nothing is dated ahead.")

    space.show(ahead, draw)


@app.command()
def history(
    of: Annotated[str, typer.Argument(help="A question, such as 'where do I live', or the id of a memory")],
    space: SpaceOptions,
) -> None:
    """Show the earlier and later answers to a question, or the earlier and later versions of a memory."""
    with space.reading() as engine:
        found = engine.history(of)

    def draw(_: object) -> None:
        for fact in found.facts:
            _line(
                fact, "" if fact.until is None else f"until {terminal.day(fact.until)}", f"{terminal.day(fact.since)} "
            )
        if not found.facts:
            for memory in found.chain:
                terminal.memory(memory)
            terminal.links(found.links)

    space.show(found, draw)


@app.command()
def changes(
    since: Annotated[
        str | None, typer.Option("--since", help="Since when, ISO 8601 [default: the latest session began]")
    ] = None,
    secrets: SecretsOption = False,
    *,
    space: SpaceOptions,
) -> None:
    """Show new facts, replaced facts and ended facts."""
    with space.reading() as engine:
        changed = engine.changes(since, secrets=secrets)
    parts = (("new", changed.new), ("changed", changed.replaced), ("no longer", changed.ended))
    space.show(changed, lambda _: _sections(parts, "Nothing changed."))


@app.command()
def recap(
    session: Annotated[str | None, typer.Argument(help="The session [default: the latest]", show_default=False)] = None,
    secrets: SecretsOption = False,
    *,
    space: SpaceOptions,
) -> None:
    """Sum up a session: decisions, facts, promises and open questions."""
    with space.reading() as engine:
        found = engine.recap(session, secrets=secrets)
    parts = (
        ("decisions", found.decisions),
        ("facts", found.facts),
        ("promises", found.promises),
        ("open questions", found.questions),
    )
    space.show(found, lambda _: _sections(parts, f"Session {found.session_id!r} came to nothing that lasts."))


@app.command()
def correct(
    id: MemoryArgument,
    line: Annotated[str, typer.Argument(help="The wrong line, as a profile shows it")],
    to: Annotated[str, typer.Argument(help="The new text")],
    space: SpaceOptions,
) -> None:
    """Correct a line at its source: a memory with the new words replaces the old one."""
    with space.reading() as engine:
        report = engine.correct(id, line, to)
    space.show(report, lambda _: terminal.report(report))


@app.command()
def hide(
    id: MemoryArgument,
    undo: Annotated[bool, typer.Option("--undo", help="Show it again")] = False,
    *,
    space: SpaceOptions,
) -> None:
    """Hide a memory from profiles, agendas, changes and recaps."""
    with space.reading() as engine:
        memory = engine.hide(id, not undo)
    space.show(memory, lambda _: terminal.memory(memory))


def _line(fact: Fact, note: str = "", lead: str = "") -> None:
    end = f" ({note})" if note else ""
    terminal.quote(f"  {lead}", f"{fact.text}{end} [{fact.sources[0]}]")


def _sections(parts: Sequence[tuple[str, Iterable[Fact]]], nothing: str) -> None:
    empty = True
    for name, facts in parts:
        for place, fact in enumerate(facts):
            if place == 0:
                terminal.line(name, "bold")
            empty = False
            _line(fact)
    if empty:
        say(nothing)
