"""Extractors: what is read out of a record before it is stored."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, timezone
from functools import cache, lru_cache
from typing import Any

from fivefold.errors import InvalidInput, MissingExtra
from fivefold.models.remote import RemoteError, post
from fivefold.text.calendar_words import MONTH, MONTH_WORDS, SHORT_MONTH, WEEKDAY, WEEKDAY_WORDS
from fivefold.text.lexemes import (
    IRREGULAR_PAST,
    NO_PAST,
    Pattern,
    empty_on_forget,
    late_pattern,
    lower_case,
    phrase,
    text_cache,
    words_of,
)
from fivefold.text.names import IS_CALLED, RELATIVES, ROLE_OF, SURE_NAME, mentions, told_by_user
from fivefold.text.time_grammar import dates_in
from fivefold.values.entities import Extraction, Extractor, Mention, Relation
from fivefold.values.memory import FACETS, TYPES, Facet, Record, Type
from fivefold.values.registry import plugin_by_choice
from fivefold.values.times import utc_now
from fivefold.values.validate import MAX_EXTRACTED, MAX_NAME, checked_text
from fivefold.writing.extract.entity_relations import relations
from fivefold.writing.extract.kinds import with_kinds
from fivefold.writing.extract.statements import is_assistant, predicate_of, refers_back, statements

_ADVERBS = r"(?: \w+ly| always| still| now| just| also| much| never| only)*"
_LIKE = "prefer|like|love|enjoy|hate|dislike|loathe|adore|fancy|avoid|favou?r|despise|detest"
_LIKES = "prefers|likes|loves|enjoys|hates|dislikes|loathes|adores|avoids|despises|detests"
PREFERENCE = Pattern(
    "prefer prefers preferred like likes love loves enjoy enjoys hate hates dislike dislikes loathe loathes adore "
    "adores fancy avoid avoids favor favour rather favorite favorites favourite favourites stand default go usual into "
    "fond keen fan despise despises detest detests thing crazy",
    rf"\b(?:i|we|they|you)(?:'d|’d| would| do(?: not|n't|n’t)?)?{_ADVERBS} (?:{_LIKE})\b(?<!['’]d (?:like"
    rf"|love))(?! (?:to (?:go|get|be)|him|her|them|you)\b)|\b(?:he|she|who|user|(?-i:[A-Z])[\w’'-]+|(?:my|our|his"
    rf"|her) \w+){_ADVERBS} (?:{_LIKES})\b|\b(?:doesn't|doesn’t|does not|don't) (?:really )?(?:{_LIKE})\b"
    r"|\b(?:i'd|i’d|i would|we'd) rather\b|\bfavou?rites?\b|\bcan(?:'t|’t|not) (?:stand|bear)\b|\bmy (?:default|go-to"
    r"|usual|thing)\b|\bprefers?\b|\bpreferred\b|\b(?:i'm|i’m|i am|is|she's|he's|’s) (?:really |so |totally |a big "
    r"|not )*(?:into|fond of|keen on|crazy about|fan of|a fan)\b",
    re.IGNORECASE,
)
DIET = Pattern(
    "allergic allergy allergies intolerant intolerance vegetarian vegan pescatarian gluten lactose halal kosher "
    "teetotal teetotaller coeliac celiac diet diabetic diabetes eat eats drink drinks dairy pork meat",
    r"\ballerg(?:ic|y|ies)\b|\bintoleran(?:t|ce)\b|\b(?:vegetarian|vegan|pescatarian|coeliac|celiac|diabet(?:ic|es)|teetotal(?:ler)?"
    r"|halal|kosher|lactose|gluten[- ]free)\b|\b(?:don['’]t|doesn['’]t|do not|does not|no longer|never) (?:eat"
    r"|drink)s?\b|\b(?:off|without|no more) (?:meat|dairy|pork|gluten|alcohol|sugar|caffeine)\b|\bdiet\b",
    re.IGNORECASE,
)
BUDGET = Pattern(
    "budget budgets afford spend spending",
    r"\bbudgets?\b|\b(?:can(?:['’]t|not)?|could(?:n['’]t)?) (?:only )?afford\b"
    r"|\bspend(?:ing)? (?:at most|no more than|not more than|more than|less than|up to|under)\b",
    re.IGNORECASE,
)
_LASTING = (
    "used|lived|worked|liked|loved|wanted|needed|hated|owned|named|called|based|supposed|enjoyed|preferred|seemed"
    "|believed|interested|allowed|limited|related|required|married|stayed"
)
_PAST = rf"(?:{IRREGULAR_PAST}|(?!(?:{NO_PAST}|{_LASTING})\b)[a-z]{{2,}}ed)"
_NAME = r"(?-i:[A-Z])[\w’'.-]*"
IRREGULAR = frozenset(IRREGULAR_PAST.split("|"))
HAPPENED = late_pattern(
    r"(?:^|[.!?;:] |\band |\bthen |, )(?:(?:and|so|then|also|just|finally|today|yesterday|btw|anyway|meanwhile),? )*"
    rf"(?:(?:i|we|he|she|they|the user|(?:my|our|his|her|the) [\w’'-]+(?: [\w’'-]+)?|{_NAME}(?: {_NAME}){{0,2}})"
    r"(?:['’](?:ve|s)| have| has)?(?: (?:just|finally|already|then|also|recently|both|all|only))* )?"
    rf"{_PAST}\b(?! to be\b)",
    re.IGNORECASE,
)
"""Somebody did something: a verb of the past with its subject, or in front of a note."""
STATE_FIRST = late_pattern(
    r"^[^.!?]*?\b(?:is|are|am|has|have|lives?|works?|can|can['’]t|cannot|costs?|needs?|means?|knows?|['’](?:m|re)|=)\b",
    re.I,
)
"""A first sentence that says how things are."""
LIFE = Pattern(
    "born birth baby pregnant died dead death passed funeral wedding married engaged divorced divorce graduated "
    "graduation birthday miscarriage christening proposed twins",
    r"\b(?:(?:was|were|is|are|been) born|^born|born (?:on|at|in|last|this|today|yesterday)|gave birth|(?:baby"
    r"|twins?) (?:is |are )?(?:here|arrived|came|due)|pregnant|expecting a baby|died|passed away|is dead|has died"
    r"|funeral|got (?:married|engaged|divorced)|(?:are|is) (?:getting )?(?:engaged|divorced|married) (?:now|as|on"
    r"|last)|graduated|christening|proposed)\b",
    re.IGNORECASE,
)
DONE = Pattern(
    "went met visited attended finished completed ran moved bought sold signed joined quit flew drove traveled "
    "travelled celebrated launched shipped released broke won lost saw watched hosted presented told ordered booked "
    "canceled cancelled adopted graduated started hiked camped painted received hired fired installed fixed repaired "
    "planted cooked baked climbed raced crashed recovered resigned retired passed failed submitted published spoke "
    "called arrived returned turned got had took gave made died born",
    r"\b(?:went|met|visited|attended|finished|completed|ran|moved|bought|sold|signed|joined|quit|flew|drove|travell?ed"
    r"|celebrated|launched|shipped|released|broke|won|lost|saw|watched|hosted|presented|told|ordered|booked|cancell?ed"
    r"|adopted|graduated|started|hiked|camped|painted|received|hired|fired|installed|fixed|repaired|planted|cooked"
    r"|baked|climbed|raced|crashed|recovered|resigned|retired|passed|failed|submitted|published|spoke|called|arrived"
    r"|returned|died|(?:was|were) born|turned \d+|got (?:married|engaged|promoted|back|home|stuck|sick|a|an|the)"
    r"|had (?:a|an|the|my|our|his|her)|took (?:a|an|the|my|part)|gave (?:a|an|the|my)|made (?:a|an|the|my))\b",
    re.IGNORECASE,
)
_MONTHS = f"(?:{MONTH}|{SHORT_MONTH})"
_NOT_SINCE = r"(?<!since )(?<!from )(?<!until )(?<!till )(?<!by )(?<!before )(?<!of )(?<!every )(?<!each )"
DAY = Pattern(
    f"yesterday today tonight tomorrow tmrw morning last next ago #-# st nd rd th {WEEKDAY_WORDS} {MONTH_WORDS}",
    rf"\b{_NOT_SINCE}(?:yesterday|today|tonight|tomorrow|tmrw|this morning|last (?:night|week|weekend|month|year"
    rf"|\w+day)|next \w+|ago|(?:on |this |next )?{WEEKDAY}|{_MONTHS} \d{{1,2}}|the \d{{1,2}}(?:st|nd|rd|th)(?=[.,;!?]"
    rf"|$| at| in)|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTHS}|\d{{4}}-\d{{2}}-\d{{2}})\b",
    re.IGNORECASE,
)
PERIOD = Pattern(
    f"week weekend month year summer winter spring autumn weeks days months {MONTH_WORDS}",
    rf"\b{_NOT_SINCE}(?:(?:this|over the|at the|the whole) (?:week|weekend|month|summer|winter|spring|autumn)"
    rf"|in (?:\w+ ){{1,2}}(?:days|weeks|months)|(?:in|early|mid|late) {_MONTHS})\b",
    re.IGNORECASE,
)
PLANNED = Pattern(
    "will ll going meeting appointment deadline due flight launch launches launching starts race trip visit visits "
    "interview wedding birthday conference is coming fly flying flies leave leaves leaving booked party concert exam "
    "exams opens closes arrives moving driving see seeing",
    r"\b(?:will|'ll|’ll|going to|meeting|appointment|deadline|due|flight|launch(?:es|ing)?|starts|race|trip|visits?"
    r"|interview|wedding|birthday|conference|is (?:on|at)|coming|fly(?:ing)?|flies|leav(?:es|ing|e)|booked|party"
    r"|concert|exams?|opens|closes|arrives|moving|driving|see(?:ing)?)\b",
    re.IGNORECASE,
)
HABIT = Pattern(
    "every each always usually normally often never weekly daily mondays tuesdays wednesdays thursdays fridays "
    "saturdays sundays",
    r"\b(?:every|each|always|usually|normally|often|weekly|daily|(?:mon|tues|wednes|thurs|fri|satur|sun)days)\b",
    re.IGNORECASE,
)
_ORDERS = "run|press|hold|turn|open|add|set|mix|connect|type|use|take"
_MORE_ORDERS = (
    "click|select|switch|unplug|plug|remove|insert|push|pull|go|log|restart|close|heat|cut|boil|fill|drain|check|put"
    "|wait|let|pour|wash|call|write|make"
)
PROCEDURE = Pattern(
    "how step steps first checklist procedure instructions runbook",
    r"(?:^|[.:!\n] ?)(?:note to self: ?|recipe: ?|this is |here['’]s )?how (?:to|you|we) \w|\bstep \d"
    r"|\bsteps?\b[^.?!]{0,40}:"
    rf"|\bfirst,? (?:you |we )?(?:{_ORDERS}|{_MORE_ORDERS})\b[^?]{{3,120}}\bthen\b"
    r"|\b(?:checklist|procedure|instructions|runbook)(?: (?:for|to|is|are|says)\b|:)",
    re.IGNORECASE | re.DOTALL,
)
TO_DO = late_pattern(
    rf"(?:to|when you) \w+ .{{3,80}}, (?:\w+ly )?(?:{_ORDERS})\b|to (?!do\b)\w+ [^.!?:\n]{{3,80}}: ?(?:\w+ly |first "
    rf"|just )?(?:{_ORDERS}|{_MORE_ORDERS})\b",
    re.IGNORECASE | re.DOTALL,
)
_ROLES = "|".join(
    sorted((*ROLE_OF, "wife", "husband", "partner", "friend", "boss", "manager", "colleague", "cat", "dog"))
)
ENTITY = Pattern(
    "is was",
    r"^(?!(?:It|This|That|There|Here|He|She|What|Where|Who|Today|Tomorrow|Everything|Life"
    r"|Work) )(?:[A-Z][\w’'.]+ ){1,3}(?:is|was) (?:a|an|the|my|our|his|her|their)\b(?! (?:same|best|worst|only|first"
    r"|last|next|bit|lot|mess|joke|nightmare|disaster)\b)"
    rf"|\bis (?:my|our|(?:the user|[A-Z]\w+)['’]s) (?:\w+ ){{0,2}}(?:{_ROLES})\b",
)
PERSONAL = Pattern(
    "my name call i old born allergic allergy we user",
    r"\b(?:my name|call me|i(?:'m|’m| am) (?:\d+|a|an|from|allergic|married|single|vegetarian|vegan)|years old"
    r"|i was born|the user (?:is|lives|works|was born)|user['’]s|my birthday|i live|i moved|we moved|i work|my job"
    r"|allerg(?:ic|y)|my (?:wife|husband|partner|fianc\w+|sister|brother|mother|father|mum|mom|dad|son|daughter|kids?"
    r"|children|niece|nephew|cat|dog|boss|manager|doctor|dentist|address|phone|number|e-?mail|badge|passport|id"
    r"|blood type|height|weight|resting heart rate))\b",
    re.IGNORECASE,
)
SPOKE_TO = Pattern(
    "told asked promised called emailed", r"^(?:So |And )?I (?:told|asked|promised|called|emailed) [A-Z]"
)


MAX_SENTENCE = 600
"""Characters of a sentence that are read: an instruction stands near its beginning."""
_MAX_GAP = 200
"""Characters between an order and the words that say when it holds."""

_TRIGGERS = frozenset(
    "always never ever future forward henceforth default otherwise unless whenever time times now today point here "
    "when if make sure remember forget try keep call address refer spell don not stop quit avoid skip drop omit leave "
    "no want need like love prefer expect appreciate ask require should must ought shouldn mustn cannot can have use "
    "for in only you user".split()
)

_SIGNS_INSIDE = (
    *("please", "kindly", "make sure", "from now", "going forward", "in future", "call me", "could you", "can you"),
    *("always", "never", "keep your", "don't", "avoid"),
    *("want", "need", "like", "love", "prefer", "expect", "appreciate", "ask", "require"),
)
"""An instruction that does not begin a sentence begins with one of these."""

_ABOUT_USER = late_pattern(r"\W*(?:the )?user\b", re.IGNORECASE)
"""Somebody else writes about the user: "The user wants short answers"."""


@text_cache(256)
def is_standing(sentence: str) -> bool:
    """True if a sentence tells an assistant what to do from now on."""
    if _TRIGGERS.isdisjoint(words_of(sentence)):
        return False
    text = lower_case(sentence[:MAX_SENTENCE])
    opening = _phrase("opening").match(text)
    starts = [opening.end()] if opening else []
    if any(sign in text for sign in _SIGNS_INSIDE):
        starts += [match.end() for match in _phrase("inside").finditer(text)]
    return any(_instructs(text, start) for start in starts)


def _instructs(text: str, start: int) -> bool:
    """True if an instruction begins at a place of a lower-case text."""
    if _phrase("instruction").match(text, start):
        return True
    for lead, rest in (("before style", "style"), ("before verb", "verb"), ("before verb", "named")):
        match = _phrase(lead).match(text, start)
        if match and _phrase(rest).match(text, match.end()):
            return True
    for lead, rest in (("order", "every time"), ("case", "then"), ("topic case", "then at once")):
        match = _phrase(lead).match(text, start)
        if match and _phrase(rest).search(text, match.end(), match.end() + _MAX_GAP):
            return True
    return False


def statement_in(sentence: str) -> str:
    """The statement in a sentence: "I prefer Android, can you name some?" has one, "Did I say I prefer tea?" none."""
    if not sentence.endswith("?"):
        return sentence
    sentence = sentence[:MAX_SENTENCE]
    text = lower_case(sentence)
    question = _phrase("question").search(text)
    if question is None or _phrase("supposed").match(text):
        return ""
    if text[: question.start()].strip():
        return sentence[: question.start()]
    reason = _phrase("reason").search(text) if _phrase("advice").match(text) else None
    return sentence[reason.end() :] if reason else ""


@cache
def _phrase(name: str) -> re.Pattern[str]:
    return phrase("fivefold.writing.extract", "data/standing.txt", name)


_BETWEEN_SENTENCES = late_pattern(r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)\s+|\n+")
_MAX_FACET = 600
_BEGINNING_CHARACTERS = 300
"""Characters of a text in which somebody may have done something; what comes after is its detail."""
_MIN_STATEMENT_WORDS = 3
"""Words of the shortest sentence that can be a text's main statement; a greeting has fewer."""


