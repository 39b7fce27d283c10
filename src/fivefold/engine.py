"""The engine: `remember` and `recall` on one namespace of a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from fivefold import observers
from fivefold.errors import InvalidInput, NotFound
from fivefold.learning.adaptation import Adaptation, faded, restored
from fivefold.learning.background_training import BackgroundTraining
from fivefold.learning.reranker import Verdict
from fivefold.learning.training import forget_reranker, learned_by, train_reranker
from fivefold.models.embedders import DEFAULT, Embedder
from fivefold.models.embedders import embedder as load_embedder
from fivefold.namespace import Namespace
from fivefold.retrieval import pipeline
from fivefold.retrieval.browse import Browsing
from fivefold.retrieval.prompt import Context, Count, compose
from fivefold.retrieval.request import RecipeChoice, checked_request
from fivefold.retrieval.understand.question import understand
from fivefold.settings import Settings, settings_of
from fivefold.stores import open_store
from fivefold.stores.protocol import Store
from fivefold.text.progress import bar
from fivefold.text.tokens import tokens
from fivefold.transfer import jsonl
from fivefold.values.memory import Memory, Record
from fivefold.values.query import Query
from fivefold.values.recall import Effort, Plan, Recall
from fivefold.values.reports import Drift, Finding, Report
from fivefold.values.serialize import Value, plain
from fivefold.values.times import utc_now
from fivefold.values.validate import MAX_TOKENS, checked_count, checked_name, checked_text, record_of
from fivefold.writing import drift, edit, rebuild
from fivefold.writing.extract import Extractor
from fivefold.writing.extract import extractor as load_extractor
from fivefold.writing.graph import Graph
from fivefold.writing.pipeline import Draft, ReportBuilder

T = TypeVar("T", Draft, Record)


def open(
    location: str | os.PathLike[str] = "fivefold.db",
    *,
    namespace: str = "default",
    embedder: str | Embedder | None = None,
    extractor: str = "rules",
) -> Engine:
    """Open the store at `location`, a path, ':memory:' or postgresql://…, and look at it through one namespace.

    The first write pins the namespace to an embedder (`fivefold-minilm` unless named); later it need not be named.
    Any object with `pin`, `dimension` and `embed` serves as an embedder too.
    """
    checked_name(namespace, "namespace")
    reads = load_extractor(extractor)
    if isinstance(embedder, str):
        load_embedder(embedder)
    elif embedder is not None and not all(hasattr(embedder, name) for name in ("pin", "dimension", "embed")):
        raise InvalidInput("an embedder is a name, or an object with pin, dimension and embed")
    store = open_store(_path(location))
    try:
        return Engine(store, namespace, embedder, reads)
    except BaseException:
        store.close()
        raise


@dataclass(frozen=True, slots=True)
class LearnedFromUse(Value):
    """What feedback has taught a namespace: the verdict on its reranker, and the correction of predicted weights."""

    reranker: Verdict | None
    reason: str
    """Why the reranker is on or off."""
    weights: Adaptation
    """As time has left it."""


class Engine(Browsing):
    """Memory for an agent. Safe to share between threads; close it, or use it in a `with` block."""

    def __init__(
        self,
        store: Store,
        namespace: str = "default",
        embedder: str | Embedder | None = None,
        extractor: str | Extractor = "rules",
        clock: Callable[[], datetime] = utc_now,
        pool: ThreadPoolExecutor | None = None,
        otherwise: str = DEFAULT,
    ) -> None:
        """`pool` runs the routes; engines of several namespaces may share one.

        `otherwise` is the embedder of a namespace that is pinned to none yet, where `embedder` is not given.
        """
        self.store = store
        self.namespace = checked_name(namespace, "namespace")
        reads = load_extractor(extractor) if isinstance(extractor, str) else extractor
        self._space = Namespace(store, self.namespace, embedder, reads, clock, otherwise)
        self._pool = pool or ThreadPoolExecutor(max_workers=8, thread_name_prefix="fivefold-route")
        self._apprentice = BackgroundTraining(self._space)
        if embedder is not None:
            self._space.embedder()

    # writing

    @observers.write
    def remember(self, /, content: str = "", **given: Any) -> Report:
        """Remember one text. Keywords are the fields of `Record`: speaker, session_id, event_at, tags, type, …"""
        tally = ReportBuilder()
        edit.store_records(self._space, [record_of({"content": content, **given})], tally)
        return tally.report()

    @observers.write
    def remember_many(self, records: Iterable[object], progress: bool = False) -> Report:
        """Remember texts, mappings or dataclasses. All are checked first; each batch is stored whole or not at all."""
        if isinstance(records, str | Mapping) or not isinstance(records, Iterable):
            raise InvalidInput("remember_many takes a list of records; use remember for one")
        checked = []
        for number, item in enumerate(records, 1):
            try:
                checked.append(record_of(item))
            except InvalidInput as error:
                raise InvalidInput(f"record {number}: {error}") from None
        tally = ReportBuilder()
        edit.store_records(self._space, checked, tally, progress, len(checked))
        return tally.report()

    @observers.write
    def update(self, /, id: str, **changes: Any) -> Memory:
        """Change fields of a memory; everything derived from it follows."""
        edit.update(self._space, id, changes)
        return self.get(id)

    @observers.write
    def supersede(self, old_id: str, new_record: object) -> Report:
        """Remember `new_record` as what replaces `old_id`, which keeps its history and stops winning."""
        tally = ReportBuilder()
        edit.supersede(self._space, old_id, record_of(new_record), tally)
        return tally.report()

    @observers.write
    def reinstate(self, id: str) -> Memory:
        """A superseded memory holds again: the way back from a statement that was read wrongly."""
        edit.reinstate(self._space, id)
        return self.get(id)

    @observers.write
    def forget(self, id: str) -> Memory:
        """Remove a memory and everything derived from it for good; gives what was forgotten."""
        return edit.forget(self._space, id)

    @observers.write
    def forget_session(self, session_id: str) -> int:
        """Remove a session with all its turns; gives how many there were."""
        return edit.forget_session(self._space, session_id)

    @observers.write
    def feedback(self, recall: Recall | str, *, used: Sequence[str] = (), not_used: Sequence[str] = ()) -> None:
        """Say which returned memories were used and which were of no use; the last feedback on a memory counts."""
        edit.mark_used(self._space, recall, used, not_used)
        self._apprentice.notice(self.settings.learn_after)

    def train_reranker(self, progress: bool = False) -> Verdict:
        """Learn from the namespace's feedback which hits are used; it serves only if that wins on unseen feedback."""
        return train_reranker(self._space, progress)

    def unlearn(self) -> None:
        """Forget what was learned from use: the reranker and the correction of the weights. The feedback stays."""
        forget_reranker(self._space)
        with self._space.editing() as txn:
            txn.save_learned("weights", None)

    # reading

    def recall(
        self,
        question: str,
        k: int = 10,
        *,
        recipe: RecipeChoice = "default",
        now: datetime | str | None = None,
        history: Sequence[str] = (),
        overrides: Mapping[str, object] | None = None,
        effort: Effort = "normal",
        recent_turns: int | None = None,
        session_id: str | None = None,
    ) -> Recall:
        """The `k` memories that answer `question` best, with the whole trace of how they were found.

        `recipe` is a name, the path of a TOML file or a `Recipe`; `overrides` changes it for this recall,
        as in `{"fusion.k": 30, "routes.lexical.weight": 0.7}`, and `effort` makes it quicker or deeper.
        `recent_turns` brings the last turns along: of `session_id`, else of the session that spoke last.
        """
        request = checked_request(
            question,
            k,
            recipe=recipe,
            overrides=overrides,
            now=self._now(now),
            history=history,
            effort=effort,
            recent_turns=recent_turns,
            session_id=session_id,
        )
        answer = pipeline.recall(request, self._space, self._pool)
        self.store.log(answer)
        observers.recalled(self.store, answer)
        return answer

    def context(
        self,
        question: str,
        k: int = 10,
        *,
        token_budget: int = 1000,
        recipe: RecipeChoice = "default",
        now: datetime | str | None = None,
        history: Sequence[str] = (),
        overrides: Mapping[str, object] | None = None,
        effort: Effort = "normal",
        recent_turns: int | None = None,
        session_id: str | None = None,
        count: Count = tokens,
    ) -> Context:
        """What `recall` finds as a block for a prompt, its sources numbered, cut to the budget.

        `count` says how many tokens a text takes; left out, a careful estimate does.
        """
        budget = checked_count(token_budget, "token_budget", 1, MAX_TOKENS)
        answer = self.recall(
            question,
            k,
            recipe=recipe,
            now=now,
            history=history,
            overrides=overrides,
            effort=effort,
            recent_turns=recent_turns,
            session_id=session_id,
        )
        return compose(answer, budget, count)

    def plan(
        self,
        question: str,
        k: int = 10,
        *,
        recipe: RecipeChoice = "default",
        now: datetime | str | None = None,
        history: Sequence[str] = (),
        overrides: Mapping[str, object] | None = None,
        effort: Effort = "normal",
    ) -> Plan:
        """What `recall` would do, without doing it."""
        request = checked_request(
            question, k, recipe=recipe, overrides=overrides, now=self._now(now), history=history, effort=effort
        )
        return pipeline.prepare(request, self._space).plan

    def understand(self, question: str, *, now: datetime | str | None = None, history: Sequence[str] = ()) -> Query:
        """The question as the engine reads it."""
        request = checked_request(question, now=self._now(now), history=history)
        return understand(request.question, request.now, request.history, self._space.reader, self.settings)

    def learned(self) -> LearnedFromUse:
        """What the namespace has learned from use so far, and how far it counts."""
        reranker, weights = learned_by(self._space), restored(self._space.reader.learned("weights"))
        return LearnedFromUse(reranker.verdict, reranker.reason, faded(weights, self._space.clock()))

    @property
    def graph(self) -> Graph:
        """The entity graph, to look at and to put right by hand."""
        return Graph(self._space)

    @property
    def settings(self) -> Settings:
        """The namespace's settings, defaults where nothing is set."""
        return self._space.settings

    @observers.write
    def configure(self, /, **changes: Any) -> Settings:
        """Change settings of the namespace; None brings a default back."""
        settings_of({name: value for name, value in changes.items() if value is not None})
        with self._space.editing() as txn:
            stored = {**txn.settings(), **changes}
            kept = {name: value for name, value in stored.items() if value is not None}
            settings = settings_of(kept)
            txn.save_settings(plain(kept))
        return settings

    # moving and care

    def export_jsonl(self, path: str | os.PathLike[str]) -> int:
        """Write every memory of the namespace as JSON lines; gives how many."""
        target = Path(path)
        if any(target.resolve() == Path(self.store.location + end).resolve() for end in ("", "-wal", "-shm")):
            raise InvalidInput(f"{str(path)!r} is the store itself; export to another file")
        return jsonl.write_lines(target, jsonl.export_lines(self._space.reader))

    @observers.write
    def import_jsonl(self, path: str | os.PathLike[str], *, progress: bool = False) -> Report:
        """Read JSON lines: exported memories come back as they were, others are remembered. A replay adds nothing."""
        source, tally = Path(path), ReportBuilder()
        held = jsonl.check_lines(source, self.namespace)

        def each(kind: type[T]) -> Iterator[T]:
            return (item for item in jsonl.read_lines(source, self.namespace) if isinstance(item, kind))

        if held[Draft]:
            edit.restore(self._space, partial(each, Draft), tally, progress)
        if held[Record]:
            edit.store_records(self._space, each(Record), tally, progress, held[Record])
        return tally.report()

    def doctor(self, repair: bool = False, progress: bool = False) -> list[Finding]:
        """Check the store and this namespace; with `repair`, first rebuild all that can be derived."""
        if repair and self._space.reader.exists():
            with bar("Rebuilding", self.stats().memories, show=progress) as advance:
                rebuild.rebuild(self._space, advance)
        return list(self.store.check(self.namespace))

    def check_drift(self, progress: bool = False) -> Drift:
        """Compare the vocabulary with that of the last check; if it has become another one, index all words anew."""
        with bar("Indexing words anew", self.stats().memories, show=progress) as advance:
            return drift.check(self.store, self.namespace, self._space.clock(), advance)

    def reembed(self, choice: str | Embedder, progress: bool = False) -> str:
        """Move the namespace to another embedder; the old vectors serve until the switch. Gives the new pin."""
        model = load_embedder(choice) if isinstance(choice, str) else choice
        space = self._space.reader.space()
        if space is None:
            raise NotFound(f"namespace {self.namespace!r} holds no vectors yet; open it with embedder={choice!r}")
        if space.embedder != model.pin:
            with bar(f"Embedding with {model.pin}", self.stats().memories, show=progress) as advance:
                rebuild.reembed(self.store, self.namespace, model, advance)
        else:
            with self._space.editing() as txn:
                txn.drop_space("building")  # a move elsewhere that was begun and given up
        self._space.choice = choice
        return model.pin

    def close(self) -> None:
        """End the engine; using it afterwards is an error."""
        self.store.close()
        self._pool.shutdown(wait=False)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _now(self, now: datetime | str | None) -> datetime | str:
        return self._space.clock() if now is None else now


def _path(location: str | os.PathLike[str]) -> str:
    try:
        path = os.fspath(location)
    except TypeError:
        raise InvalidInput(f"a store is named by a path, not by {location!r}") from None
    if not isinstance(path, str):
        raise InvalidInput("a store is named by text, not bytes")
    return checked_text(path, "the store's path")
