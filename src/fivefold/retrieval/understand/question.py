"""A question becomes a Query: whom, when and what it asks about, as far as that can be read out of it (R1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeVar

from fivefold.retrieval.understand.demands import Clock, find_cues, find_demands, main_intent, subject_words, time_of
from fivefold.retrieval.understand.entities import FROM, OWN_NAME, OWNER, resolve
from fivefold.retrieval.understand.wording import Rewording, asked_by_user, mend, translated
from fivefold.settings import Settings
from fivefold.stores.interface import Reader
from fivefold.text.calendar_words import MONTH_NAMES, NUMBERS, WEEKDAY_NAMES
from fivefold.text.languages import language_of
from fivefold.text.lexemes import Gender, given_names, lexemes, phrase_lines
from fivefold.values.entities import CO_MENTION
from fivefold.values.query import Cue, Demand, EntityRef, Meaning, NamePrior, Query
from fivefold.values.times import in_zone

# Questions of several parts: "which came first, the move or the wedding?" needs a memory for each of the two.

MAX_QUESTION = 600
"""Characters at the end of a question that are read; in a longer text the question stands at the end."""
MAX_PARTS = 5
MAX_PART = 200
"""Characters of a part; a longer one is not what the question puts side by side."""

_UNITS = r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|weekends?|months?|years?|decades?)"
_DET = r"(?:the|my|our|his|her|their|your|an?|this|that|these|those|some|[\w-]+['’]s)\b"
_PRONOUN = r"(?:i|we|you|he|she|they|it)\b"
_CAPITAL = r"(?-i:[A-Z])"
_AUXILIARY = r"(?:did|do|does|have|has|had|was|were|is|are|am|will|would|should|can|could)\b"
_PREPOSITION = r"(?:on|in|at|to|for|from|with|about|of|by|into|during)\b"
_MORE = rf"(?:{'|'.join(' '.join(phrase_lines('fivefold.retrieval.understand', 'data/words.txt')['more']).split())})\b"
_QUESTION_WORD = (
    r"(?:(?:what|who|whom|whose|where|when|why|how)(?:['’]s)?\b"
    rf"|which (?:[\w'’-]+ ){{0,3}}?{_AUXILIARY})"
)
_OPENING = (
    r"(?:(?:hey|hi|hello|ok|okay|so|and|also|well|please|now|btw|by the way|question)[,:]? )*"
    r"(?:(?:(?:can|could|would|will) you (?:please )?(?:tell me|remind me|say|check|work out|calculate|figure out)"
    r"|tell me|remind me|do you (?:know|remember|recall)|i(?:['’]d like| want| need) to know|i(?:['’]m| was) wondering"
    r"|any idea),? )?"
)
_SENTENCES = r"(?<=[.!?])\s+|\n+"
_FIXED_PAIRS = (
    r"\b(?:salt and pepper|bed and breakfast|rock and roll|fish and chips|bread and butter|mac and cheese|gin and tonic"
    r"|black and white|arts and crafts|research and development|pros and cons|health and safety|terms and conditions"
    r"|wear and tear|drum and bass|bits and pieces|peanut butter and jelly|ham and cheese|back and forth)\b"
)
_JOINED = r"\b(?:and|or|but|than|between|before|after|since|until|till|by the time|when|from)\b|[:;]| [–—-] |\?[^?]*\?"
"""Without any of these a question has one part: a quick look, right for many."""
_FILLER = r"(?:do you (?:know|remember|recall)|can you (?:help|tell me)|any ideas?|right|ok(?:ay)?|how are you)\b[^ ]*$"
_NO_BREAK = "\u00a0"


def question_parts(question: str) -> tuple[str, ...]:
    """The parts of a question to be searched one by one; nothing if it has one part."""
    if not _compiled(_JOINED).search(question[-MAX_QUESTION:]):
        return ()
    asked = _asked(question)
    for sentence in asked:
        for find in _FORMS:
            parts = find(sentence)
            if parts is not None:
                return _checked(parts)
    clauses = [clause for sentence in asked for clause in _clauses(sentence)]
    return _checked(clause for clause in clauses if _compiled(_CLAUSE).match(clause))


def _asked(question: str) -> list[str]:
    """The sentences at the end that ask something, without the words in front of a question."""
    question = question.strip()
    sentences = [" ".join(sentence.split()) for sentence in _compiled(_SENTENCES).split(question[-MAX_QUESTION:])]
    if len(question) > MAX_QUESTION:
        sentences = sentences[1:]
    asking = [sentence for sentence in sentences if sentence.endswith("?")] or sentences[-1:]
    joined: list[str] = []
    for text in asking:
        whole = _compiled(_FIXED_PAIRS).sub(lambda match: match[0].replace(" ", _NO_BREAK), text.rstrip(" .!?"))
        sentence = whole[_match_end(_OPENING, whole) :]
        if _compiled(_FILLER).match(sentence):
            continue
        if joined and _compiled(_ALTERNATIVE).match(sentence):
            joined[-1] += f", {sentence}"
        else:
            joined.append(sentence)
    return joined


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The expression, compiled at its first use, since most commands ask no question."""
    return re.compile(pattern, re.IGNORECASE)


