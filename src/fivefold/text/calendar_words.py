"""The names of months and weekdays, and the words for numbers: the one table that every pattern is built from."""

from __future__ import annotations

from fivefold.values.times import MONTHS, WEEKDAYS

MONTH_NAMES = tuple(name.lower() for name in MONTHS)
SHORT_MONTHS = tuple(name[:3] for name in MONTH_NAMES)
WEEKDAY_NAMES = tuple(name.lower() for name in WEEKDAYS)
SHORT_WEEKDAYS = tuple(name[:3] for name in WEEKDAY_NAMES)

MONTH = "|".join(MONTH_NAMES)
"""A pattern for a month's full name."""
SHORT_MONTH = "|".join(name for name in SHORT_MONTHS if name != "may").replace("sep", "sept?")
"""A pattern for an abbreviated month; May has no shorter form."""
WEEKDAY = f"(?:{'|'.join(name.removesuffix('day') for name in WEEKDAY_NAMES)})day"

MONTH_WORDS = " ".join((*MONTH_NAMES, *(name for name in SHORT_MONTHS if name != "may"), "sept"))
"""All spellings of the months, as triggers of a pattern."""
WEEKDAY_WORDS = " ".join(WEEKDAY_NAMES)

NOT_IN_ORDINAL = (
    r"(?!(?<=\d\.)(?<![:\d]\d\d\.)\s(?i:und|bis|oder|Jan(?:uar)?|Jänner|Feb(?:ruar)?|März|Apr(?:il)?|Mai|Juni?|Juli?"
    r"|Aug(?:ust)?|Sept?(?:ember)?|Okt(?:ober)?|Nov(?:ember)?|Dez(?:ember)?|Geburtstag|Stock|Klasse)\b)"
)
"""A pattern for the place after a full stop that ends a sentence: not in 'am 3. Mai'."""

_ONES = "one two three four five six seven eight nine ten eleven twelve"
_TENS = "twenty thirty forty fifty sixty"
NUMBERS = {"a": 1, "an": 1} | {word: number for number, word in enumerate(_ONES.split(), 1)} | {"fifteen": 15}
NUMBERS |= {word: number for number, word in zip(range(20, 61, 10), _TENS.split(), strict=True)} | {"ninety": 90}


def month_number(word: str) -> int:
    """1 for January, by its full name or an abbreviation."""
    return SHORT_MONTHS.index(word.strip()[:3].casefold()) + 1


def weekday_number(word: str) -> int:
    """0 for Monday, by its full name or an abbreviation."""
    return SHORT_WEEKDAYS.index(word.strip()[:3].casefold())