def type_of(text: str, by_user: str | None = None) -> Type:
    """Fact unless the wording says otherwise. Instructions count in `by_user`, the user's part, or everywhere."""
    if PROCEDURE.occurs(text) or TO_DO.match(text):
        return "procedure"
    if SPOKE_TO.occurs(text):
        return "event"
    if _likes(text) or _is_instruction(text, by_user):
        return "preference"
    if _happens(text):
        return "event"
    if ENTITY.occurs(text):
        return "entity"
    start = text[:_BEGINNING_CHARACTERS]
    past = any(word.endswith("ed") or word in IRREGULAR for word in words_of(start))  # a quick look, right for many
    happened = past and STATE_FIRST.match(text) is None and HAPPENED.search(start) is not None
    return "event" if happened else "fact"


def facets_of(text: str, by_user: str | None = None) -> dict[Facet, str]:
    """The sentences of each facet that has any. Instructions count in `by_user`, as in `type_of`."""
    sentences = _sentences(text)
    stated = [sentence for sentence in sentences if not sentence.endswith("?")]
    told = _instructions(text, by_user)
    likes = _likes(text)
    facets: dict[Facet, list[str]] = {
        "personal_info": list(filter(PERSONAL.occurs, stated)) if PERSONAL.occurs(text) else [],
        "preferences": [one for one in sentences if one in told or (likes and _likes(statement_in(one)))],
        "events": list(filter(_happens, stated)) if _happens(text) else [],
    }
    return {facet: " ".join(found)[:_MAX_FACET] for facet, found in facets.items() if found}