def _match_end(pattern: str, text: str) -> int:
    match = _compiled(pattern).match(text)
    return match.end() if match else 0


_ALTERNATIVE = rf"(?!{_QUESTION_WORD}|{_AUXILIARY}|which\b).+ or "
"""A sentence that goes on with the question before it: "Which came first? The move or the wedding?"."""


def _checked(parts: Iterable[str]) -> tuple[str, ...]:
    """The parts as they are searched; nothing unless each of at least two names something."""
    clean = tuple(dict.fromkeys(map(_clean, parts)))
    fit = len(clean) > 1 and all(len(part) <= MAX_PART and _names_something(part) for part in clean)
    return clean[:MAX_PARTS] if fit else ()


_NUMBERING = r"\(?\d+[.)]\s+"
_JOINING = r"(?:either|both|also|then|and|or)\s+"


def _clean(part: str) -> str:
    part = " ".join(part.split()).strip(' ,;:.?!"“”()–—-')
    for pattern in (_NUMBERING, _JOINING):
        part = part[_match_end(pattern, part) :]
    return part[1:-1] if part[:1] == part[-1:] == "'" else part


def _names_something(part: str) -> bool:
    return any(word not in _weak_lexemes() and not word.isdigit() for word in lexemes(part))


@cache
def _weak_lexemes() -> frozenset[str]:
    """Words that name nothing to search for."""
    weak = phrase_lines("fivefold.retrieval.understand", "data/words.txt")["weak"]
    return frozenset(lexemes(" ".join((*MONTH_NAMES, *WEEKDAY_NAMES, *NUMBERS, *weak))))


# One function for each form of question: its parts, or None if the question is not of that form.

_COLON = r"(?P<before>[^:]{3,}?)\s*(?::| [–—-]) (?P<behind>.+)"
_ORDERING = (
    rf"\b(?:{_MORE}|order|sequence|chronolog\w+|timeline|rank|sort|arrange|compare|following|total|sum|combined"
    r"|between)\b"
)


def _listed(sentence: str) -> list[str] | None:
    """Things behind a colon, or before it: "what is the order of these: the move, the wedding, the exam"."""
    match = _compiled(_COLON).fullmatch(sentence)
    if match is None:
        return None
    lead, items = match["before"], match["behind"]
    if not _compiled(_ORDERING).search(lead):
        lead, items = items, lead
    found = _items(items)
    return found if _compiled(_ORDERING).search(lead) and len(found) > 1 else None


_CHOICE = (
    rf"(?P<lead>(?:{_QUESTION_WORD}|which\b|of\b|in\b|did\b)[^?]*?\b{_MORE}[^,;–—?]*?)"
    rf"(?:[,;–—]| -|(?= (?:{_DET}|{_PRONOUN}))) (?P<items>.+\bor\b.+)"
)
_YES_NO_CHOICE = (
    rf"{_AUXILIARY} (?P<items>.+ or .+?)(?P<verb> (?:happen|come|occur|take place|start|begin|end|arrive|finish|win"
    rf"|cost|weigh|last|leave))? {_MORE}(?: (?:often|recently|of all))?"
)
_MIDDLE_CHOICE = rf"{_AUXILIARY} (?P<a>.+?) {_MORE} (?P<b>.*\bor .+)"
_VERB = rf"\bdid (?:{_PRONOUN}|{_CAPITAL}[\w'’-]+|my \w+) (?P<verb>[a-z]+)"
_EMPTY_VERBS = frozenset("do did happen come came occur take".split())
_ASIDE = r",? and (?:by )?how (?:much|many|long)\b.*$"


