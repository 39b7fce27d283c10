"""A namespace's settings: every default that a user may want to change, stored with the namespace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fivefold.errors import InvalidInput
from fivefold.text.time_grammar import TimeSettings
from fivefold.values.fields import About, Between, Chars, RecentTurns, Rule, Share, build
from fivefold.values.filters import MAX_FILTER, Filter, filter_of
from fivefold.values.memory import Memory, Origin, Type


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


Zone = Annotated[str, Rule(_is_zone, "a known time zone, such as Europe/Berlin")]
Hops = Annotated[int, Between(0, 3)]
Days = Annotated[int, Between(1, 36_500)]
NEVER = "never"
RouteWeight = Annotated[float, Between(0, 100)]


@lru_cache(64)
def _filter(text: str) -> Filter:
    return filter_of(text)


def _is_filter(text: str) -> bool:
    try:
        return bool(_filter(text))
    except InvalidInput:
        return False


FilterText = Annotated[
    str, Chars(MAX_FILTER), Rule(_is_filter, "a filter that is not empty, such as origin:tool,import")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(TimeSettings):
    """Settings of a namespace; each has a default. The reading of fuzzy spans of time is set in `TimeSettings` (R8)."""

    timezone: Annotated[Zone, About("The zone of days, months and years")] = "UTC"
    widen_below: Annotated[
        int, Between(0, 100), About("If a search finds fewer hits of the implied type, all types are searched")
    ] = 5
    hops: Annotated[Hops, About("Hops that the entity graph is walked")] = 2
    hops_asked: Annotated[Hops, About("Hops that the graph is walked if a question needs more")] = 3
    fan_out: Annotated[int, Between(1, 500), About("Number of edges followed from each entity")] = 32
    sure_entity: Annotated[Share, About("Confidence from which a name has one meaning")] = 0.7
    route_budget_ms: Annotated[
        int, Between(1, 600_000), About("Maximum milliseconds that an answer waits for a route")
    ] = 2_000
    dense_weight: Annotated[
        RouteWeight | None, About("The weight of similarity in this namespace", left_out="the recipe's")
    ] = None
    lexical_weight: Annotated[
        RouteWeight | None, About("The weight of the words themselves", left_out="the recipe's")
    ] = None
    graph_weight: Annotated[RouteWeight | None, About("The weight of the entity graph", left_out="the recipe's")] = None
    temporal_weight: Annotated[
        RouteWeight | None, About("The weight of the time that a question names", left_out="the recipe's")
    ] = None
    ef_search: Annotated[
        int | None,
        Between(1, 1_000),
        About("Candidates while an HNSW index of a PostgreSQL store is searched (R3)", left_out="the store's"),
    ] = None
    learn_after: Annotated[
        int,
        Between(0, 1_000_000),
        About("Number of new recalls with feedback after which the reranker trains by itself; 0 for never"),
    ] = 0
    check_days: Annotated[
        int,
        Between(0, 365),
        About("Days between checks of the vocabulary for drift, made while nothing is read or written; 0 for never"),
    ] = 7
    find_changes: Annotated[
        bool, About("Compares a new memory with similar ones, to find memories that it replaces")
    ] = True
    find_repeats: Annotated[bool, About("Links a new memory with memories that say nearly the same")] = True
    recent_turns: Annotated[
        RecentTurns, About("Number of the last turns of the conversation that a recall adds to its answer; 0 for none")
    ] = 0
    unlikely_memories: Annotated[
        RecentTurns, About("Number of memories in a block for a prompt if nothing seems to answer; 0 for none")
    ] = 3
    answer_with: Annotated[
        Literal["sessions", "turns"],
        About("Recipe `memsense` answers with whole sessions, or with turns and the turns around them (M5)"),
    ] = "sessions"
    fact_days: Annotated[Days | None, About("Days after which a fact expires, unless it has its own time", NEVER)] = (
        None
    )
    preference_days: Annotated[Days | None, About("Days after which a preference expires", NEVER)] = None
    event_days: Annotated[Days | None, About("Days after which an event expires", NEVER)] = None
    entity_days: Annotated[Days | None, About("Days after which a description of a person or thing expires", NEVER)] = (
        None
    )
    procedure_days: Annotated[Days | None, About("Days after which a way to do something expires", NEVER)] = None
    trust_user: Annotated[Share, About("Share of the score that memories of a user keep")] = 1.0
    trust_assistant: Annotated[Share, About("Share of the score that memories of the assistant keep")] = 1.0
    trust_tool: Annotated[Share, About("Share of the score that memories of a tool keep")] = 1.0
    trust_import: Annotated[Share, About("Share of the score that imported memories keep")] = 1.0
    quarantine: Annotated[
        FilterText | None,
        About("A filter for records that wait for approval, such as `origin:tool,import`", left_out="none"),
    ] = None
    approved: Annotated[
        FilterText | None,
        About("A filter for records that need no approval, such as `speaker:ci-bot`", left_out="none"),
    ] = None
    secrets: Annotated[
        Literal["note", "mask", "refuse"],
        About("Handling of a key or a card number in a new memory: note it in the report, mask or refuse it"),
    ] = "note"
    passwords: Annotated[
        Literal["keep", "warn", "mask", "refuse"],
        About("Handling of a password, PIN or door code that the text names as one"),
    ] = "warn"
    echo_minutes: Annotated[
        int,
        Between(0, 1_440),
        About("Minutes after a recall in which a note that repeats one of its memories counts as an echo; 0 for never"),
    ] = 10
    system_messages: Annotated[
        Literal["skip", "keep"], About("Handling of the system messages of a conversation: leave out, or keep as turns")
    ] = "skip"
    tool_messages: Annotated[
        Literal["skip", "short", "keep"],
        About("Handling of calls and results of tools: leave out, keep the beginning of their text, or keep all"),
    ] = "skip"
    tool_length: Annotated[
        int, Between(20, 100_000), About("Number of characters of a call or result that `short` keeps")
    ] = 300

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    def days(self, type: Type) -> int | None:
        """The days after which a memory of that type expires; None for never."""
        own: int | None = getattr(self, f"{type}_days")
        return own

    def holds(self, memory: Memory) -> bool:
        """True if a record that would become this memory waits for approval."""
        held = self.quarantine is not None and _filter(self.quarantine).matches(memory)
        return held and not (self.approved is not None and _filter(self.approved).matches(memory))

    def trusts_less(self, newer: Memory, older: Memory) -> bool:
        """True if the newer memory is trusted less, so it may not replace the older one by itself."""
        return self.trust(newer.origin) < self.trust(older.origin)

    def trust(self, origin: Origin | None) -> float:
        """The share of its score that a memory of that origin keeps."""
        return 1.0 if origin is None else float(getattr(self, f"trust_{origin}"))

    def weight(self, route: str, default: float) -> float:
        """The namespace's weight for a route, or the recipe's."""
        own = getattr(self, f"{route}_weight", None)
        return default if own is None else float(own)


def settings_of(stored: Mapping[str, Any]) -> Settings:
    """Settings from what a namespace has stored; errors name the field."""
    return build(Settings, stored, noun="setting")