@text_cache(256)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(_BETWEEN_SENTENCES.split(text))


@lru_cache(maxsize=1)
def _instructions(text: str, by_user: str | None) -> frozenset[str]:
    """The sentences that tell the assistant what to do: the user's own, and what others note about the user."""
    own = None if by_user is None else set(_sentences(by_user))
    return frozenset(
        sentence
        for sentence in _sentences(text)
        if (own is None or sentence in own or _ABOUT_USER.match(sentence)) and is_standing(sentence)
    )


empty_on_forget(_instructions.cache_clear)


def _is_instruction(text: str, by_user: str | None) -> bool:
    """True if the main statement of a text is an instruction to the assistant: its first one, or half of the text."""
    told = _instructions(text, by_user)
    if not told:
        return False
    statements = [sentence for sentence in _sentences(text) if len(sentence.split()) >= _MIN_STATEMENT_WORDS]
    length = sum(len(sentence) for sentence in statements if sentence in told)
    return (bool(statements) and statements[0] in told) or 2 * length >= sum(map(len, statements))


@text_cache(256)
def _likes(text: str) -> bool:
    """Tastes, what is not eaten or borne, and what may be spent: a suggestion has to know them."""
    return PREFERENCE.occurs(text) or DIET.occurs(text) or BUDGET.occurs(text)