def _chosen(sentence: str) -> list[str] | None:
    """One of several: "which came first, the move or the wedding", "did I buy the tent or the kayak first"."""
    match = _compiled(_CHOICE).fullmatch(sentence)
    if match:
        items = _items(_compiled(_ASIDE).sub("", match["items"]))
        verb = _compiled(_VERB).search(match["lead"])
        if verb and verb["verb"].lower() not in _EMPTY_VERBS and all(map(_is_noun, items)):
            return [f"{verb['verb']} {item}" for item in items]
        return items
    match = _compiled(_YES_NO_CHOICE).fullmatch(sentence)
    if match:
        verb_after = (match["verb"] or "").strip()
        tail = "" if verb_after.lower() in {*_EMPTY_VERBS, "take place"} else f" {verb_after}"
        return [f"{item}{tail}" for item in _spread(_items(_without_subject(match["items"])))]
    match = _compiled(_MIDDLE_CHOICE).fullmatch(sentence)
    return _spread(_items(_without_subject(f"{match['a']} {match['b']}"))) if match else None


_ORDER = (
    rf"(?:in (?:what|which) order {_AUXILIARY}|(?:what|which)(?:['’]s| is| was) the (?:\w+ )?(?:order|sequence)"
    r" (?:of|in which|that)) (?P<items>.+?)(?: (?:happen|happened|come|came|occur|occurred|take place|took place))?"
    r"(?:,? (?:from .+|chronologically))?"
)


def _ordered(sentence: str) -> list[str] | None:
    """Things to put in order: "in what order did I visit Oslo, Rome and Bath"."""
    match = _compiled(_ORDER).fullmatch(sentence)
    if match is None:
        return None
    items = _items(_without_subject(match["items"]))
    named = [item for item in items if _names_something(item)]
    return _spread(named) if len(named) > 1 else None


_HOW_LONG = rf"how (?:long|soon|far|(?:many|few) (?:\w+ )?{_UNITS}|much (?:\w+ )?time)\b"
_BETWEEN = rf"(?:{_HOW_LONG}|how (?:much|big|large)\b|what(?:['’]s| is| was)\b).*?\bbetween"
_EVENT_NEXT = rf"(?=when\b|{_DET}|{_PRONOUN}|{_CAPITAL})"
_DISTANCES = (
    rf"{_BETWEEN} (?P<a>.+?) and {_EVENT_NEXT}(?P<b>.+)",
    rf"{_BETWEEN} (?P<a>.+?) and (?P<b>.+)",
    rf"{_HOW_LONG}[^,]{{0,30}}?\b(?:before|after|since) (?P<a>.+?),? (?:did|had|that|until) (?P<b>.+)",
    rf"{_HOW_LONG}[^,]{{0,30}}?\b(?:before|after|since) (?P<a>.+?),? {_AUXILIARY} (?P<b>.+)",
    rf"{_HOW_LONG} (?:did|had|was|were|have|has) (?P<a>.+?),? (?:before|until|till|by the time) (?P<b>.+)",
    rf"{_HOW_LONG} had (?P<a>.+?),? when (?P<b>.+)",
    rf"{_HOW_LONG}.*?\b(?:pass\w*|elapsed?|went by|was it|did it take|were there)\b.*?"
    r"\bfrom (?P<a>.+?) (?:to|until|till) (?P<b>.+)",
    r"how old (?:was|were) (?P<a>.+?) when (?P<b>.+)",
)


def _apart(sentence: str) -> list[str] | None:
    """Two events and the time between them: "how long before the launch did I hire Tom"."""
    for pattern in _DISTANCES:
        match = _compiled(pattern).fullmatch(sentence)
        if match:
            return [text[_match_end(r"(?:when|that) ", text) :] for text in (match["a"], match["b"])]
    return None


_NOT_A_THING = (
    rf"(?:\d|(?:{'|'.join(NUMBERS)}|half|once|twice|usual|ever|before|expected|last|this|that)\b"
    rf"|{_PRONOUN}|an? {_UNITS})"
)
_HOW_MUCH_MORE = rf"how (?:much|many|far|long)? ?{_MORE}.*?\b{_AUXILIARY} (?P<a>.+?) than (?!{_NOT_A_THING})(?P<b>.+)"
_MORE_THAN = rf"{_AUXILIARY} (?P<a>.+?) {_MORE}(?P<middle>(?: [\w'’-]+){{0,5}}?) than (?!{_NOT_A_THING})(?P<b>.+)"
_ON = rf"(?P<word>{_PREPOSITION}) "


