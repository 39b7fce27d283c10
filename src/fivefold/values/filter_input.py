"""A filter as a caller gives it, as text, a mapping or a value: checked once, with errors that say what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from fivefold.errors import InvalidInput
from fivefold.values.fields import build, check_names, fields_of
from fivefold.values.filter_language import LISTS, fields_of_filter
from fivefold.values.filters import EVERYTHING, Filter, MetadataTest
from fivefold.values.labels import truth
from fivefold.values.limits import MAX_NAME
from fivefold.values.validate import checked_text, refusal, short_repr

FilterInput: TypeAlias = Filter | Mapping[str, object] | str
"""A filter as a value, as a mapping of its fields, or as a line of text such as `speaker:ana tag:work`."""

_FIELDS = fields_of(Filter)
_TEST = fields_of(MetadataTest)
_LISTS = tuple(name for name, spec in _FIELDS.items() if name != "metadata" and spec.max_length)


def filter_of(value: FilterInput | None) -> Filter:
    """The filter that a caller means; None and an empty one let every memory pass."""
    if value is None or value == EVERYTHING:
        return EVERYTHING
    if isinstance(value, Filter):
        data: Mapping[str, Any] = {name: getattr(value, name) for name in _FIELDS}
    elif isinstance(value, str):
        data = fields_of_filter(checked_text(value, "filter", empty=True))
    elif isinstance(value, Mapping):
        data = _named(value)
    else:
        raise refusal("filter", f"must be a Filter, a mapping or a text, not {short_repr(value)}")
    return _checked(data)


def narrowed(keep: Filter, **parts: Any) -> Filter:
    """A filter with more conditions, each checked already. Tags, words and times narrow it; others it says once."""
    changes: dict[str, Any] = {}
    for name, part in parts.items():
        own = getattr(keep, name)
        if part in (None, ()) or part == own:
            continue
        if own in (None, ()):
            changes[name] = part
        elif name in _ADDED:
            changes[name] = _ADDED[name](own, part)
        else:
            raise refusal("filter", f"has {name} as well; give them once")
    return replace(keep, **changes)


def _joined(own: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*own, *more)))


_ADDED: Mapping[str, Callable[[Any, Any], Any]] = {"all_tags": _joined, "words": _joined, "since": max, "until": min}


def _named(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A mapping may also say `speaker`, `tag` and so on, as the text of a filter does."""
    twice = next((name for name, field in LISTS.items() if name in data and field in data), None)
    if twice is not None:
        raise refusal("filter", f"has both {twice} and {LISTS[twice]}; give one of them")
    return {LISTS.get(name, name): item for name, item in data.items()}


def _checked(data: Mapping[str, Any]) -> Filter:
    """One text stands for a list of one; metadata may also be a mapping from keys to values."""
    check_names(data, _FIELDS, "filter", noun="field")
    fields = {name: _listed(name, item) for name, item in data.items() if item is not None}
    fields["metadata"] = [_test(item, place) for place, item in enumerate(_tests(fields.get("metadata", ())))]
    keep = build(Filter, fields, "filter")
    _check_words(keep.words)
    _check_bounds(keep.metadata)
    if len(keep.tags) == 1:
        keep = replace(keep, tags=(), all_tags=_joined(keep.tags, keep.all_tags))
    return keep


def _listed(name: str, item: object) -> object:
    if not isinstance(item, str) or name not in _LISTS:
        return item
    return item.split() if name == "words" else [item]


def _tests(value: object) -> Sequence[object]:
    if isinstance(value, Mapping):
        return [_keyed(key, wanted) for key, wanted in value.items()]
    if isinstance(value, list | tuple):
        return value
    raise refusal("filter.metadata", f"must be a mapping or a list of conditions, not {short_repr(value)}")


def _keyed(key: object, wanted: object) -> Mapping[str, object]:
    """`{"price": {"at_least": 10}}`, `{"city": "Paris"}` or `{"city": ["Paris", "Rome"]}`."""
    if isinstance(wanted, Mapping):
        return {"key": key, **wanted}
    return {"key": key, "any_of": list(wanted) if isinstance(wanted, list | tuple) else [wanted]}


def _test(value: object, place: int) -> MetadataTest:
    """A condition with its values as they are compared."""
    path = f"filter.metadata[{place}]"
    data = {name: getattr(value, name) for name in _TEST} if isinstance(value, MetadataTest) else value
    test = build(MetadataTest, data, path)
    if bool(test.any_of) == bool(test.bounds):
        reason = "needs either any_of or bounds: above, at_least, below, at_most"
        raise refusal(path, reason)
    if None not in (test.above, test.at_least) or None not in (test.below, test.at_most):
        raise refusal(path, "has two lower or two upper bounds; give one of each")
    changes = {name: _compared(getattr(test, name)) for name in ("above", "at_least", "below", "at_most")}
    return replace(test, any_of=tuple(dict.fromkeys(map(_compared, test.any_of))), **changes)


def _compared(value: Any) -> Any:
    """True and false are looked for as texts; a whole number that a float cannot hold exactly is compared as one."""
    if isinstance(value, bool):
        return truth(value)
    if isinstance(value, int) and abs(value) >= 2**53:
        try:
            return float(value)
        except OverflowError:
            raise refusal("filter.metadata", f"{short_repr(value)} is too large a number") from None
    return value


def _check_words(words: Sequence[str]) -> None:
    if any(len(word.split()) != 1 for word in words):
        raise refusal("filter.words", "must each be one word without spaces")
    if sum(map(len, words)) > MAX_NAME:
        reason = f"are too long to search for, the most is {MAX_NAME} characters; use recall for more"
        raise InvalidInput(reason, field="filter.words")


def _check_bounds(tests: Sequence[MetadataTest]) -> None:
    """The bounds of a range are of one type, and each key has one range."""
    seen = set()
    for test in tests:
        if not test.bounds:
            continue
        if len({isinstance(bound, str) for bound in test.bounds}) > 1:
            raise refusal(test.name, "has a number and a text as its bounds; compare with one of both")
        if test.key in seen:
            raise refusal(test.name, "has two ranges; give both bounds in one")
        seen.add(test.key)