@text_cache(256)
def _happens(text: str) -> bool:
    """Births and deaths, what was done, and what is planned for a day."""
    if LIFE.occurs(text) or DONE.occurs(text):
        return True
    planned = PLANNED.occurs(text)
    if DAY.occurs(text) and (planned or not HABIT.occurs(text)):
        return True
    return planned and PERIOD.occurs(text)


def extractor(choice: str) -> Extractor:
    """`rules` (offline, the default), `openai:MODEL` (any compatible endpoint), or one that a package registers."""
    if not isinstance(choice, str):
        raise InvalidInput(f"an extractor is named by text, not by {choice!r}")
    if choice == "rules":
        return Rules()
    family, _, model = choice.partition(":")
    if family == "openai" and model:
        return ModelExtractor(model)
    plugin: Extractor = plugin_by_choice("extractors", choice, {"rules": "rules", "openai": "openai:MODEL"}, Extractor)
    return plugin


_FIRST_PERSON = Pattern("i \u0131 my me we our", r"\b(?:i|my|me|we|our)\b", re.IGNORECASE)
_PHATIC = late_pattern(
    r"^(?:ok(?:ay)?|thanks?(?: you)?|cheers|great|cool|nice|sure|yes|yeah|no|nope|hi|hey|hello|bye|lol|haha|wow|got it"
    r"|sounds good|good (?:morning|night|luck)|that helps|perfect)\b",
    re.IGNORECASE,
)
_BY_TYPE: dict[Type, float] = {"fact": 0.05, "preference": 0.2, "event": 0.1, "entity": 0.15, "procedure": 0.15}