def _compared(sentence: str) -> list[str] | None:
    """Two things of which one is more: "is the bike more expensive than the kayak"."""
    match = _compiled(_HOW_MUCH_MORE).fullmatch(sentence) or _compiled(_MORE_THAN).fullmatch(sentence)
    if match is None:
        return None
    first = _without_subject(match["a"])
    middle = (match.groupdict().get("middle") or "").strip()
    preposition = _compiled(_ON).match(f"{middle} ")
    if preposition:
        return _spread([f"{first} {middle}", match["b"].removeprefix(f"{preposition['word']} ")])
    return _spread([first, match["b"]])


_TOTAL = r",? ?\b(?:in total|altogether|combined(?! \w+ (?:of|for)\b)|in all|all together|together|overall)\b,? ?"
_SUMS = (
    rf".*\b(?:total|sum)\b.*? {_PRONOUN}(?:['’]ve| have| had)? (?P<items>.+ and .+)",
    r".*\b(?:total|sum|combined)\b(?: [\w'’-]+){0,3}? (?:of|for|on|from) (?P<items>.+ and .+)",
    rf"(?:how (?:much|many|long|far)|what)\b.*? {_AUXILIARY} (?:{_PRONOUN}|{_CAPITAL}[\w'’-]+) (?P<items>.+ and .+)",
    rf"how (?:much|many|long|far|heavy|old)\b.*? {_AUXILIARY} (?P<items>(?:{_DET}|{_CAPITAL}).* and .+?)"
    r"(?P<verb> (?:cost|weigh|take|last|earn|make|spend|pay|eat|drink|run|read))?",
    rf"how (?:many|much) (?P<items>.+ and .+?) {_AUXILIARY} (?P<verb>.+)",
)


def _summed(sentence: str) -> list[str] | None:
    """Things whose sum is asked for: "what is the total I spent on the bike and the helmet"."""
    text = _compiled(_TOTAL).sub(" ", sentence).strip()
    if text == sentence and not _compiled(r"\b(?:total|sum|combined)\b").search(sentence):
        return None
    for pattern in _SUMS:
        match = _compiled(pattern).fullmatch(text)
        if match:
            tail = f" {verb.strip()}" if (verb := match.groupdict().get("verb")) else ""
            return [f"{item}{tail}" for item in _spread(_items(match["items"]))]
    return None


_FORMS: Sequence[Callable[[str], list[str] | None]] = (_listed, _chosen, _ordered, _apart, _compared, _summed)

_NEXT_CLAUSE = rf"(?:,? (?:and|but|or)|;)(?: also| then)? (?={_QUESTION_WORD})"
_CLAUSE = rf"{_QUESTION_WORD}|which\b|{_AUXILIARY}"


def _clauses(sentence: str) -> list[str]:
    """The questions of a sentence, each with its own question word."""
    clauses = _compiled(_NEXT_CLAUSE).split(sentence)
    return clauses if all(map(_compiled(_CLAUSE).match, clauses)) else [sentence]


_LIST_END = r",\s*(?:and|or) "
_COMMAS = r"\s*[,;]\s*(?:(?:and|or) )?"
_COMMAS_AND_WORDS = r"\s*[,;]\s*(?:(?:and|or) )?| (?:and|or) "
_WITHOUT_SUBJECT = rf"{_PRONOUN} "
_HEAD = rf"(?P<head>(?:{_CAPITAL}[\w'’-]+ )?(?:(?!{_DET})(?-i:[a-z])[\w'’-]* )+?)(?={_DET}|{_CAPITAL}|\d)"
_NOUN = rf"{_DET}|{_CAPITAL}|\d|[\w'’-]+$"


def _items(text: str) -> list[str]:
    """The things of a list; with a comma before its last "and", other words "and" belong to the things."""
    separator = _COMMAS if _compiled(_LIST_END).search(text) else _COMMAS_AND_WORDS
    return [item for item in _compiled(separator).split(text) if item.strip()]


def _without_subject(text: str) -> str:
    return text[_match_end(_WITHOUT_SUBJECT, text) :]


def _is_noun(item: str) -> bool:
    """True if a thing of a list has no verb of its own, as far as its first word tells."""
    return _compiled(_NOUN).match(item) is not None


