"""LangGraph: its store, in which every item is a memory that can be recalled. LangMem's tools work over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any, cast

from fivefold.adapters.hits import (
    all_memories,
    checked_store,
    namespace_labels,
    namespace_name,
    original_metadata,
    original_of,
    remember_each,
    storable,
)
from fivefold.engine import Engine, SharedStore
from fivefold.engine.async_engine import CallKind, threads_of
from fivefold.errors import InvalidInput, MissingExtra, NotFound
from fivefold.retrieval.plan import RecipeChoice
from fivefold.values.fields import check_names
from fivefold.values.filters import Filter
from fivefold.values.memory import Memory, record_of
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Json
from fivefold.values.times import utc_now
from fivefold.values.validate import MAX_K, visible

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
    )
except ImportError as _error:
    raise MissingExtra("the LangGraph adapter", "langgraph") from _error

LIBRARY = "langgraph"
PLAIN_KEYS = {"content", "text", "memory", "value", "data"}
"""Keys whose texts are stored as they are; others are named before their text."""

MIN_ELAPSED_SHARE = 0.01
"""Of a time to live, how much must be over before a read begins it again, so that not every read is a write."""

Namespace = tuple[str, ...]
Found = tuple[str, Memory, float | None]
"""The namespace's name in the store, the memory of an item, and its score."""