def importance(text: str, kind: Type, mentions: tuple[Mention, ...], states: bool) -> float:
    """Preferences, statements about people and figures matter; small talk and questions do not."""
    words = len(text.split())
    names = sum(1 for mention in mentions if mention.kind != "topic")
    score = 0.3 + _BY_TYPE[kind] + min(0.2, 0.07 * names)
    score += 0.1 * ("#" in words_of(text)) + 0.15 * states + 0.05 * _FIRST_PERSON.occurs(text)
    score -= 0.15 * text.rstrip().endswith("?") + 0.2 * (words < 5) + 0.15 * (words < 12 and bool(_PHATIC.match(text)))
    return round(min(1.0, max(0.05, score)), 3)


def memory_score(text: str, mentions: tuple[Mention, ...]) -> float:
    """The stored quality of M4: long enough to stand alone, short enough to be about one thing, specific."""
    words = len(text.split())
    length = min(1.0, words / 12) if words <= 60 else max(0.4, 60 / words)
    specific = min(1.0, 0.25 * len(mentions) + 0.25 * ("#" in words_of(text)))
    statement = 0.0 if text.rstrip().endswith("?") else 1.0
    return round(0.4 * length + 0.4 * specific + 0.2 * statement, 3)


class Rules:
    """Reads entities, type, statements, dates, facets and importance out of a record, offline."""

    name = "rules"

    def extract(self, record: Record) -> Extraction:
        text = beginning(record.content)
        mentioned = mentions(text, record.speaker)
        facts, related = statements(text, record.speaker), relations(text, record.speaker)
        by_user = "" if is_assistant(record.speaker) else None  # what the user says, if anybody else speaks as well
        if record.assistant_text:
            by_user = beginning(record.user_text or "")
        zone = UTC if record.utc_offset is None else timezone(record.utc_offset)
        kind = record.type or type_of(text, by_user)
        return Extraction(
            type=kind,
            predicate=record.predicate or predicate_of(facts),
            importance=importance(text, kind, mentioned, bool(facts)),
            memory_score=memory_score(text, mentioned),
            mentions=with_kinds(text, mentioned, related),
            statements=facts,
            relations=related,
            dates=dates_in(text, record.event_at or utc_now(), zone),
            facets=facets_of(text, by_user),
            refers_back=refers_back(text),
        )


