"""Plain dates of German, Spanish, French, Italian and Portuguese: gestern, la semana pasada, le 3 mai."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from fivefold.text.lexemes import words_of
from fivefold.text.time_grammar.periods import DAY, WEEK, Reading, Span
from fivefold.text.time_grammar.stored import DatedText, Tense, told
from fivefold.text.time_grammar.words import lower, word_before

_NEAR = {
    -2: "vorgestern anteayer avant-hier anteontem avantieri",
    -1: "gestern ayer hier ieri ontem",
    0: "heute hoy aujourd'hui aujourd’hui oggi hoje",
    1: "morgen mañana demain domani amanhã",
    2: "übermorgen après-demain dopodomani",
}
_NEAR_WORDS = {word: shift for shift, words in _NEAR.items() for word in words.split()}
_NEAR_WORDS |= {"l'altro ieri": -2, "l’altro ieri": -2, "pasado mañana": 2, "depois de amanhã": 2, "esta mañana": 0}
_WEEKDAYS = (
    "montag lunes lundi lunedì segunda-feira segunda",
    "dienstag martes mardi martedì terça-feira terça",
    "mittwoch miércoles miercoles mercredi mercoledì quarta-feira quarta",
    "donnerstag jueves jeudi giovedì quinta-feira quinta",
    "freitag viernes vendredi venerdì sexta-feira sexta",
    "samstag sonnabend sábado sabado samedi sabato",
    "sonntag domingo dimanche domenica",
)
_MONTHS = (
    "januar enero janvier gennaio janeiro",
    "februar febrero février fevrier febbraio fevereiro",
    "märz marzo mars março",
    "abril avril aprile",
    "mai mayo maggio maio",
    "juni junio juin giugno junho",
    "juli julio juillet luglio julho",
    "agosto août aout",
    "septiembre setiembre septembre settembre setembro",
    "oktober octubre octobre ottobre outubro",
    "noviembre novembre novembro",
    "dezember diciembre décembre decembre dicembre dezembro",
)
_UNITS = {
    "day": "tag tage tagen día días dia dias jour jours giorno giorni",
    "week": "woche wochen semana semanas semaine semaines settimana settimane",
    "month": "monat monate monaten monats mes meses mois mese mesi mês",
    "year": "jahr jahre jahren jahres año años ans année années anno anni ano anos",
}
_COUNTS = (
    "ein einem einer eine un una une um uma|zwei dos deux due dois duas|drei tres trois tre três"
    "|vier cuatro quatre quattro quatro|fünf cinco cinq cinque|sechs seis six sei|sieben siete sept sette sete"
    "|acht ocho huit otto oito|neun nueve neuf nove|zehn diez dix dieci dez"
)
_COUNT_WORDS = {word: count for count, words in enumerate(_COUNTS.split("|"), 1) for word in words.split()}
_DAY_NUMBER = {name: number for number, names in enumerate(_WEEKDAYS) for name in names.split()}
_MONTH_NUMBER = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_LAST = "letzten|letzte|letzter|letztes|vergangenen|vergangene|vergangenes|pasado|pasada|último|última|dernier"
_LAST += "|dernière|scorso|scorsa|passado|passada"
_NEXT = (
    "nächsten|nächste|nächstes|nächster|kommenden|kommende|kommendes|próximo|próxima|proximo|proxima|prochain|prochaine"
)
_NEXT += "|prossimo|prossima|que viene|que vem"
_THIS = "diesen|diese|dieser|dieses|este|esta|ce|cette|questo|questa|quest['’]"
_WHICH = rf"(?P<last>{_LAST})|(?P<next>{_NEXT})|(?P<this>{_THIS})"
_AFTER = _WHICH.replace("P<", "P<after_").replace(f"|(?P<after_this>{_THIS})", "")
_HABITS = frozenset("los las jeden jede jedes les ogni todos todas cada tous toutes i os as aos immer".split())
_NEEDS_CUE = frozenset("segunda terça quarta quinta sexta".split())
_CUES = frozenset("am el le il na no em este este a al ce vom bis zum der den dem la".split())
_LANGUAGE = {
    "hier": frozenset("je j ai le la les est et nous une des avec du au on il elle mon ma pour était".split()),
    "morgen": frozenset(
        "ich wir der die das ist und um mit muss habe zum zur nicht ein eine gehe hat kommt bei".split()
    ),
}
"""Words one of which makes these a date of their language; elsewhere they may be another word or a name."""
_NO_MORNING = frozenset("la am guten jeden por de esta cada heute gestern pasado".split())


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


def _pieces(*words: str) -> str:
    """The trigger words of a table: a text that has none of their longest pieces has no such date."""
    return " ".join({max(re.findall(r"[^\W\d_]+", word), key=len) for word in words})


_COUNT = rf"(?P<count>\d{{1,3}}|{_alternatives(_COUNT_WORDS)})"
_UNIT = rf"(?P<unit>{_alternatives(_UNIT_OF)})"
_LONG_UNIT = "wochenende|fin de semana|week-end|fine settimana|fim de semana|"
_LONG_UNIT += _alternatives(word for word, unit in _UNIT_OF.items() if unit != "day")
_MONTH = rf"(?P<month>{_alternatives(_MONTH_NUMBER)})"


@told(_pieces(*_NEAR_WORDS), rf"(?P<near>{_alternatives(_NEAR_WORDS)})")
def near(match: re.Match[str], saying: DatedText) -> Span | None:
    word = lower(match["near"])
    before = word_before(match.string, match.start())
    if word in ("morgen", "mañana") and before in _NO_MORNING:
        return saying.day(saying.today) if before == "heute" else None
    if word in _LANGUAGE and _LANGUAGE[word].isdisjoint(words_of(match.string)):
        return None
    return saying.day(saying.today + DAY * _NEAR_WORDS[word])


@told(_pieces(*_DAY_NUMBER), rf"(?:(?:{_WHICH}) )?(?P<weekday>{_alternatives(_DAY_NUMBER)})(?:,? (?:{_AFTER}))?")
def weekday(match: re.Match[str], saying: DatedText) -> Span | None:
    start, end = match.span()
    cue = re.search(r"([^\W\d_]+)\s+$", match.string[max(0, start - 12) : start])
    before = lower(cue[1]) if cue else ""
    word, tense = lower(match["weekday"]), _which(match)
    if before in _HABITS or (not tense and saying.is_habit(start, end)):
        return None
    if not tense and before not in _CUES and (word in _NEEDS_CUE or word in ("domingo", "martes", "mars")):
        return None
    number = _DAY_NUMBER[word]
    if not tense and saying.is_alone(start, end) and not before:
        return None
    return saying.day(saying.weekday(number, tense or saying.tense(start, end, foreign=True) or "future"))


@told(
    _pieces(*f"{_LAST}|{_NEXT}|{_THIS}".replace("['’]", "").split("|")),
    rf"(?:{_WHICH}) ?(?P<unit>{_LONG_UNIT})|(?P<unit2>{_LONG_UNIT}) (?:{_AFTER})",
)
def unit(match: re.Match[str], saying: DatedText) -> Span | None:
    which, word = _which(match), lower(match["unit"] or match["unit2"])
    step = -1 if which == "past" else 0 if which == "present" else 1
    if word in _UNIT_OF:
        return saying.whole(_UNIT_OF[word], ahead=step)
    return saying.days(saying.first("week") + 5 * DAY + step * WEEK, 2)  # a weekend


@told(
    _pieces(*_UNIT_OF),
    rf"(?:(?P<past>vor|hace|il y a|há|faz)|(?P<ahead>in|en|dentro de|dans|tra|fra|em|daqui a)) {_COUNT} {_UNIT}"
    rf"|{_COUNT.replace('count', 'count2')} {_UNIT.replace('unit', 'unit2')} (?P<ago>fa|atrás)",
)
def away(match: re.Match[str], saying: DatedText) -> Span | None:
    count = lower(match["count"] or match["count2"])
    length = _UNIT_OF[lower(match["unit"] or match["unit2"])]
    number = int(count) if count.isdecimal() else _COUNT_WORDS[count]
    if match["ahead"] and saying.tense(*match.span(), foreign=True) == "past":
        return None
    return saying.units_away(number if match["ahead"] else -number, length)


@told(
    _pieces(*_MONTH_NUMBER),
    rf"(?P<day>\d{{1,2}})(?:\.|er|º|°)?(?: ?(?:-|–|bis|al|au|a) ?(?P<last>\d{{1,2}})\.?)?(?: de)? {_MONTH}"
    r"(?:(?: de|,)? (?P<year>\d{4}))?",
)
def dated(match: re.Match[str], saying: DatedText) -> Span | None:
    month, day = _MONTH_NUMBER[lower(match["month"])], int(match["day"])
    dated = date(int(match["year"]), month, day) if match["year"] else None
    first = dated or saying.day_of_year(match, month, day, foreign=True)
    return saying.days(first, first.replace(day=int(match["last"] or day)) + DAY)


@told(
    _pieces(*_MONTH_NUMBER), rf"(?P<cue>im|en|em|a|in|seit|desde|depuis|da) {_MONTH}(?:(?: de|,)? (?P<year>\d{{4}}))?"
)
def month(match: re.Match[str], saying: DatedText) -> Reading | Span | None:
    number, cue = _MONTH_NUMBER[lower(match["month"])], lower(match["cue"])
    if (cue == "a" and lower(match["month"]) in ("mars", "mayo")) or (lower(match["month"]) == "mars" and cue == "in"):
        return None
    if match["year"]:
        return saying.months(int(match["year"]), number)
    return saying.yearly(match, "", "month", lambda year: saying.months(year, number), foreign=True)


def _which(match: re.Match[str]) -> Tense:
    groups = match.groupdict()
    if groups["last"] or groups.get("after_last"):
        return "past"
    if groups["next"] or groups.get("after_next"):
        return "future"
    return "present" if groups["this"] else ""
