"""Commands that change memories."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fivefold.cli.app import SpaceOptions, app, opened, terminal
from fivefold.cli.output import say
from fivefold.errors import InvalidInput
from fivefold.values.memory import RECORD_FIELDS, record_of

if TYPE_CHECKING:
    from fivefold.values.reports import HealthReport


def record_option(flag: str, name: str, *, note: str = "", default: bool = True) -> Any:
    """The option for a field of a record; its help is what the field means."""
    spec = RECORD_FIELDS[name]
    choices = f": {', '.join(spec.choices)}" if spec.choices else ""
    left_out = f" [default: {spec.left_out}]" if default and spec.left_out else ""
    return typer.Option(flag, help=f"{spec.about}{choices}{note}{left_out}")


MemoryArgument = Annotated[str, typer.Argument(help="The memory's id")]
EmbedderOption = Annotated[str | None, typer.Option(help="Embedder for a new namespace [default: fivefold-minilm]")]
ExtractorOption = Annotated[str, typer.Option(help="rules, or openai:MODEL")]


@dataclass(frozen=True, slots=True)
class TextOptions:
    """The fields of a record that any text may have."""

    speaker: Annotated[str | None, record_option("--speaker", "speaker")] = None
    session_id: Annotated[str | None, record_option("--session", "session_id")] = None
    event_at: Annotated[str | None, record_option("--at", "event_at")] = None
    type: Annotated[str | None, record_option("--type", "type")] = None
    tags: Annotated[list[str] | None, record_option("--tag", "tags", note="; repeatable")] = None


@dataclass(frozen=True, slots=True)
class RecordOptions(TextOptions):
    """All fields of a record but its text."""

    id: Annotated[str | None, record_option("--id", "id")] = None
    turn_index: Annotated[int | None, record_option("--turn", "turn_index")] = None
    importance: Annotated[float | None, record_option("--importance", "importance")] = None
    valid_from: Annotated[str | None, record_option("--valid-from", "valid_from")] = None
    valid_to: Annotated[str | None, record_option("--valid-to", "valid_to")] = None
    expires_at: Annotated[str | None, record_option("--expires", "expires_at")] = None
    pinned: Annotated[bool, record_option("--pin", "pinned", default=False)] = False
    origin: Annotated[str | None, record_option("--origin", "origin")] = None
    metadata: Annotated[str | None, record_option("--metadata", "metadata")] = None


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """The fields of a memory that can be changed."""

    content: Annotated[str | None, record_option("--content", "content", default=False)] = None
    speaker: Annotated[str | None, record_option("--speaker", "speaker", default=False)] = None
    event_at: Annotated[str | None, record_option("--at", "event_at", default=False)] = None
    type: Annotated[str | None, record_option("--type", "type", default=False)] = None
    tags: Annotated[list[str] | None, record_option("--tag", "tags", note="; repeatable")] = None
    importance: Annotated[float | None, record_option("--importance", "importance", default=False)] = None
    valid_to: Annotated[str | None, record_option("--valid-to", "valid_to", default=False)] = None
    expires_at: Annotated[str | None, record_option("--expires", "expires_at", default=False)] = None


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="The text to remember, or - to read it from standard input")],
    fields: RecordOptions,
    embedder: EmbedderOption = None,
    extractor: ExtractorOption = "rules",
    *,
    space: SpaceOptions,
) -> None:
    """Remember a text, and show the facts read out of it."""
    content = _piped() if text == "-" else text
    record: dict[str, Any] = {"content": content, **asdict(fields), "metadata": _json(fields.metadata)}
    record_of(record)  # a bad record is refused before a store is made for it
    with opened(space.store, space.namespace, embedder=embedder, extractor=extractor) as engine:
        report = engine.remember(**record)
        read = engine.get(report.stored[0]) if report.stored else None
    space.show(report, lambda done: terminal.report(done, read))


@app.command()
def update(ctx: typer.Context, id: MemoryArgument, fields: ChangeOptions, space: SpaceOptions) -> None:
    """Change the named fields of a memory."""
    changes: dict[str, Any] = {name: value for name, value in asdict(fields).items() if value is not None}
    if not changes:
        ctx.fail("Nothing to change; name a field, such as --content.")
    with space.reading() as engine:
        changed = engine.update(id, **changes)
    space.show(changed, terminal.memory)


@app.command()
def supersede(
    id: Annotated[str, typer.Argument(help="The memory that no longer holds")],
    text: Annotated[str, typer.Argument(help="The text that holds instead")],
    fields: TextOptions,
    space: SpaceOptions,
) -> None:
    """Remember a text that replaces another memory; the old one keeps its history."""
    with space.reading() as engine:
        report = engine.supersede(id, {"content": text, **asdict(fields)})
        read = engine.get(report.stored[0])
    space.show(report, lambda done: terminal.report(done, read))


@app.command()
def reinstate(
    id: Annotated[str, typer.Argument(help="The memory that holds after all")], *, space: SpaceOptions
) -> None:
    """Make a superseded memory hold again, or let a forgotten memory or session be stored again."""
    with space.reading() as engine:
        memory = engine.reinstate(id)
    if memory is None:
        space.show(memory, lambda _: say(f"{id} was forgotten; it may be stored again now"))
    else:
        space.show(memory, terminal.memory)


@app.command()
def forget(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of memories")] = None,
    session: Annotated[str | None, typer.Option("--session", help="Forget a whole session instead")] = None,
    *,
    space: SpaceOptions,
) -> None:
    """Remove memories, or a session, for good."""
    if bool(ids) == (session is not None):
        ctx.fail("Name either ids of memories or --session.")
    with space.reading() as engine:
        if session is not None:
            turns = engine.forget_session(session)
            result: dict[str, Any] = {"session": session, "forgotten": turns}
            summary = f"{turns} {'turn' if turns == 1 else 'turns'}"
        else:
            memories = [engine.get(id) for id in dict.fromkeys(ids or ())]
            for memory in sorted(memories, key=lambda item: item.kind != "session"):  # refused first, it stops the rest
                engine.forget(memory.id)
            result = {"forgotten": [memory.id for memory in memories]}
            summary = ", ".join(result["forgotten"])
        erasure = engine.erasure()
    left = "" if erasure.complete else f"\n{erasure.detail}"
    space.show(result | {"erasure": erasure}, lambda _: say(f"forgotten: {summary}{left}"))


@app.command()
def used(
    ctx: typer.Context,
    recall: Annotated[str, typer.Argument(help="The recall's id, as `fivefold recall` prints it")],
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of the used memories")] = None,
    not_used: Annotated[
        list[str] | None, typer.Option("--not", help="Id of a memory that was of no use; repeatable")
    ] = None,
    *,
    space: SpaceOptions,
) -> None:
    """Give feedback: which memories of a recall were used, and which were not."""
    used, refused = ids or [], not_used or []
    if not used and not refused:
        ctx.fail("Nothing to note; name the memories that were used, or one that was not with --not.")
    with space.reading() as engine:
        engine.feedback(recall, used=used, not_used=refused)
    done = {"recall": recall, "used": used, "not_used": refused}
    space.show(done, lambda _: say(f"noted: {len(used)} used" + (f", {len(refused)} of no use" if refused else "")))


def _piped() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _json(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"is not JSON: {error}", field="metadata") from None


@app.command()
def quarantine(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of records to approve or reject")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Store them as memories")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Remove them for good")] = False,
    filter: Annotated[
        str | None, typer.Option("--filter", "-f", help="All records that pass, as in origin:tool")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that wait")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of listed entries")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Where to continue: the cursor at the end of the previous list")
    ] = None,
    *,
    space: SpaceOptions,
) -> None:
    """List the records that wait for approval, and approve or reject them; until then no recall finds them."""
    if approve and reject:
        ctx.fail("Choose one of --approve and --reject.")
    chosen = "" if every else filter
    with space.reading() as engine:
        if approve or reject:
            if bool(ids) == (chosen is not None):
                ctx.fail("Name the records: ids, --filter or --all.")
            if approve:
                space.show(engine.approve(ids or None, filter=chosen), terminal.report)
            else:
                rejected = engine.reject(ids or None, filter=chosen)
                space.show(
                    {"rejected": [memory.id for memory in rejected]}, lambda _: say(f"{len(rejected):,} rejected")
                )
            return
        if ids:
            ctx.fail("Say what to do with them: --approve or --reject.")
        waiting = engine.quarantined(filter=chosen, limit=limit, cursor=cursor)
    space.show(waiting, terminal.memories)


# Commands for how long memories live: pin, unpin, sweep, health.

MAX_SWEPT_IDS = 20
"""Maximum number of memories of a sweep that are named."""


@app.command()
def pin(id: MemoryArgument, space: SpaceOptions) -> None:
    """Pin a memory: it does not expire, and later texts do not replace it by themselves."""
    with space.reading() as engine:
        space.show(engine.pin(id), terminal.memory)


@app.command()
def unpin(id: MemoryArgument, space: SpaceOptions) -> None:
    """Unpin a memory: it can expire and be replaced again."""
    with space.reading() as engine:
        space.show(engine.unpin(id), terminal.memory)


@app.command()
def sweep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be forgotten")] = False,
    *,
    space: SpaceOptions,
) -> None:
    """Forget expired memories; pinned ones stay."""
    with space.reading() as engine:
        done = engine.sweep(dry_run=dry_run)

    def draw(_: object) -> None:
        say(f"{len(done.swept):,} expired, {'nothing forgotten yet' if dry_run else 'forgotten'}")
        for id in done.swept[:MAX_SWEPT_IDS]:
            say(f"  {id}")
        if len(done.swept) > MAX_SWEPT_IDS:
            say(f"  … and {len(done.swept) - MAX_SWEPT_IDS:,} more")

    space.show(done, draw)


@app.command()
def health(
    stale_days: Annotated[
        int, typer.Option("--stale-days", min=1, help="Days without a write or a use after which a memory is stale")
    ] = 180,
    unused_days: Annotated[
        int, typer.Option("--unused-days", min=0, help="Days after which a memory without any use counts as never used")
    ] = 30,
    soon_days: Annotated[
        int, typer.Option("--soon-days", min=0, help="Days ahead for which expiring memories are listed")
    ] = 7,
    examples: Annotated[int, typer.Option("--examples", min=0, help="Number of examples of each")] = 3,
    link_repeats: Annotated[
        bool, typer.Option("--link-repeats", help="First link near-duplicates that were never compared")
    ] = False,
    *,
    space: SpaceOptions,
) -> None:
    """Report memories that are stale, never used, expiring, said twice, contradicted or secret. Changes nothing."""
    with space.reading() as engine:
        if link_repeats:
            engine.link_repeats(progress=sys.stderr.isatty())
        found = engine.health(stale_days=stale_days, unused_days=unused_days, soon_days=soon_days, examples=examples)
    space.show(found, _show_health)


def _show_health(found: HealthReport) -> None:
    rows = [
        (item.check, f"{item.count:,}", item.meaning, item.advice if item.count else "–") for item in found.findings
    ]
    terminal.table(("check", "memories", "which", "what to do"), rows, right=("memories",))
    for item in found.findings:
        if item.examples:
            terminal.line(f"\n{item.check}", "bold")
        for example in item.examples:
            terminal.quote("  ", f"{example.id} · {example.why}: {example.text}")
            if example.other is not None:
                terminal.quote("    ", f"{example.other}: {example.other_text}", "dim")
    if any(item.count for item in found.findings if item.check == "expired"):
        terminal.line("\n`fivefold sweep --dry-run` lists what a sweep would forget.", "dim")
    terminal.line(f"{terminal.counted(found.memories, 'memory', 'memories')} looked at", "dim")