def _spread(items: Sequence[str]) -> list[str]:
    """The verb in front of the first thing, put in front of the others too: "buy the tent", "buy the kayak"."""
    if not items:
        return []
    first, *others = items
    match = _compiled(_HEAD).match(first)
    words = first.split(" ")
    if match:
        head = match["head"]
    elif 1 < len(words) <= 3 and all(" " not in item for item in others):
        head = " ".join(words[:-1]) + " "
    else:
        return list(items)
    return [first, *(f"{head}{item}" if _is_noun(item) else item for item in others)]


# A question that follows others, written out so that it can be read alone: 'when is it?' names what it asks about.

OWNED = "'s"
MAX_TURN_CHARACTERS = 300
"""Characters of the turns before that are put in front of a question."""
FEW_WORDS = 4
"""A turn with fewer words of its own is read together with the one before it."""

_FROM_USER = f"{FROM}the user, "
_REPLACED = frozenset("he him his she her hers they them their theirs there".split())
"""Pronouns that stand for a name; 'it' is more often a thing without one."""
_POSSESSIVE = frozenset({"his", "her", "its", "their"})
_OBJECT = re.compile(
    r"\s*(?:$|[?!.,;:]|(?:in|on|at|for|to|from|with|about|again|now|then|this|last|next|and|or|when)\b)"
)
_OPEN = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|its?)\b"
    r"|(?<!is )(?<!are )(?<!was )(?<!were )\bthere\b(?! (?:is|are|was|were)\b|['’]s)"
    r"|\b(?:did|was|is|does|about|after|before|with|for|on|at|to|of) that\b(?! (?:i|we|you|he|she|they)\b)"
    r"|\bthat one\b|\bthen\b|\bthe (?:first|second|third|other|last|same) (?:one|time)\b"
    r"|^(?:and|n|but|or|what about|how about|also|why|why not)\b",
    re.IGNORECASE,
)
"""Words that need the turns before."""


def written_out(question: str, refs: Sequence[EntityRef], history: Sequence[str]) -> str:
    """The question with its pronouns replaced by names, or with the turn before in front of it."""
    if not history:
        return question
    named = [ref for ref in refs if ref.text.casefold() in _REPLACED]
    if named:
        return _with_names(question, named)
    if not _OPEN.search(question):
        return question
    turns = [turn.strip() for turn in history[-2:] if turn.strip()]
    if turns and len(subject_words(turns[-1])) >= FEW_WORDS:
        turns = turns[-1:]
    return " ".join((*(turn[-MAX_TURN_CHARACTERS:] for turn in turns), question))


MIN_NAMED_RELATIVE = 0.7
"""Confidence from which a relative has the name put behind the relation."""


def with_relatives_named(question: str, refs: Sequence[EntityRef]) -> str:
    """ "Where does my cousin live" as "where does my cousin Sam Okafor live", if it is known who that is."""
    for ref in sorted(refs, key=lambda ref: -ref.start):
        end = ref.start + len(ref.text)
        one = ref.via.endswith(f" of {OWNER}") and len(ref.meanings) == 1 and ref.confidence >= MIN_NAMED_RELATIVE
        if one and ref.name.split()[0].casefold() not in question.casefold():
            question = f"{question[:end]} {ref.name}{question[end:]}"
    return question


def _with_names(question: str, refs: Sequence[EntityRef]) -> str:
    for ref in sorted(refs, key=lambda ref: -ref.start):
        end = ref.start + len(ref.text)
        pronoun, rest = question[ref.start : end].casefold(), question[end:]
        owned = pronoun in _POSSESSIVE and not (pronoun == "her" and _OBJECT.match(rest))
        where = "in " if pronoun == "there" else ""
        name = ref.via.removeprefix(_FROM_USER).removeprefix(FROM)
        question = f"{question[: ref.start]}{where}{name}{OWNED if owned else ''}{rest}"
    return question


# Pronouns and 'that project' or 'there', resolved against the turns of the conversation given with the question (R1).

LOOK_BACK = 6
"""Maximum number of earlier turns that are looked at, the latest first."""

REFERENCE_CONFIDENCE = 0.75
MAX_EDGES = 12
"""Edges of a name that are looked at for what it is."""

Looks = Literal["person", "place", "thing"]