_NAMED_ANOTHER = late_pattern(
    rf"(?:\b[A-Z][\w’'-]+|\b(?:my|our|his|her|their|['’]s) (?:[a-z-]+ )?(?:{'|'.join(sorted(RELATIVES))})),? $"
)
"""A first name or a relation before a name, by which it is somebody else's."""
_SELF = late_pattern(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b")


def own_names_in(relations_found: Iterable[Relation]) -> Iterator[str]:
    """The names that a text surely gives the user."""
    for item in relations_found:
        if item.relation == IS_CALLED and item.confidence >= SURE_NAME:
            yield item.target


def read_about_user(record: Record, found: Extraction, names: Collection[str]) -> Extraction:
    """The statements of others about the user by name, as if the user had said them: "Marit lives here" states where
    the user lives.

    A namesake has another name or a relation beside it, and a text with an "I" of its own is left as it is.
    """
    text = beginning(record.content)
    if not names or not (is_assistant(record.speaker) or record.speaker is None) or _SELF.search(text):
        return found
    own = "|".join(
        sorted({re.escape(part) for name in names for part in (name, name.split()[0])}, key=len, reverse=True)
    )
    spans = [match.span() for match in re.finditer(rf"(?<![\w’'-])(?:{own})(?!-?\w)(?! [A-Z])", text)]
    spans = [(start, end) for start, end in spans if not _NAMED_ANOTHER.search(text[:start])]
    if not spans:
        return found
    told = told_by_user(text, spans)
    facts = statements(told, "user")
    again = [item for item in relations(told, "user") if item.relation != IS_CALLED]
    kept = [item for item in found.relations if item.relation == IS_CALLED]
    return replace(
        found, statements=facts, relations=(*kept, *again), predicate=record.predicate or predicate_of(facts)
    )


def beginning(content: str) -> str:
    """The part of a long text that is read, to the end of a word: names of a whole book would be linked to each
    other."""
    if len(content) <= MAX_EXTRACTED:
        return content
    end = content.rfind(" ", MAX_EXTRACTED - MAX_NAME, MAX_EXTRACTED)
    return content[: end if end > 0 else MAX_EXTRACTED]


_log = logging.getLogger("fivefold")

_TASK = (
    "You read one line of a conversation for a memory store. Answer with one JSON object and nothing else: "
    '{"type": one of fact|preference|event|entity|procedure, '
    '"predicate": the statement as a phrase of at most 10 words or null, '
    '"entities": [names of people, places, organisations, projects and codes that occur in it], '
    '"importance": 0..1, how likely it is to be asked for later, '
    '"facets": {"personal_info": text or null, "preferences": text or null, "events": text or null}}'
)


class ModelExtractor:
    """Any chat endpoint of the OpenAI shape; the rules fill in dates and statements, and everything on failure."""

    def __init__(self, model: str) -> None:
        self.name: str = f"openai:{model}"
        self._model = model
        self._rules = Rules()

    def extract(self, record: Record) -> Extraction:
        ruled = self._rules.extract(record)
        try:
            return replace(ruled, **self._ask(record, ruled), source=self.name)
        except (RemoteError, MissingExtra, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            _log.warning("%s could not read a record, so the rules did: %s", self.name, error)
            return replace(ruled, source=f"rules, because {self.name} failed")

    def _ask(self, record: Record, ruled: Extraction) -> dict[str, Any]:
        text = beginning(record.content)
        message = f"{record.speaker}: {text}" if record.speaker else text
        answer = post(
            "/chat/completions",
            {
                "model": self._model,
                "temperature": 0,
                "response_format": {"type": "json_object"},
                "messages": [{"role": "system", "content": _TASK}, {"role": "user", "content": message}],
            },
        )
        data = json.loads(answer["choices"][0]["message"]["content"])
        kind = record.type or (data["type"] if data["type"] in TYPES else ruled.type)
        entities = data.get("entities") or ()
        names = [checked_text(name, "entity") for name in ((entities,) if isinstance(entities, str) else entities)]
        names = list({name.casefold(): name for name in reversed(names)}.values())[::-1]
        predicate = checked_text(data.get("predicate") or "", "predicate", empty=True)
        known = {mention.name.casefold(): mention for mention in ruled.mentions}
        facets = data.get("facets") or {}
        return {
            "type": kind,
            "predicate": record.predicate or predicate or ruled.predicate,
            "importance": min(1.0, max(0.0, float(data.get("importance", ruled.importance)))),
            "mentions": tuple(known.get(name.casefold(), Mention(name, "name")) for name in dict.fromkeys(names))
            or ruled.mentions,
            "facets": {facet: checked_text(facets[facet], facet) for facet in FACETS if facets.get(facet)},
        }
