"""Two or more stores of one namespace become the same: directly, or over a folder that any program may carry around.

Each store keeps for every memory the version that it last agreed on: a number that grows with each change, when that
was, and a digest. If a memory differs from the digest, it was changed here since. The version with the higher number
wins, then the later one; a deletion wins over everything. In a folder each store writes only its own file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.namespace import Namespace
from fivefold.stores.interface import Writer
from fivefold.text.display import brief
from fivefold.transfer.jsonl import draft_of, line_of, masked_line, objects, restore, write_lines
from fivefold.values.serialize import Json, Value
from fivefold.values.times import as_utc, new_id, to_micros
from fivefold.writing import edit
from fivefold.writing.draft import Draft
from fivefold.writing.pipeline import batches
from fivefold.writing.rebuild import fill, writing_model
from fivefold.writing.relations import FORGOTTEN
from fivefold.writing.sessions import follow_changed_turn, refresh_session

LEARNED = "sync"
"""The name of the learned value with what was last agreed on."""

HEADER = "fivefold-sync"
END = ".fivefold-sync.jsonl"

_USE = ("seen_count", "access_count", "last_accessed_at", "echo_count")
"""Fields that each store counts for itself."""


class Version(NamedTuple):
    """A memory's number of changes, the time of the last one, and its content then."""

    number: int
    at: int
    digest: str


@dataclass(frozen=True, slots=True)
class Conflict(Value):
    """A memory that was changed in two stores: the text that is kept, and the one that is lost; None was a deletion."""

    id: str
    kept: str | None
    lost: str | None