class FivefoldStore(BaseStore):
    """Items as memories of a shared store, each LangGraph namespace in a fivefold namespace: `("users", "ana")` is
    `users.ana`. Other memories in these are items too, with their text as `content`.
    """

    supports_ttl = True

    def __init__(
        self,
        store: SharedStore,
        *,
        fields: Sequence[str] = ("$",),
        recipe: RecipeChoice = "default",
        effort: Effort = "normal",
        ttl: TTLConfig | None = None,
    ) -> None:
        """`fields` are the paths whose texts are searched, all of a value by default; the store has its own index."""
        check_names(ttl or {}, TTLConfig.__annotations__, "ttl", noun="setting")
        self.store, self.fields, self.recipe, self.effort = checked_store(store), tuple(fields), recipe, effort
        self.ttl_config = ttl
        self._next_sweep = self._sweep_time()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see the store as it was before the batch writes; of two writes of an item the last counts."""
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                puts[tuple(op.namespace), op.key] = op
                results.append(None)
            elif isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._list(op))
            else:
                raise InvalidInput(f"unknown operation {type(op).__name__}")
        self._put(list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        given = list(ops)
        kind: CallKind = "write" if any(isinstance(op, PutOp) for op in given) else "read"
        return await threads_of(self.store.store).run(kind, partial(self.batch, given))

    def sweep_ttl(self) -> int:
        """Delete the items that have expired, which reads leave out already; returns how many."""
        self._next_sweep = self._sweep_time()
        return sum(len(self.store.namespace(name).sweep().swept) for name in self.store.namespaces())

    def _sweep_time(self) -> datetime | None:
        minutes = (self.ttl_config or {}).get("sweep_interval_minutes")
        return None if minutes is None else utc_now() + timedelta(minutes=minutes)

    def _get(self, op: GetOp) -> Item | None:
        engine = self.store.namespace(namespace_name(op.namespace))
        try:
            memory = engine.get(op.key)
        except NotFound:
            return None
        if memory.kind == "session" or not memory.is_alive(utc_now()):
            return None
        if op.refresh_ttl:
            _refresh(engine, memory)
        return Item(namespace=tuple(op.namespace), **_fields(memory))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        last = op.offset + op.limit
        prefix = tuple(op.namespace_prefix)
        names = [name for name in self.store.namespaces() if namespace_labels(name)[: len(prefix)] == prefix]
        found: list[Found] = list(islice(self._recalled(op, names, last), last)) if visible(op.query or "") else []
        if len(found) < last:
            seen = {(name, memory.id) for name, memory, _ in found}
            others = (each for each in self._listed(op, names) if (each[0], each[1].id) not in seen)
            found += islice(others, last - len(found))
        page = found[op.offset : last]
        if op.refresh_ttl:
            for name, memory, _ in page:
                _refresh(self.store.namespace(name), memory)
        return [SearchItem(namespace_labels(name), score=score, **_fields(memory)) for name, memory, score in page]

    def _recalled(self, op: SearchOp, names: Sequence[str], count: int) -> Iterator[Found]:
        """The hits of a recall, best first. Chances can be compared between namespaces, scores cannot."""
        found: list[Found] = []
        k = MAX_K if op.filter else max(1, min(count, MAX_K))
        for name in names:
            answer = self.store.namespace(name).recall(str(op.query), k, recipe=self.recipe, effort=self.effort)
            found += [
                (name, hit.memory, hit.score if hit.chance is None else hit.chance)
                for hit in answer
                if _is_indexed(hit.memory) and _passes(_value(hit.memory), op.filter or {})
            ]
        if len(names) > 1:
            found.sort(key=lambda each: -(each[2] or 0.0))
        return iter(found)

    def _listed(self, op: SearchOp, names: Sequence[str]) -> Iterator[Found]:
        """All items of the namespaces, those written last first."""
        alive = Filter(alive_at=utc_now())
        size = MAX_K if op.filter else max(1, min(op.offset + op.limit, MAX_K))

        def items(name: str) -> Iterator[Found]:
            for memory in all_memories(self.store.namespace(name), alive, size):
                if _passes(_value(memory), op.filter or {}):
                    yield name, memory, None

        return merge(*map(items, names), key=lambda each: each[1].event_at, reverse=True)

    def _list(self, op: ListNamespacesOp) -> list[Namespace]:
        alive = Filter(alive_at=utc_now())
        found = {
            labels[: op.max_depth]
            for name, labels in ((name, namespace_labels(name)) for name in self.store.namespaces())
            if all(_matches(condition, labels) for condition in op.match_conditions or ())
            and self.store.namespace(name).memories(filter=alive, limit=1)
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _put(self, ops: Sequence[PutOp]) -> None:
        """All are checked before any is stored; a namespace stores its own together."""
        records = [(op, None if op.value is None else self._record(op)) for op in ops]
        written: dict[str, list[Json]] = {}
        for op, record in records:
            name = namespace_name(op.namespace)
            if record is None:
                _forget(self.store.namespace(name), op.key)
            else:
                written.setdefault(name, []).append(record)
        for name, items in written.items():
            remember_each(self.store.namespace(name), items)
        if self._next_sweep is not None and utc_now() >= self._next_sweep:
            self.sweep_ttl()

    def _record(self, op: PutOp) -> Json:
        """An item as a record, whose metadata keeps its value."""
        namespace_name(op.namespace)
        if not isinstance(op.value, Mapping):
            raise InvalidInput(f"the value of an item must be a mapping, not {type(op.value).__name__}")
        if op.ttl is not None and not isinstance(op.ttl, int | float):
            raise InvalidInput("ttl must be a number of minutes, or None")
        value, now = dict(op.value), utc_now()
        indexed = op.index is not False
        text = storable(_text(value, self.fields if op.index is None else op.index)) if op.index is not False else ""
        if not visible(text):
            text, indexed = f"(item {op.key}, stored without an index)", False
        original = {"value": value, "indexed": indexed, "ttl": op.ttl}
        record = {
            "id": op.key,
            "content": text,
            "event_at": now,
            "expires_at": None if op.ttl is None else now + timedelta(minutes=op.ttl),
            "metadata": original_metadata(text, LIBRARY, original),
        }
        record_of(record)
        return record


def _fields(memory: Memory) -> dict[str, Any]:
    return {
        "key": memory.id,
        "value": _value(memory),
        "created_at": memory.created_at,
        "updated_at": max(memory.event_at, memory.created_at),
    }


def _value(memory: Memory) -> dict[str, Any]:
    value = (original_of(memory, LIBRARY) or {}).get("value")
    return value if isinstance(value, dict) else {"content": memory.content}


def _is_indexed(memory: Memory) -> bool:
    return bool((original_of(memory, LIBRARY) or {}).get("indexed", True))


def _refresh(engine: Engine, memory: Memory) -> None:
    """Begin the time to live of an item again; one that is gone by now stays so."""
    minutes = (original_of(memory, LIBRARY) or {}).get("ttl")
    if minutes is None or memory.expires_at is None:
        return
    whole, ends = timedelta(minutes=minutes), utc_now() + timedelta(minutes=minutes)
    if ends - memory.expires_at >= whole * MIN_ELAPSED_SHARE:
        try:
            engine.update(memory.id, expires_at=ends)
        except NotFound:
            return


def _forget(engine: Engine, key: str) -> None:
    try:
        engine.forget(key)
    except NotFound:
        return


def _text(value: Mapping[str, Any], fields: Sequence[str]) -> str:
    """The texts at the paths, one a line; `$` stands for all of the value."""
    lines = (_lines(value) if path == "$" else get_text_at_path(dict(value), path) for path in fields)
    return "\n".join(line for each in lines for line in each)


def _lines(value: object, key: str = "") -> list[str]:
    """Every text and number inside, each after the key that says what it is."""
    if isinstance(value, Mapping):
        return [line for name, inner in value.items() for line in _lines(inner, str(name))]
    if isinstance(value, list | tuple):
        return [line for inner in value for line in _lines(inner, key)]
    if value is None or value == "":
        return []
    return [str(value) if not key or key in PLAIN_KEYS else f"{key.replace('_', ' ')}: {value}"]


def _matches(condition: MatchCondition, labels: Namespace) -> bool:
    path = tuple(condition.path)
    part = labels[: len(path)] if condition.match_type == "prefix" else labels[max(0, len(labels) - len(path)) :]
    return len(part) == len(path) and all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _passes(value: object, wanted: object) -> bool:
    """True if a value fits a filter: equal to it, part by part, or as its operators say."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            check_names(wanted, OPERATORS, "filter", noun="operator")
            return all(OPERATORS[name](value, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(_passes(_at(value, name), inner) for name, inner in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list | tuple) and len(value) == len(wanted) and all(map(_passes, value, wanted))
    return value == wanted


def _at(value: object, key: str) -> object:
    """The value under a key; a dot leads into a nested object, unless the whole is a key."""
    if not isinstance(value, Mapping) or key in value or "." not in key:
        return value.get(key) if isinstance(value, Mapping) else None
    first, rest = key.split(".", 1)
    return _at(value.get(first), rest)


def _ordered(holds: Callable[[Any, Any], bool]) -> Callable[[object, object], bool]:
    """A comparison of numbers, also those written as texts, and of texts with texts; others do not compare."""

    def compare(value: object, other: object) -> bool:
        try:
            return holds(float(cast(Any, value)), float(cast(Any, other)))
        except (TypeError, ValueError):
            return isinstance(value, str) and isinstance(other, str) and holds(value, other)

    return compare


OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "$eq": lambda value, other: value == other,
    "$ne": lambda value, other: value != other,
    "$gt": _ordered(lambda value, other: value > other),
    "$gte": _ordered(lambda value, other: value >= other),
    "$lt": _ordered(lambda value, other: value < other),
    "$lte": _ordered(lambda value, other: value <= other),
}
