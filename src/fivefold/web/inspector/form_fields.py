"""Forms from declared fields: each field as a control, its value as text, and the text as a value again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args, get_origin

from starlette.requests import Request

from fivefold.values.fields import FieldSpec
from fivefold.values.validate import refusal

Control = Literal["line", "lines", "choice", "time"]


@dataclass(frozen=True, slots=True)
class FormField:
    """A field in a form; `default` is what an empty field means."""

    name: str
    label: str
    about: str
    range: str
    control: Control
    choices: tuple[str, ...]
    text: str
    default: str
    error: str = ""


def form_field(spec: FieldSpec, text: str, error: str = "") -> FormField:
    """The control of a declared field with its current text."""
    label = spec.name.replace("_", " ").capitalize()
    default = spec.left_out or text_of(spec.default)
    control: Control = "lines" if _is_text_list(spec) else "line"
    choices = spec.choices
    if spec.type is datetime:
        label, control = f"{label} (UTC)", "time"
    elif spec.type is bool:
        choices, control, default = ("yes", "no"), "choice", {"true": "yes", "false": "no"}.get(default, default)
    elif choices:
        control = "choice"
    span = "" if spec.low is None or spec.high is None else f"{_figure(spec.low)} to {_figure(spec.high)}"
    return FormField(spec.name, label, spec.about, span, control, choices, text, default, error)


def _figure(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:g}"


def _is_text_list(spec: FieldSpec) -> bool:
    return get_origin(spec.type) is tuple and get_args(spec.type)[-1] is Ellipsis


def text_of(value: object) -> str:
    """A value as the text of its field: pairs of numbers with a comma, lists of texts one per line, times in UTC."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ("\n" if all(isinstance(item, str) for item in value) else ", ").join(map(str, value))
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="seconds")
    return f"{value:g}" if isinstance(value, float) else str(value)


def value_of(spec: FieldSpec, text: str) -> Any:
    """The value of a field from its text, to be checked by the engine; None if the text is empty."""
    if _is_text_list(spec):
        return [line.strip() for line in text.splitlines() if line.strip()]
    stripped = text.strip()
    if not stripped:
        return None
    if spec.type is bool:
        if stripped not in ("yes", "no"):
            raise refusal(spec.name, f"must be yes or no, not {text!r}")
        return stripped == "yes"
    if get_origin(spec.type) is tuple:
        return [_number(spec.name, part) for part in stripped.split(",")]
    if spec.type is float:
        return _number(spec.name, stripped.replace(",", "."))
    return _number(spec.name, stripped) if spec.type is int else text


def _number(name: str, text: str) -> float | int:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise refusal(name, f"must be a number, not {text!r}")


def texts_reader(names: Iterable[str], missing: str | None = None) -> Callable[[Request], Awaitable[Mapping[str, str]]]:
    """Reads the texts that a form sends for these fields; `missing` stands for those that it leaves out."""

    async def read(request: Request) -> Mapping[str, str]:
        form = await request.form()
        sent = {name: value for name in names if isinstance(value := form.get(name), str)}
        return sent if missing is None else {**dict.fromkeys(names, missing), **sent}

    return read
