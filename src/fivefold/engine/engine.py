"""The engine: `remember` and `recall` on one namespace of a store."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any, Unpack

from fivefold import observers
from fivefold.errors import DamagedStore, FivefoldError, InvalidInput, NotFound, ReadOnly, StoreClosed
from fivefold.learning.adaptation import give_feedback, log_entry
from fivefold.learning.reranker import Verdict
from fivefold.learning.training import BackgroundTraining, LearnedFromUse, learned_from_use, train_reranker, unlearn
from fivefold.models.embedders import DEFAULT, Embedder
from fivefold.namespace import Activity, Namespace
from fivefold.retrieval import pipeline
from fivefold.retrieval.browse import Browser, History, look_after, quarantined
from fivefold.retrieval.known import HISTORY_HITS, corrected, hidden_tags, values_of
from fivefold.retrieval.plan import RecallOptions, RecallRequest, RecipeChoice, checked_request
from fivefold.retrieval.prompt import BlockStyle, Context, compose, hits_for
from fivefold.retrieval.prompt_block import Count
from fivefold.settings import Settings, settings_of
from fivefold.stores.interface import Store
from fivefold.stores.records import VOCABULARY
from fivefold.text.display import bar
from fivefold.text.passages import tokens
from fivefold.transfer import jsonl
from fivefold.transfer.jsonl import import_jsonl
from fivefold.transfer.markdown import export_markdown, import_markdown
from fivefold.transfer.sync import SyncReport, sync_folder, sync_stores
from fivefold.values.entities import Extractor
from fivefold.values.fields import check
from fivefold.values.filters import FilterInput, filter_of
from fivefold.values.memory import Kind, Memory, Origin, RecordChanges, RecordInput, Type, record_of
from fivefold.values.query import Query
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Effort, Plan
from fivefold.values.reports import (
    SOON_DAYS,
    STALE_DAYS,
    UNUSED_DAYS,
    Drift,
    Erasure,
    Finding,
    HealthReport,
    Page,
    Report,
    Sweep,
    health_filters,
)
from fivefold.values.times import utc_now
from fivefold.values.validate import (
    MAX_INDEX,
    MAX_K,
    MAX_TOKENS,
    checked_count,
    checked_limit,
    checked_name,
    checked_text,
)
from fivefold.writing import edit, rebuild
from fivefold.writing.entity_graph import Graph
from fivefold.writing.extract import extractor as load_extractor
from fivefold.writing.pipeline import write, write_checked, write_messages
from fivefold.writing.relations import link_earlier_repeats

IDLE_S = 30.0
"""For how long nothing was read or written before a check begins."""

AFTER_S = 60.0
"""For how long a store has been open before a check is considered, so that a short program never has that thread."""

AGAIN_S = 3_600.0
"""For how long a namespace is left alone that was looked at, whether its check was due or not."""

MAX_NAMESPACES = 1_000
"""Namespaces that wait for an idle moment, and of which it is known when they were looked at."""

_log = logging.getLogger("fivefold")


class IdleCheck:
    """Checks the vocabularies of the namespaces that are asked, each at most once in its `check_days`.

    There is no thread until a recall asks for one, and none once there is nothing left to look at.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime] = utc_now) -> None:
        self.activity: Activity = Activity()
        self._store = store
        self._clock = clock
        self._opened = monotonic()
        self._looked: dict[str, float] = {}
        self._waiting: dict[str, None] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def end_with(self, owner: object) -> None:
        """Lets the thread end when the owner is gone, even if nobody closes it."""
        weakref.finalize(owner, self._ended.set).atexit = False

    def recalled(self, namespace: str) -> None:
        """A namespace was asked; look at its vocabulary in the next idle moment. This only notes it."""
        now = monotonic()
        if now < self._opened + AFTER_S or now < self._looked.get(namespace, -AGAIN_S) + AGAIN_S:
            return
        with self._lock:
            if self._ended.is_set() or len(self._waiting) >= MAX_NAMESPACES:
                return
            self._waiting[namespace] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="fivefold-check", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait until it has; a check under way is given up."""
        self._ended.set()
        if (thread := self._thread) is not None:
            thread.join()

    def _run(self) -> None:
        while (namespace := self._next()) is not None:
            try:
                self._check(namespace)
            except (_CheckInterruption, ReadOnly, StoreClosed):
                _log.debug("the check of the vocabulary of namespace %r was given up", namespace)
            except FivefoldError as error:
                _log.warning("the vocabulary of namespace %r could not be checked: %s", namespace, error)
            except Exception:
                _log.exception("the vocabulary of namespace %r could not be checked", namespace)

    def _next(self) -> str | None:
        """The next namespace, once the store is idle; None if nothing waits, or if it has ended."""
        while not self._ended.wait(max(0.0, self.activity.last + IDLE_S - monotonic())):
            if self.activity.last + IDLE_S <= monotonic():
                break
        with self._lock:
            if self._ended.is_set() or not self._waiting:
                self._thread = None
                return None
            namespace, _ = self._waiting.popitem()
            self._looked.pop(namespace, None)
            self._looked[namespace] = monotonic()
            if len(self._looked) > MAX_NAMESPACES:
                del self._looked[next(iter(self._looked))]
            return namespace

    def _check(self, namespace: str) -> None:
        admin, now = self._store.reader(namespace).admin, self._clock()
        days = settings_of(admin.settings()).check_days
        if not rebuild.is_due(admin.learned_value(VOCABULARY), now, days):
            return
        last = self.activity.last

        def go_on(done: int) -> None:
            if self._ended.is_set() or self.activity.last != last:
                raise _CheckInterruption

        report = rebuild.check(self._store, namespace, now, go_on)
        if report.reindexed:
            _log.info("the vocabulary of namespace %r has drifted; its lexical index was rebuilt", namespace)


class _CheckInterruption(Exception):
    """The store is used again, or closed: the check is left to another idle moment."""


MAX_DAYS = 36_500

ROUTE_THREADS = 8
"""The most routes that an engine runs at once, over all its recalls."""


class Engine(Browser):
    """Memory for an agent. Safe to share between threads; close it, or use it in a `with` block."""

    def __init__(
        self,
        store: Store,
        namespace: str = "default",
        embedder: str | Embedder | None = None,
        extractor: str | Extractor = "rules",
        clock: Callable[[], datetime] = utc_now,
        pool: ThreadPoolExecutor | None = None,
        default_embedder: str | Embedder = DEFAULT,
        route_threads: int = ROUTE_THREADS,
        idle_check: IdleCheck | None = None,
    ) -> None:
        """Engines of a shared store have its `pool` and `idle_check`; closing one of them leaves these open.

        `default_embedder` is for a namespace without a pin, `route_threads` for an engine with a pool of its own.
        """
        self.store = store
        self.namespace: str = checked_name(namespace, "namespace")
        extractor = load_extractor(extractor) if isinstance(extractor, str) else extractor
        self.owns_store: bool = pool is None
        self._idle_check = idle_check or IdleCheck(store, clock)
        if self.owns_store:
            self._idle_check.end_with(self)
        activity = self._idle_check.activity
        super().__init__(Namespace(store, self.namespace, embedder, extractor, clock, default_embedder, activity))
        self._pool = pool or ThreadPoolExecutor(max_workers=route_threads, thread_name_prefix="fivefold-route")
        self._training = BackgroundTraining(self._namespace)
        if embedder is not None:
            self._namespace.check_choice()

    # writing

    @observers.write
    def remember(
        self,
        content: str = "",
        *,
        id: str | None = None,
        speaker: str | None = None,
        session_id: str | None = None,
        turn_index: int | None = None,
        kind: Kind | None = None,
        type: Type | None = None,
        predicate: str | None = None,
        user_text: str | None = None,
        assistant_text: str | None = None,
        next_user_text: str | None = None,
        tags: Collection[str] = (),
        task_tag: str | None = None,
        event_at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        importance: float | None = None,
        memory_score: float | None = None,
        confidence: float | None = None,
        expires_at: datetime | str | None = None,
        pinned: bool | None = None,
        origin: Origin | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> Report:
        """Remember one text. The keywords are the fields of a `Record`; only the text is needed."""
        fields = {name: value for name, value in locals().items() if name != "self"}
        return write_checked(self._namespace, [record_of(fields)], 1)

    @observers.write
    def remember_many(self, records: Iterable[RecordInput], *, progress: bool = False) -> Report:
        """Remember texts, mappings or records. All are checked first; each batch is stored whole or not at all."""
        if isinstance(records, str | Mapping) or not isinstance(records, Iterable):
            raise InvalidInput("remember_many takes a list of records; use remember for one")
        return write(self._namespace, records, progress=progress)

    @observers.write
    def remember_messages(self, messages: Iterable[object], *, session_id: str) -> Report:
        """Remember messages of OpenAI, Anthropic or LangChain as turns of a session; a second time adds nothing.

        The settings `system_messages` and `tool_messages` decide about those kinds; the report notes messages left out.
        """
        return write_messages(self._namespace, messages, session_id)

    @observers.write
    def update(self, id: str, **changes: Unpack[RecordChanges]) -> Memory:
        """Change fields of a memory, None to clear one; everything derived from it follows."""
        edit.update(self._namespace, id, changes)
        return self.get(id)

    @observers.write
    def supersede(self, old_id: str, new_record: RecordInput) -> Report:
        """Remember `new_record` in place of `old_id`, which keeps its history and no longer counts as current."""
        return edit.supersede(self._namespace, old_id, record_of(new_record))

    @observers.write
    def reinstate(self, id: str) -> Memory | None:
        """Make a superseded memory current again, or let a forgotten one be stored again when its source brings it.

        `id` may be a session that was forgotten. Returns the memory; None if it was forgotten.
        """
        return self.get(id) if edit.reinstate(self._namespace, id) else None

    @observers.write
    def forget(self, id: str) -> Memory:
        """Remove a memory and everything derived from it for good; returns the memory."""
        return edit.forget(self._namespace, id)

    @observers.write
    def forget_session(self, session_id: str) -> int:
        """Remove a session with all its turns; returns their number."""
        return edit.forget_session(self._namespace, session_id)

    # life

    @observers.write
    def pin(self, id: str) -> Memory:
        """Pin a memory: it does not expire, and no later text replaces it."""
        return edit.pin(self._namespace, id, True)

    @observers.write
    def unpin(self, id: str) -> Memory:
        """Unpin a memory: it can expire and be replaced again."""
        return edit.pin(self._namespace, id, False)

    @observers.write
    def sweep(self, *, dry_run: bool = False) -> Sweep:
        """Forget expired memories; a dry run only lists them."""
        return edit.sweep(self._namespace, dry_run=dry_run)

    @observers.write
    def link_repeats(self, *, progress: bool = False) -> Report:
        """Link near-duplicates among all memories, including those never compared before.

        Nothing else is changed. It searches around each memory, which takes a while.
        """
        with bar("Comparing memories", self.stats().memories, show=progress) as advance:
            return link_earlier_repeats(self._namespace, advance)

    def erasure(self) -> Erasure:
        """Tells if the bytes of forgotten memories are gone from every file, and if not, how long they may remain."""
        return self.store.erasure()

    def health(
        self,
        *,
        stale_days: int = STALE_DAYS,
        unused_days: int = UNUSED_DAYS,
        soon_days: int = SOON_DAYS,
        examples: int = 5,
    ) -> HealthReport:
        """Findings to check: expired, expiring, stale, never used, near-duplicates, contradictions, secrets.

        It changes nothing. `examples` is the number of memories named for each; reading every memory takes a while.
        """
        filters = health_filters(
            self._namespace.clock(),
            checked_count(stale_days, "stale_days", 1, MAX_DAYS),
            checked_count(unused_days, "unused_days", 0, MAX_DAYS),
            checked_count(soon_days, "soon_days", 0, MAX_DAYS),
        )
        return look_after(self._namespace, filters, checked_count(examples, "examples", 0, MAX_K))

    # quarantine

    def quarantined(
        self, *, filter: FilterInput | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[Memory]:
        """The records that wait for approval, oldest first, as the memories they would become. No recall finds them."""
        return quarantined(self._namespace, filter_of(filter), checked_limit(limit), cursor)

    @observers.write
    def approve(self, ids: str | Collection[str] | None = None, *, filter: FilterInput | None = None) -> Report:
        """Store waiting records: the given ids, or all that pass the filter."""
        return edit.approve(self._namespace, self._waiting(ids, filter))

    @observers.write
    def reject(
        self, ids: str | Collection[str] | None = None, *, filter: FilterInput | None = None
    ) -> tuple[Memory, ...]:
        """Remove records that wait for approval, for good, and return them; their source does not bring them back."""
        return tuple(edit.reject(self._namespace, self._waiting(ids, filter)))

    def _waiting(self, ids: str | Collection[str] | None, filter: FilterInput | None) -> list[str]:
        if (ids is None) == (filter is None):
            raise InvalidInput("name either ids or a filter", field="ids", statement="name either ids or a filter")
        if ids is not None:
            return [checked_name(id, "ids") for id in dict.fromkeys([ids] if isinstance(ids, str) else ids)]
        return [memory.id for memory in self.quarantined(filter=filter, limit=MAX_INDEX)]

    # learning

    @observers.write
    def feedback(self, recall: Recall | str, *, used: Sequence[str] = (), not_used: Sequence[str] = ()) -> None:
        """Say which returned memories were used and which were of no use; the last feedback on a memory counts."""
        give_feedback(self._namespace, recall, used, not_used)
        self._training.count_feedback(self.settings.learn_after)

    def feedback_count(self) -> int:
        """Number of recalls with feedback."""
        return self._namespace.reader.feedback.count()

    def train_reranker(self, *, progress: bool = False) -> Verdict:
        """Learn from the feedback which hits are used; the reranker is on only if it wins on unseen feedback."""
        return train_reranker(self._namespace, progress)

    def learned(self) -> LearnedFromUse:
        """Everything the namespace has learned from use so far, and its current weight."""
        return learned_from_use(self._namespace)

    def unlearn(self) -> None:
        """Reset everything learned from use: the reranker and the correction of the weights. The feedback stays."""
        unlearn(self._namespace)

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
        min_chance: float | None = None,
        filter: FilterInput | None = None,
    ) -> Recall:
        """The `k` best memories for `question`, with the whole trace.

        `recipe` is a name, the path of a TOML file or a `Recipe`; `overrides` changes it for this recall,
        as in `{"fusion.k": 30, "routes.lexical.weight": 0.7}`, and `effort` makes it quicker or deeper.
        `recent_turns` adds the last turns of `session_id`, or else of the latest session.
        `min_chance` leaves out hits with a smaller chance, for recipes that give chances.
        `filter` says which memories may answer: a `Filter`, a mapping of its fields, or text such as
        `speaker:ana tag:work meta.price>=10 since:2024-01-01`.
        """
        options = {name: value for name, value in locals().items() if name != "self"}
        answer = pipeline.recall(self._request(options), self._namespace, self._pool)
        self.store.log(log_entry(answer))
        self._idle_check.recalled(self.namespace)
        observers.recalled(self.store, answer)
        return answer

    def context(
        self,
        question: str,
        k: int | None = None,
        *,
        token_budget: int = 1000,
        count: Count = tokens,
        style: BlockStyle = "quotes",
        **options: Unpack[RecallOptions],
    ) -> Context:
        """The hits of `recall` as a block for a prompt within the budget; `count` counts the tokens of a text.

        It has as many memories as fit, or at most `k`; in the `style` "facts" more, each with its main clause.
        `options` are the keywords of `recall`.
        """
        budget = checked_count(token_budget, "token_budget", 1, MAX_TOKENS)
        check(style, BlockStyle, "style")
        hits = hits_for(budget if style == "quotes" else 2 * budget)
        answer = self.recall(question, hits if k is None else k, **options)
        settings = self.settings
        return compose(answer, budget, count, settings.zone, settings.unlikely_memories, style)

    def history(self, of: str) -> History:
        """The earlier and later versions of a memory, by its id; or the earlier and later answers to a question,
        oldest first.

        A question has more than one word, as in "where do I live" or "Sarah's job".
        """
        text = checked_text(of, "of")
        if " " not in text.strip() or self.stored_ids([text]):
            return super().history(text)
        answer = pipeline.recall(
            self._request({"question": text, "k": HISTORY_HITS, "now": None}), self._namespace, self._pool
        )
        memories, facts = values_of(self._namespace.reader, answer)
        if not memories:
            raise NotFound(f"namespace {self.namespace!r} has nothing that answers {text!r}")
        rows = [memory.row for memory in memories]
        links = self._namespace.reader.memories.links_around(rows[-1], rows)
        return History(memories[-1], tuple(memories), tuple(links), tuple(facts))

    @observers.write
    def correct(self, id: str, line: str, to: str) -> Report:
        """Correct a line of a profile at its source: a memory with the new words replaces the old one.

        To undo it, forget the new memory: the old one holds again.
        """
        memory = self.get(id)
        text = corrected(memory, checked_text(line, "line"), checked_text(to, "to"))
        kept = {
            "speaker": memory.speaker,
            "tags": memory.tags,
            "task_tag": memory.task_tag,
            "metadata": memory.metadata,
        }
        return edit.supersede(self._namespace, id, record_of({"content": text, **kept}))

    @observers.write
    def hide(self, id: str, hidden: bool = True) -> Memory:
        """Hide a memory from profiles, agendas, changes and recaps; `hidden=False` shows it again."""
        edit.update(self._namespace, id, {"tags": hidden_tags(self.get(id), hidden)})
        return self.get(id)

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
        filter: FilterInput | None = None,
    ) -> Plan:
        """The plan of a `recall`, without running it."""
        options = {name: value for name, value in locals().items() if name != "self"}
        return pipeline.prepare(self._request(options), self._namespace.reader).plan

    def understand(self, question: str, *, now: datetime | str | None = None, history: Sequence[str] = ()) -> Query:
        """The question as the engine reads it."""
        request = self._request({"question": question, "now": now, "history": history})
        return pipeline.understood(request, self._namespace.reader, self.settings)

    def _request(self, options: dict[str, Any]) -> RecallRequest:
        now = options.pop("now")
        return checked_request(now=self._namespace.clock() if now is None else now, **options)

    @property
    def graph(self) -> Graph:
        """The entity graph, to look at and to edit."""
        return Graph(self._namespace)

    # the namespace and its store

    @observers.write
    def configure(self, /, **changes: Any) -> Settings:
        """Change settings of the namespace; None restores a default."""
        return self._namespace.configure(changes)

    def export_lines(self) -> Iterator[str]:
        """Every memory of the namespace as a line of JSON, oldest first."""
        return jsonl.export_lines(self._namespace.reader)

    def export_jsonl(self, path: str | os.PathLike[str]) -> int:
        """Write every memory of the namespace to a file of JSON lines; returns their number."""
        return jsonl.export_jsonl(self._namespace, Path(path))

    @observers.write
    def import_jsonl(self, path: str | os.PathLike[str], *, progress: bool = False) -> Report:
        """Read JSON lines: exported memories are restored, other lines remembered. A second time adds nothing."""
        return import_jsonl(self._namespace, Path(path), progress=progress)

    def export_markdown(self, folder: str | os.PathLike[str], *, mask_secrets: bool = False) -> int:
        """Write every memory to a folder of Markdown, a file for each session and subject; returns their number."""
        return export_markdown(self._namespace, Path(folder), jsonl.masked_line if mask_secrets else None)

    @observers.write
    def import_markdown(self, folder: str | os.PathLike[str], *, progress: bool = False) -> Report:
        """Read a folder of `export_markdown`: memories are restored, edited texts are updates."""
        return import_markdown(self._namespace, Path(folder), progress=progress)

    @observers.write
    def sync(self, other: Engine | str | os.PathLike[str], *, mask_secrets: bool = False) -> SyncReport:
        """Make the memories of this namespace and another one the same; returns the changes made here.

        `other` is an engine, or a folder that a program carries to the other stores, which sync with it too.
        `mask_secrets` masks API keys, card numbers and passwords that leave a store.
        """
        if isinstance(other, Engine):
            return sync_stores(self._namespace, other._namespace, mask_secrets=mask_secrets)[0]
        return sync_folder(self._namespace, Path(other), mask_secrets=mask_secrets)

    def doctor(self, *, repair: bool = False, progress: bool = False) -> list[Finding]:
        """Check the store and this namespace; with `repair`, first rebuild all derived data."""
        failed = []
        if repair and self.exists():
            try:
                rebuild.rebuild(self._namespace, progress=progress)
            except (DamagedStore, InvalidInput) as error:  # a memory that is itself damaged
                failed.append(Finding("repair", False, f"nothing was rebuilt: {error}"))
        return [*failed, *self.store.check(self.namespace), *self._namespace.check_embedder()]

    def check_drift(self, *, progress: bool = False) -> Drift:
        """Compare the vocabulary with the last check; if it differs much, rebuild the lexical index."""
        with bar("Rebuilding the lexical index", self.stats().memories, show=progress) as advance:
            return rebuild.check(self.store, self.namespace, self._namespace.clock(), advance)

    def reembed(self, embedder: str | Embedder, *, progress: bool = False) -> str:
        """Move the namespace to another embedder; the old vectors serve until the switch. Returns the new pin."""
        return rebuild.reembed(self._namespace, embedder, progress=progress)

    def close(self) -> None:
        """Close the store, unless it is shared; using the engine afterwards is an error."""
        if self.owns_store:
            self._idle_check.stop()
            self.store.close()
            self._pool.shutdown(wait=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Engine:
        """The engine itself: a deep copy of what holds one, such as a pipeline, works on the same open store."""
        return self

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