@dataclass(frozen=True, slots=True)
class Referent:
    """A name of the history and the kind of thing it looks like; not `sure` if only the words before it say so."""

    ref: EntityRef
    looks: Looks
    sure: bool


_HE, _SHE = frozenset({"he", "him", "his"}), frozenset({"she", "her", "hers"})
_PERSON = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|that (?:person|guy|man|woman|girl|boy))\b", re.IGNORECASE
)
_PLACE = re.compile(
    r"\b(?<!is )(?<!are )(?<!was )(?<!were )there\b(?! (?:is|are|was|were)\b|['’]s)"
    r"|\b(?:there(?=\s*(?:$|[?!.,;]))|the same place|that (?:place|city|town|restaurant|hotel))\b",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\b(?:it|its|(?:that|this|the) (?:project|ticket|app|product|company)|that (?:thing|one|file|book|film|movie|show)"
    r"|the same one)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"[\d_/@]")
_TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|Frau|Herr|Aunt|Uncle|Auntie|Señora?|Madame|Don|Doña)\.? $")
_WITHIN = re.compile(r"\b(?:in|at|near|visited|around|via|towards|through|reached)(?: the)? $", re.IGNORECASE)
_WAY = re.compile(
    r"\b(?:go|goes|going|went|gone|mov\w+|fl(?:y|ies|ew|ying|ights?)|dr(?:ive|ives|ove|iving)|travel\w*|trips?|trains?|bus"
    r"|way|c(?:ome|omes|ame|oming)|arriv\w+|relocat\w+|return\w*|walk\w*|head\w*|cycl\w+|commut\w+|tickets?)"
    r" (?:\w+ ){0,2}(?:to|from|into|for)(?: the)? $",
    re.IGNORECASE,
)
_USED = re.compile(
    r"\b(?:projects?|tickets?|files?|apps?|on|called|using|use|used|install\w*|finish\w*|launch\w*|deploy\w*|ship\w*|releas\w+"
    r"|about|of|read|reading|watch\w*|bought|own\w*)(?: the)? $",
    re.IGNORECASE,
)
_THINGS = frozenset({"owns", "works on", "founded"})
_PLACES = frozenset({"lives in", "located in", "works at"})
_FIRMS = frozenset({"part of", "member of", "leads", "manages"})


def refer_back(question: str, history: Sequence[str], resolved: Sequence[EntityRef], reader: Reader) -> list[EntityRef]:
    """The referent of each kind of pronoun of the question: the latest fitting name of the history."""
    if not history:
        return []
    names = list(_names(history, reader))
    refs = []
    for pattern, kinds, others in _KINDS:
        match = pattern.search(question)
        referent = _latest(names, kinds, others, match[0]) if match else None
        if match and referent and all(referent.meanings[0].id != ref.meanings[0].id for ref in resolved):
            meanings = tuple(
                Meaning(m.id, m.name, round(m.confidence * REFERENCE_CONFIDENCE, 4)) for m in referent.meanings
            )
            via = f"{_FROM_USER if referent.via == OWN_NAME else FROM}{referent.text}"
            refs.append(EntityRef(match[0], match.start(), meanings, via))
    return refs


_KINDS: tuple[tuple[re.Pattern[str], tuple[Looks, ...], tuple[Looks, ...]], ...] = (
    (_PERSON, ("person",), ("thing", "place")),
    (_PLACE, ("place",), ("thing", "person")),
    (_THING, ("thing", "place", "person"), ()),
)
"""The meaning of each kind of pronoun, and its wider meaning if only the words around it tell more."""


def _names(history: Sequence[str], reader: Reader) -> Iterator[Referent]:
    """The names of the history, latest first, each with what it looks like; 'my sister' is a person too."""
    for turn in reversed(history[-LOOK_BACK:]):
        for ref in sorted(resolve(turn, reader), key=lambda ref: -ref.start):
            if ref.via in ("name", OWN_NAME):
                yield _named(turn, ref, reader)
            elif " of " in ref.via and ref.text.casefold().startswith(("my ", "our ")):
                yield Referent(EntityRef(ref.name, ref.start, ref.meanings, ref.via), "person", True)


def _named(turn: str, ref: EntityRef, reader: Reader) -> Referent:
    """By its name or by what the store knows of it; else by the words before it, or without such words a person."""
    before = turn[: ref.start]
    if _CODE.search(ref.text):
        return Referent(ref, "thing", True)
    place = _WITHIN.search(before) or _WAY.search(before)
    if _TITLE.search(before) or _gender(ref):
        is_place = place and len(ref.text.split()) == 1 and _known_as(ref, reader) == "place"
        return Referent(ref, "place" if is_place else "person", True)
    known = _known_as(ref, reader)
    if known:
        return Referent(ref, known, True)
    return Referent(ref, "place" if place else "thing" if _USED.search(before) else "person", False)


def _known_as(ref: EntityRef, reader: Reader) -> Looks | None:
    """The kind of thing that the edges of a name say it is."""
    key = ref.meanings[0].id
    for edge in reader.graph.edges(key, MAX_EDGES):
        if edge.relation == CO_MENTION:
            continue
        is_target = edge.target_id == key
        if edge.relation in _PLACES:
            return "place" if is_target else "person"
        if edge.relation in _THINGS or edge.relation in _FIRMS:
            return "thing" if is_target else "person" if edge.relation != "part of" else "thing"
        return "person"
    return None


def _gender(ref: EntityRef) -> Gender | None:
    return given_names().get(ref.name.split(" ", 1)[0].casefold()) or given_names().get(ref.text.casefold())


def _latest(
    names: Sequence[Referent], kinds: Sequence[Looks], others: Sequence[Looks], pronoun: str
) -> EntityRef | None:
    """The latest name of the first kind that has one, else the latest that may be one.

    'He' means no woman and 'she' no man.
    """
    other = "f" if pronoun.casefold() in _HE else "m" if pronoun.casefold() in _SHE else ""
    fitting = [named for named in names if not (other and _gender(named.ref) == other)]
    for kind in kinds:
        for named in fitting:
            if named.looks == kind:
                return named.ref
    for kind in others:
        for named in fitting:
            if named.looks == kind and not named.sure:
                return named.ref
    return None


Part = TypeVar("Part", EntityRef, Demand, Cue)


def understand(
    question: str,
    clock: Clock,
    history: Sequence[str],
    reader: Reader,
    settings: Settings,
    name_prior: NamePrior = "memories",
) -> Query:
    """The question with its words, entities, window, intent and demands. It never fails on any text.

    Types of memory are implied later, by the optimizer (R1).
    """
    language = language_of(question)
    resolved = resolve(question, reader, name_prior)
    reworded, further = translated(question, language, resolved) if language else (mend(question, resolved, reader), "")
    if reworded.changes:
        resolved = resolve(reworded.text, reader, name_prior)
    elsewise = reworded if language else asked_by_user(reworded, resolved)
    if elsewise is not reworded:
        reworded, resolved = elsewise, resolve(elsewise.text, reader, name_prior)
    asked = question if language else reworded.text
    referring = refer_back(reworded.text, history, resolved, reader)
    reading = written_out(reworded.text, referring, history)
    if any(ref.via.startswith(_FROM_USER) for ref in referring):
        reading = asked_by_user(Rewording(reading), resolve(reading, reader, name_prior)).text
        referring = [ref for ref in referring if not ref.via.startswith(_FROM_USER)]
    time = time_of(asked, language, clock, reader, settings)
    cues = find_cues(reworded.text if language else question)
    demands = find_demands(asked, time, language, reader, clock.now)
    if reading == reworded.text and not language and all(demand.kind != "past" for demand in demands):
        reading = with_relatives_named(reading, resolved)
    texts = (question, reading, further) if reading != question else (question,)
    return Query(
        text=question,
        now=in_zone(clock.now, clock.zone),
        lexemes=tuple(dict.fromkeys(lexeme for text in texts for lexeme in lexemes(text))),
        history=tuple(history),
        window=time.window if time else None,
        entities=tuple(_in_place(ref, question, reworded) for ref in (*resolved, *referring)),
        intent=main_intent(cues),
        cues=tuple(_in_place(cue, question, reworded) for cue in cues) if language else cues,
        demands=demands if language else tuple(_in_place(demand, question, reworded) for demand in demands),
        reading=reading if reading != question else "",
        parts=() if language else question_parts(asked),
    )


def _in_place(part: Part, question: str, reworded: Rewording) -> Part:
    """The part with its words as they stand in the question."""
    if not reworded.changes or not part.text:
        return part
    start, end = reworded.origin(part.start, part.start + len(part.text))
    return replace(part, text=question[start:end], start=start)