@dataclass(frozen=True, slots=True)
class SyncReport(Value):
    """The changes that a store got from the others: ids of new, changed and deleted memories."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _State:
    """A namespace as the others see it: the version of each memory, and its line or None if it was deleted."""

    store: str
    versions: dict[str, Version]
    own: dict[str, str]
    """The digest of each memory that is stored here, by which a later change is noticed."""
    changed: set[str]
    """Ids that were changed or deleted here since the last agreement."""


@dataclass(slots=True)
class _Changes:
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    conflicts: dict[str, Conflict] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def report(self) -> SyncReport:
        added, changed, deleted = (tuple(dict.fromkeys(part)) for part in (self.added, self.changed, self.deleted))
        return SyncReport(added, changed, deleted, tuple(self.conflicts.values()), tuple(self.notes))


def sync_stores(one: Namespace, other: Namespace, *, mask_secrets: bool = False) -> tuple[SyncReport, SyncReport]:
    """Bring two namespaces to the same memories; gives what each of them got."""
    if one.store is other.store and one.name == other.name:
        raise InvalidInput("is the same namespace of the same store; name another one", field="other")
    now = to_micros(one.clock())
    first, second = _Changes(), _Changes()
    _receive(one, list(_sent(other, now, mask_secrets)), first, now)
    _receive(other, list(_sent(one, now, mask_secrets)), second, now)
    second.conflicts = {id: conflict for id, conflict in second.conflicts.items() if id not in first.conflicts}
    return first.report(), second.report()


def sync_folder(namespace: Namespace, folder: Path, *, mask_secrets: bool = False) -> SyncReport:
    """Get what other stores have left in a folder, and leave there what this one has."""
    if not folder.is_dir():
        raise InvalidFile(folder, "is not a folder; create it in a folder that a program syncs with the other stores")
    now, changes = to_micros(namespace.clock()), _Changes()
    own = _store_id(namespace)
    others = []
    for file in sorted(folder.glob(f"*{END}")):
        store, name, sent = _read(file)
        if store != own and name == namespace.name:
            others.append(sent)
    for sent in others:  # all are read before anything is changed
        _receive(namespace, sent, changes, now)
    header = {HEADER: 1, "store": own, "namespace": namespace.name}
    lines = [
        {"id": id, "version": version, "memory": line} for id, version, line in _sent(namespace, now, mask_secrets)
    ]
    write_lines(folder / f"{own}{END}", (json.dumps(item, ensure_ascii=False) for item in [header, *lines]))
    return changes.report()


_Sent = tuple[str, Version, Json | None]


def _read(file: Path) -> tuple[str, str, list[_Sent]]:
    """The file that another store has left: its id, its namespace and its memories, each checked."""
    parts = objects(file)
    header = next(parts, (1, {}))[1]
    if header.get(HEADER) != 1 or not isinstance(header.get("store"), str):
        raise InvalidFile(file, "is not a file of a sync, or one of a newer version of fivefold", place="line 1")
    sent: list[_Sent] = []
    for number, data in parts:
        try:
            count, at, digest = data["version"]
            version, line = Version(int(count), int(at), str(digest)), data["memory"]
            if line is not None and draft_of(line, "default").memory.id != data["id"]:
                raise InvalidInput("its id differs from its memory's")
            sent.append((str(data["id"]), version, line))
        except (KeyError, TypeError, ValueError, InvalidInput) as error:
            raise InvalidFile(file, f"is damaged: {error}", place=f"line {number}") from None
    return str(header["store"]), str(header.get("namespace")), sent


def _lines(namespace: Namespace) -> Iterator[Json]:
    """Every turn and note as a line of an export; memories of sessions are built from their turns everywhere."""
    after, reader = 0, namespace.reader
    while batch := reader.memories.scan(after):
        links = reader.memories.links([memory.row for memory, _ in batch])
        for memory, extraction in batch:
            if memory.kind != "session":
                yield line_of(memory, extraction, links.get(memory.row, ()))
        after = batch[-1][0].row


def _digest(line: Json) -> str:
    said = {name: value for name, value in line.items() if name not in _USE}
    said["links"] = sorted(map(str, line["links"]))
    return blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=12).hexdigest()


def _store_id(namespace: Namespace) -> str:
    """The id of this namespace of this store among the others; made once."""
    saved = namespace.reader.admin.learned_value(LEARNED)
    if saved is None:
        saved = {"store": new_id(), "known": {}}
        with namespace.transaction() as txn:
            txn.admin.save_learned_value(LEARNED, saved)
    return str(saved["store"])


def _state(namespace: Namespace, now: int) -> _State:
    """The stored memories, compared with the last agreed state."""
    store = _store_id(namespace)
    saved = namespace.reader.admin.learned_value(LEARNED) or {"known": {}}
    known = {id: (Version(*entry[:3]), entry[3]) for id, entry in saved["known"].items()}
    own, versions, changed = dict[str, str](), dict[str, Version](), set[str]()
    for line in _lines(namespace):
        id, digest = line["id"], _digest(line)
        own[id] = digest
        version, agreed = known.get(id, (None, None))
        if version is None:
            versions[id] = Version(1, to_micros(as_utc(line["created_at"], "created_at")[0]), digest)
        else:
            versions[id] = version if agreed == digest else Version(version.number + 1, now, digest)
        if agreed != digest:
            changed.add(id)
    for id, (version, agreed) in known.items():
        if id not in own:
            versions[id] = version if agreed is None else Version(version.number + 1, now, "")
            if agreed is not None:
                changed.add(id)
    return _State(store, versions, own, changed)


def _sent(namespace: Namespace, now: int, mask_secrets: bool) -> Iterator[_Sent]:
    state = _state(namespace, now)
    _save(namespace, state)
    for line in _lines(namespace):
        if line["id"] in state.versions:
            yield line["id"], state.versions[line["id"]], masked_line(line) if mask_secrets else line
    yield from ((id, version, None) for id, version in state.versions.items() if id not in state.own)


def _save(namespace: Namespace, state: _State) -> None:
    known = {id: [*version, state.own.get(id)] for id, version in state.versions.items()}
    with namespace.transaction() as txn:
        txn.admin.save_learned_value(LEARNED, {"store": state.store, "known": known})


def _receive(namespace: Namespace, sent: Iterable[_Sent], changes: _Changes, now: int) -> None:
    """Take over what is newer than what is here, and note what was lost on either side."""
    state = _state(namespace, now)
    add, put, delete = list[Draft](), list[Draft](), list[str]()
    for id, version, line in sent:
        mine, is_here = state.versions.get(id), id in state.own
        if mine is None:
            state.versions[id] = version
            if line is not None:
                add.append(draft_of(line, namespace.name))
            continue
        if mine == version:
            continue
        wins = (line is None and is_here) or (is_here is (line is not None) and version > mine)
        together = version.number == mine.number or (id in state.changed and version.number > mine.number)
        lost = line is not None or (is_here and id in state.changed)
        if lost and together and version.digest != mine.digest:
            texts = (_text(namespace, id) if is_here else None, line and brief(line["content"]))
            changes.conflicts[id] = Conflict(id, *(texts[::-1] if wins else texts))
        if wins and line is not None:
            put.append(draft_of(line, namespace.name))
        elif wins and is_here:
            delete.append(id)
        if wins:
            state.versions[id] = version
    _delete(namespace, delete, changes)
    _put(namespace, put, changes)
    if add:
        done = restore(namespace, lambda: add)
        changes.added += [id for id in done.stored if id in state.versions]
        for merged in done.merged:
            changes.notes.append(f"{merged.id}: {merged.why}")
            if merged.why == FORGOTTEN:  # before the first sync, and so it is deleted everywhere
                state.versions[merged.id] = Version(state.versions[merged.id].number + 1, now, "")
    state.own = {line["id"]: _digest(line) for line in _lines(namespace) if line["id"] in state.versions}
    _save(namespace, state)


def _text(namespace: Namespace, id: str) -> str:
    return brief(namespace.get(id).content)


def _delete(namespace: Namespace, ids: Iterable[str], changes: _Changes) -> None:
    for batch in batches(ids):
        with namespace.transaction() as txn:
            for id in batch:
                memory = txn.memories.get(id)
                if memory is not None:
                    edit.remove(memory, namespace, txn)
                    changes.deleted.append(id)
    if changes.deleted:
        namespace.store.checkpoint()


def _put(namespace: Namespace, items: list[Draft], changes: _Changes) -> None:
    """Put other versions in the place of memories; the use that was counted here stays."""
    model = writing_model(namespace) if items else None
    for batch in batches(items):
        with namespace.transaction(model) as txn:
            for item in batch:
                _replace(item, namespace, txn)
                changes.changed.append(item.memory.id)
            for item in batch:
                _link(item, txn)
            txn.statements.end_superseded()
    if model is not None:
        fill(namespace, model, "active", lambda done: None)
        with namespace.transaction() as txn:
            for session_id in sorted({item.memory.session_id for item in items if item.memory.session_id}):
                refresh_session(session_id, namespace, txn, at_once=True)


def _replace(item: Draft, namespace: Namespace, txn: Writer) -> None:
    old = txn.memories.get(item.memory.id)
    assert old is not None
    use: dict[str, Any] = {name: getattr(old, name) for name in _USE}
    item.memory = replace(item.memory, row=old.row, **use)
    around = txn.memories.links_around(old.row, [])
    if old.superseded_by and not item.memory.superseded_by:
        txn.statements.reinstate(old.row)
    txn.memories.replace(old.row, item.entry())
    if old.session_id and old.content != item.memory.content:
        follow_changed_turn(txn.sessions.turn_after(old.session_id, old.row), namespace, txn)
    for link in around:  # those of others that name it; its own come with the new version
        source = txn.memories.get(link.source)
        if link.target == old.id and source is not None:
            txn.memories.link(source.row, old.row, link.relation, link.why, link.chance)


def _link(item: Draft, txn: Writer) -> None:
    for link in item.links:
        target = txn.memories.get(link.target)
        if target is not None:
            txn.memories.link(item.memory.row, target.row, link.relation, link.why, link.chance)
