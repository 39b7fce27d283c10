"""Relations between entities that a text states, by rules: 'Tom is Sarah's boss' means 'Sarah reports to Tom' (R6)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from fivefold.text.lexemes import (
    Pattern,
    common_words,
    flags_in,
    given_names,
    late_pattern,
    ordinary_words,
    phrase_lines,
    stop_words,
    words_of,
)
from fivefold.text.names import (
    GENERAL,
    IS_CALLED,
    KIN_ROLES,
    KNOWN_AS,
    MUTUAL,
    OF_RELATIVES,
    OTHER_ROLES,
    mentions,
    relation_of,
)
from fivefold.values.entities import EdgeKind, Relation
from fivefold.values.memory import ROLES
from fivefold.values.validate import MAX_READ


class Sense(NamedTuple):
    """The meaning of a verb or noun. Turned: its object is the source. Lasting: its past tense does not mean ended."""

    relation: str
    form: str = "is"
    turned: bool = False
    over: bool = False
    lasting: bool = False


_TABLES = phrase_lines("fivefold.writing.extract", "data/relations.txt")


def _senses(column: int) -> Iterator[tuple[str, Sense]]:
    for row in _TABLES["relations"]:
        relation, *cells = (cell.strip() for cell in row.split("|"))
        lasts = relation in ("founded", "replaces", "parent of", "child of", "sibling of")
        for signs, verb, rest in re.findall(r"([<+=-]*)([^ ,]+)((?: [^ ,]+)*)", cells[column]):
            for form, word in _forms(verb, signs + "=" * column):
                yield word + rest, Sense(relation, form, "<" in signs, "-" in signs, lasts or "+" in signs)


def _forms(verb: str, signs: str) -> list[tuple[str, str]]:
    if "=" in signs or "+" in signs:
        return [("is" if "=" in signs else "past", verb)]
    base, _, past = verb.partition(":")
    words = (base, f"{base}s", past or f"{base.removesuffix('e')}ed", f"{base.removesuffix('e')}ing")
    return [(form, word) for form, word in zip(("base", "third", "past", "ing"), words, strict=True) if word != "-"]


def triggers_of(phrases: dict[str, Sense]) -> str:
    """The longest word of each phrase, singular and plural: a text without any of these has none of the phrases."""
    return " ".join(
        f"{word} {word}s" for word in (max(re.findall(r"[^\W\d_]+", s.casefold()), key=len) for s in phrases)
    )


VERBS, NOUNS = (dict(sorted(_senses(column), key=lambda sense: -len(sense[0]))) for column in (0, 1))
NOUNS |= {
    word: Sense(relation_of(role), turned=True, lasting=word in KIN_ROLES)
    for word, role in (KIN_ROLES | OTHER_ROLES).items()
    if word not in NOUNS
}
NOUNS = dict(sorted(NOUNS.items(), key=lambda noun: -len(noun[0])))
KIND_OF = {word: relation_of(role) for word, role in KIN_ROLES.items() if GENERAL.get(role) not in (None, role)}
"""The kind that a word of kinship states besides its relation: a sister is a sibling, and the sister."""
PASSING = frozenset(relation_of(role) for role in OTHER_ROLES.values())
"""Roles that end: an old flatmate is one no more."""


_WHOLE = frozenset({"works on", "owns", "founded", "leads", "part of", "member of", "replaces"})
_STRICT = frozenset({"reports to", "works at", "partner of"})
_PAIR = {f"{noun}s": sense for noun, sense in NOUNS.items() if sense.relation in MUTUAL}
_PAIR |= {phrase.split()[0]: VERBS[phrase] for phrase in ("married to", "engaged to", "divorced from")}
_ROLE, _HEAD, _FIELD = ("|".join(" ".join(_TABLES[name]).split()) for name in ("roles", "groups", "fields"))
_UP = "A-Z" + "".join(sign for sign in map(chr, range(0xC0, 0x530)) if sign.isupper())
_CAP = rf"(?!I\b)(?>[{_UP}]\w*(?:-\w+|['’](?!(?:s|m|d|re|ve|ll)\b)\w+)*)"
_DOT = rf"(?:(?:(?<=\b[{_UP}])|(?<=\b[DM][rs])|(?<=\bMrs)|(?<=\bProf))\.)?"
_NAME = rf"{_CAP}(?:{_DOT}(?: (?:of|de|da|di|van|von|der|den|la|le|del|&)){{0,2}} {_CAP}){{0,4}}"
_WHO = rf"(?:{_NAME}|[Tt]he user|[Ii]|[Ww]e|[Yy]ou|[Ss]?[Hh]e|and|but)(?![\w-])"
_AUX = (
    r"(?P<aux>(?:['’](?:m|s|re|ve))?(?: (?:am|is|are|was|were|has|have|been|be|got|now|also|already|still|just|actually"
    r"|recently|finally|currently|officially|both|no longer|used to|stopped|not|(?:do|does|is|are)n['’]t)(?= )){0,4})"
)
_APPOSITION = rf"(?P<beside>,? who|, (?:aged )?\d+,|, (?:my|our|the|an?|{_NAME}['’]s?) [^,.;:!?\n]{{1,40}},|,)?"
_THING = rf"(?:(?:{_NAME}|(?:{_FIELD})\b)(?: (?:{_HEAD})\b)?|(?:me|us|mine|ours)\b)(?!['’]|[-.]?\w| [{_UP}]\w)"
_FORMER = r"(?:(?P<former>former|previous|late|old|ex)[ -])?"
_END_OF_NOUN = r"(?![\w’'-])"
_RELATED_NOUN = rf"{_FORMER}(?P<mods>(?:[a-z][a-z-]* ){{0,2}}?)(?P<said>{'|'.join(NOUNS)})(?P<many>s)?{_END_OF_NOUN}"
_OWNER = rf"(?P<a>[Mm]y|[Oo]ur|[Yy]our|[Hh]is|[Hh]er|(?:{_NAME}|[Tt]he user)(?=['’]))(?:['’]s?)? {_RELATED_NOUN}"
_APART = rf"(?=\s*(?:[.;:!)—–]|$)|, (?!and\b|or\b|[{_UP}]))"
_STATED = (
    rf"(?:(?P<too>{_NAME}|I) and )?(?P<a>{_WHO}(?: (?:{_HEAD})\b)?){_APPOSITION}{_AUX} (?:(?:an?|the) )?{_FORMER}"
    rf"(?P<said>{'|'.join(VERBS)}|(?:moved|relocated) from (?:the )?(?P<off>{_NAME}) to|(?:work(?:s|ed|ing)? as )?"
    rf"(?:(?:an?|the|my|our) )?(?:[a-z][a-z-]* ){{0,3}}(?:{_ROLE}) (?:at|for)) (?P<the>the )?(?P<b>{_THING})"
)
_BOTH = rf"(?P<a>{_WHO}) and (?P<b>{_NAME}|I){_AUX} (?P<said>{'|'.join(_PAIR)})(?! to\b|[\w-])"
_OWN = rf"(?P<b>{_NAME})(?P<aux> is) (?P<a>mine|ours|{_NAME}(?=['’]))(?P<said>|['’]s)(?=[.,;!]|$)"
_OWNED_FORMS = (
    rf"{_OWNER}(?:,? (?:call|nam)ed|(?P<link>(?: (?:from|since|as of) \w+)? is(?: called| now)?| are| was))?"
    rf" (?P<b>{_NAME})(?!-?\w)"
    rf"(?:(?:, (?P<mid>{_NAME}))? and (?P<more>{_NAME}))?",
    rf"{_OWNER.removesuffix(_END_OF_NOUN)}['’]s? name is (?P<b>{_NAME})(?!-?\w)",
    rf"(?P<b>{_WHO}){_AUX} (?:one of )?{_OWNER}",
    rf"(?P<b>{_NAME}), {_OWNER}(?: (?:since|from|at|in) [^,.;:!?\n]{{1,30}})?{_APART}",
    rf"(?P<b>{_NAME}) \({_OWNER}[,)]",
    rf"{_OWNER}, (?P<b>{_NAME})(?: and (?P<more>{_NAME}))?{_APART}",
    rf"{_OWNER} \((?P<b>{_NAME})\)",
    rf"(?P<a>{_WHO})(?:['’]ve| have| has)(?: got)? an? {_RELATED_NOUN},? (?:called|named) (?P<b>{_NAME})",
)
_CALLERS = r"(?:everybody|everyone|people|friends|(?:we|they)(?: all)?|the kids)"
_NICKNAMES = (
    rf"(?P<a>{_NAME})(?:,? [^.!?\n]{{0,60}}?)?,? (?:but |and |whom )?{_CALLERS} (?:just )?calls?"
    rf" (?:him |her |them )?(?P<b>{_NAME})(?=[.,;!)]|$| and | but )",
    rf"(?P<a>{_NAME})(?:, [^.!?\n]{{1,60}}?,)?,? \(?(?:who )?(?:goes by|(?:is )?(?:better |also )?known as|aka"
    rf"|nicknamed) (?P<b>{_NAME})",
    rf"(?P<a>{_NAME})[^.!?,\n]{{0,40}}, (?:or )?(?P<b>{_NAME}) (?:for short|to (?:his|her|their) (?:friends|family)"
    rf"|as {_CALLERS} (?:all )?calls? (?:him|her|them))",
    rf"(?P<b>{_NAME}) is (?:short for|what {_CALLERS} calls?) (?:(?:my|our) [a-z-]+ )?(?P<a>{_NAME})",
    rf"(?P<a>{_NAME})['’]s? nickname is (?P<b>{_NAME})",
)
_FURTHER = {
    name.replace("'", sign): Sense(relation_of(role), turned=True, lasting=True)
    for name, role in OF_RELATIVES.items()
    for sign in "'’"
}
_OF_RELATIVE = (
    r"(?P<a>[Mm]y (?:(?:older|younger|elder|little|big) )?|[Oo]ur |(?=(?:Mum|Mom|Dad)['’]))"
    rf"(?P<said>(?i:{'|'.join(_FURTHER)})),? (?P<b>{_NAME})"
)
_RULES = tuple(
    (Pattern(triggers, rf"\b(?=[{_UP}abhimostwy])(?<![\w’'-]){pattern}"), senses)
    for triggers, senses, patterns in (
        (f"{triggers_of(VERBS)} {_ROLE.casefold().replace('|', ' ')}", VERBS, (_STATED,)),
        (triggers_of(NOUNS), NOUNS, _OWNED_FORMS),
        (triggers_of(_PAIR), _PAIR, (_BOTH,)),
        (
            "calls call goes known aka nicknamed nickname short friends family",
            {"": Sense(KNOWN_AS)},
            tuple(rf"{pattern}(?P<said>)(?!-?\w)" for pattern in _NICKNAMES),
        ),
        (" ".join(name.rpartition(" ")[2] for name in _FURTHER), _FURTHER, (_OF_RELATIVE,)),
        ("s mine ours", dict.fromkeys(("", "'s", "’s"), Sense("owns")), (_OWN,)),
    )
    for pattern in patterns
)
_GREETING = r"(?:[Hh]i|[Hh]ello|[Hh]ey|[Gg]ood (?:morning|afternoon|evening|day)|[Mm]orning|[Ee]vening)"
_CALLED = Pattern(
    "m am name call called calls here speaking again writing is ich je me mi",
    rf"(?:\b[Mm]y|(?P<whose>\b(?:[Tt]he )?[Uu]ser['’]s|\b[Yy]our)) (?:full |first )?name(?: is|['’]s) (?P<name>{_NAME})"
    r"(?!['’])"
    rf"|\b[Tt]he user is (?P<noted>{_NAME})(?=, |[.(]| \()"
    rf"|(?:^|[.!?]\s+|\n)(?:{_GREETING}[,!.]? )?(?:[Ss]o,? )?(?:I['’]m|I am|[Cc]all me) (?P<self>{_NAME})"
    r"(?=, (?:\d|an? |from )|[.!]|$)"
    rf"|\b(?:I['’]m|I am|here I am,) (?P<intro>{_NAME})(?=, | and | here| by the way| btw|[;:)])"
    rf"|\b[Cc]alls? me (?P<nick>{_NAME})(?=[,.;:!)]| and |$)|\b(?:I go by|I am called|I['’]m called) (?P<goes>{_NAME})"
    rf"|\b(?:[Tt]his is|[Ii]t['’]s|[Ii]t is) (?P<speaks>{_NAME}),? (?:speaking|here|again|writing)\b"
    rf"|(?:^|[.!] )(?:{_GREETING}[,!.]? )?(?P<here>{_NAME}) (?:here|speaking)(?=[,.!:]|$)"
    rf"|\b(?:[Ii]ch heiße|[Jj]e m['’]appelle|[Mm]e llamo|[Mm]i chiamo|[Mm]e chamo) (?P<foreign>{_NAME})",
)
_CALLED_BY = frozenset(
    "name user m am call calls called go here speaking again writing ich appelle llamo chiamo chamo".split()
)
"""Each alternative of `_CALLED` has one of these words; its triggers are in most texts."""
_SIGNED = late_pattern(
    r"(?:\n\s*[-–—~]?\s*|\b(?i:thanks|thank you|many thanks|cheers|(?:all the )?best(?: wishes| regards)?|regards|love"
    r"|yours(?: sincerely| truly)?|sincerely|take care)[,!.]?\s+[-–—]?\s*|[.!?]\s+[-–—]\s?)"
    rf"(?P<signed>{_CAP}(?: {_CAP})?)\s*[.!]?\s*\Z"
)
_GREETED = late_pattern(
    rf"\s*(?:{_GREETING}(?: again)?|Welcome(?: back)?|(?:Nice|Good|Lovely|Great|Pleased) to meet you|Thanks|Thank you"
    r"|Sure|Of course|Got it|Noted|Done|Congratulations|Well done|I['’]m sorry)[,!]? "
    rf"(?P<greeted>{_CAP}(?: {_CAP})?)[,.!:]"
)
"""An assistant's greeting of the user; one greeting is weak evidence, since a draft of a letter may begin like that."""
_ASSISTANTS = frozenset("claude chatgpt gpt alexa siri gemini copilot bard grok jarvis cortana".split())
_MAX_SIGNATURE = 120
_UNSURE_NAME = 0.5
"""Confidence of a name that only a greeting or a signature gives; a second one makes it sure."""
_STOP = late_pattern(r"(?:[!?…]|(?<!\bMrs)(?<!\b[MD][rs])(?<!\bProf)(?<!\b[A-Z])\.)[\"”’')\]]*(?=\s|$)|\n+")
_QUOTED = late_pattern(r"\"[^\"\n]*\"|“[^“”\n]*”")
_BE = late_pattern(r"['’](?:m|s|re)\b|\b(?:am|is|are|was|were|been|be|got)\b")
_NO_MORE = late_pattern(r"used to|no longer|stopped|\bnot\b|n['’]t\b")
_ANY_MORE = late_pattern(r"[^.;!?\n]{0,60}\bany ?(?:more|longer)\b")
_ASKING = late_pattern(
    r"\s*(?:do|does|did|is|are|was|were|has|can|could|would|should|wh(?:o|at|ere|ich|y)|how)\b", re.I
)
_SUPPOSED = late_pattern(
    r"(?i)\b(?:if|whether|unless|when|once|until|wish\w*|hop(?:e|es|ing)|imagin\w*|suppos\w*|pretend\w*|would|could|might"
    r"|should|maybe|perhaps|probably|possibly|dream\w*|doubt\w*)\b|\b(?:not|never|neither|nor|nobody|\w+n['’]t)\b[^,]*$"
)
_AFTER = late_pattern(r"\b(?:of|with|for|from|by|at|to|than|about|near|between|or|nor|in|on) (?:the )?$", re.I)
_ADJECTIVE = late_pattern(r"\w+(?:ish|ese)|American|Italian|Indian|Russian|German|French|Dutch|Greek|Swiss|.* Street")
_COMPANY = late_pattern(r"(?:Components|Instruments|Inc|Ltd|GmbH|AG|Corp|Group|Labs?|Systems|Bank|group|team)$")
_NEXT = late_pattern(r" [a-z][\w-]*|['’]")
_ASIDE = late_pattern(r"(?i)(?:\w+days?|\w+(?:uary|ember|ober)|march|april|may|june|july|august|easter|\w{3,}ally)\b")
_ME, _THEM = frozenset("i we me us my our mine ours".split()), frozenset("he she his her".split())
_LATER, _PLAIN = (frozenset(" ".join(_TABLES[name]).split()) for name in ("behind an object", "plain"))
_VAIN = frozenset("future favourite favorite".split())


def relations(text: str, speaker: str | None) -> tuple[Relation, ...]:
    """Every relation `text` states, once, the first of very many; an assistant's 'I' states nothing (R6)."""
    flags = flags_in(text)
    tried = ((pattern.bare, senses) for pattern, senses in _RULES if flags & pattern.flag)
    matches = [(match, senses) for pattern, senses in tried for match in pattern.finditer(text)]
    role = (speaker or "user").casefold()
    names = list(_own_names(text, role))
    if not (matches or names):
        return ()
    reading = _Reading(text, "user" if role in ("user", "human") else "" if role in ROLES else speaker or "")
    unique: dict[tuple[str, ...], Relation] = {}
    stated = (relation for match, senses in matches for relation in reading.read(match, senses))
    called = (Relation("user", IS_CALLED, name, confidence=sure) for name, sure in names)
    for relation in chain(called, stated):
        if len(unique) == MAX_READ:
            break
        ends = [relation.source.casefold(), relation.target.casefold()]
        if min(map(len, ends)) > 1 and ends[0] != ends[1]:
            unique.setdefault((relation.relation, *(sorted(ends) if relation.relation in MUTUAL else ends)), relation)
    return tuple(unique.values())


def _own_names(text: str, role: str) -> Iterator[tuple[str, float]]:
    """The names that a text gives the user, each with its confidence."""
    by_user = role in ("user", "human")
    if not by_user and role not in ROLES:
        return
    quotes = [quote.span() for quote in _QUOTED.finditer(text)]
    for match in () if _CALLED_BY.isdisjoint(words_of(text)) else _CALLED.finditer(text):
        if any(start < match.start() < end for start, end in quotes):
            continue
        form = match.lastgroup or "name"
        name = match[form]
        strict = form in ("intro", "here", "noted") and " " not in name
        if (
            (by_user or match["whose"] or form == "noted")
            and not _ADJECTIVE.fullmatch(name)
            and _is_given(name, also=not strict)
        ):
            yield name, 0.9
    found = _SIGNED.search(text.rstrip()[-_MAX_SIGNATURE:]) if by_user else _GREETED.match(text[:_MAX_SIGNATURE])
    if found and _is_given(name := found["signed" if by_user else "greeted"], also=not by_user):
        yield name, _UNSURE_NAME


def _is_given(name: str, also: bool = False) -> bool:
    """True if a name begins with a given name that is known or, with `also`, with a word known as nothing else."""
    first = name.split(" ", 1)[0].casefold()
    if name.isupper() or first in _ASSISTANTS or first in stop_words() or first in common_words():
        return False
    return first in given_names() or (also and first not in ordinary_words() and not _ASIDE.fullmatch(first))


class _Reading:
    """The reading of one text: which person a name or pronoun means, and whether a sentence states a fact."""

    def __init__(self, text: str, owner: str) -> None:
        self.text, self.owner = text, owner
        self.subject: tuple[int, tuple[str, float]] = (0, ("", 0.0))
        self.stops = [stop.end() for stop in _STOP.finditer(text)]
        self.quotes = [edge for quote in _QUOTED.finditer(text) for edge in quote.span()]

    def sentence(self, at: int) -> tuple[int, int]:
        i = bisect_right(self.stops, at)
        return self.stops[i - 1] if i else 0, self.stops[i] if i < len(self.stops) else len(self.text)

    def read(self, match: re.Match[str], senses: dict[str, Sense]) -> Iterator[Relation]:
        """The relations that one match states, in the active direction."""
        behind = _NEXT.match(self.text, match.end())
        groups = match.groupdict("") | {"next": behind[0].strip() if behind else ""}
        said = re.sub(r" (?:from|as) .*(?= (?:to|at|for)$)", "", groups["said"])
        sense = senses.get(said, senses.get(said.casefold(), Sense("works at")))
        if not _agrees(groups, sense) or not _stands_alone(groups, sense) or not self.states(match, groups, sense):
            return
        (relation, turned), ended = _relation_of(groups, sense), _has_ended(groups, sense)
        over = ended or sense.over or groups["next"] in ("until", "till")
        trust = 0.6 if groups["said"] == "in" else 0.8 if relation == "located in" else 0.9
        single = sense.form == "third" or re.search(r"\b(?:is|was|has)\b", groups.get("aux", ""))
        pairs = [("too", "b")] if groups.get("too") and not single else []
        several = groups.get("many") or groups["said"] == "children"
        pairs += [("a", end) for end in ("b", "mid", "more") if end == "b" or (several and groups.get(end))]
        for pair in pairs:
            people = [self.who(groups[end], match.start(end)) for end in pair]
            (source, one), (target, two) = reversed(people) if turned else people
            kind: EdgeKind = "lifecycle" if over else "structural"
            yield Relation(source, relation, target, kind, ended, min(trust, one, two))
            parted = ended and relation in ("married to", "partner of") and groups.get("former") != "late"
            for role in (KIND_OF.get(groups["said"]), "ex-partner of" if parted else None):
                if role is not None:  # the sister among the siblings, the ex-partner after a marriage
                    yield Relation(people[1][0], role, people[0][0], confidence=min(trust, one, two))
            self.subject = (match.end(), people[0]) if "the" in groups else self.subject
        if groups.get("off"):
            yield Relation(source, relation, self.name(groups["off"], match.start("off")), "lifecycle", True, trust)

    def states(self, match: re.Match[str], groups: dict[str, str], sense: Sense) -> bool:
        """True if the words are not a question, not those of others and, if direct, neither denied nor supposed."""
        at, first = min(match.end("a"), match.end("b")), match.start()
        start, end = self.sentence(at)
        asks = "?" in self.text[max(start, end - 3) : end] or _ASKING.match(self.text, start)
        if asks or bisect_right(self.quotes, at - 1) % 2:
            return False
        if "aux" not in groups and not groups.get("link"):
            return True
        denied = re.search(r"\bnot\b|n['’]t\b", groups.get("aux", "")) and not _ANY_MORE.match(self.text, match.end())
        behind = _AFTER.search(self.text, max(0, first - 13), first) and not _ASIDE.match(self.text, first)
        cue = _SUPPOSED.search(re.split(r";| but | because |, and |—", self.text[max(start, at - 120) : at])[-1])
        supposed = cue and not (sense.form == "past" and cue[0].casefold() in ("when", "once", "until"))
        return not (denied or supposed or (behind and groups.get("beside") != ","))

    def who(self, word: str, at: int) -> tuple[str, float]:
        """The person a name or pronoun means; 'and' and 'but' mean the subject before them."""
        folded = word.casefold().split(" ")[0] if word.casefold().startswith(("my ", "our ")) else word.casefold()
        if folded in ("and", "but"):
            end, person = self.subject
            return person if end and re.fullmatch(r"[^,;:.!?A-Z\n]{0,40}", self.text[end:at][:41]) else ("", 0.0)
        if folded in ("user", "the user"):
            return ("user", 0.9) if self.owner in ("", "user") else ("", 0.0)
        if folded in ("you", "your"):
            return ("", 0.0) if self.owner else ("user", 0.9)
        if (
            not folded
            or folded in _ME
            or (self.owner and re.search(r"\b(?:I['’]m|I am|[Mm]y name is) $", self.text[max(0, at - 12) : at]))
        ):
            return self.owner, 0.9
        return self.antecedent(at) if folded in _THEM else (self.name(word, at), 0.9)

    def name(self, word: str, at: int) -> str:
        """A name without the words that only come before it: 'Yesterday Jonas' is Jonas."""
        ahead = self.text[max(self.sentence(at)[0], at - 3) : at].rstrip(' \n"“(')
        opens, parts = ahead[-1:] in ("", *":;—–-"), word.split(" ")
        plain = (stop_words(), common_words()) if opens and parts[0] not in ("New", "Will") else ()
        while parts and (_ASIDE.fullmatch(parts[0]) or any(parts[0].casefold() in words for words in plain)):
            del parts[0]
        return " ".join(parts) if parts and (word[0].islower() or parts[0][0].isupper()) else ""

    def antecedent(self, at: int) -> tuple[str, float]:
        """Whom 'and her' follows, or the only person named in the sentence before, when nobody is named between."""
        start = self.sentence(at)[0]
        joined = re.search(rf"({_NAME}) and $", self.text[max(start, at - 60) : at])
        if joined:
            return self.name(joined[1], at), 0.7
        previous = self.text[self.sentence(start - 1)[0] : start] if start else ""
        if not 0 < len(previous) < 300 or any(
            mention.kind == "name" for mention in mentions(self.text[start:at][:300])
        ):
            return "", 0.0
        names = (mention.name for mention in mentions(previous) if mention.kind == "name")
        people = [name for name in names if not re.search(rf"\b(?:in|at|from|near|the) {re.escape(name)}", previous)]
        longest = max(people, key=len, default="")
        return (longest if all(name in longest for name in people) else "", 0.7)


def _agrees(groups: dict[str, str], sense: Sense) -> bool:
    """True if the verb's form agrees with its subject, and a noun's modifiers keep its meaning."""
    aux, aside, subject = groups.get("aux", ""), groups.get("beside", ""), groups["a"].casefold()
    mods = groups.get("mods", "").split()
    if subject in ("user", "the user") and aux.startswith(("'", "’")):
        return False
    if (sense.relation in _STRICT and not _PLAIN.issuperset(mods)) or not (stop_words() | _VAIN).isdisjoint(mods):
        return False
    there = groups["said"] == "in" and (subject in _ME or (aux.startswith(("'", "’")) and subject not in _THEM))
    if there or (subject in _ME and groups["said"] in ("run", "runs", "CEO", "leader", "founder")):
        return False
    if sense.form == "base":
        return subject in ("i", "we", "you", "and", "but") or bool(groups.get("too") or _NO_MORE.search(aux))
    if "aux" in groups and sense.form in ("is", "ing"):
        return bool(_BE.search(aux) or "stopped" in aux or (aside and groups["said"] != "in" and sense.form == "is"))
    return aside != ","


def _stands_alone(groups: dict[str, str], sense: Sense) -> bool:
    """True if the object is one the verb can have, and does not only qualify the word behind it."""
    target, behind, odd = groups["b"], groups["next"], _ADJECTIVE.fullmatch(groups["b"])
    if "the" not in groups:
        return not groups.get("link") or not (odd or behind in ("'", "’"))
    rules = sense.relation == "leads" or (sense.relation == "reports to" and sense.turned)
    free = not behind or behind.endswith("ly") or behind in stop_words() or behind in _LATER
    left = sense.over and sense.relation == "works at" and not _COMPANY.search(target)
    fit = not (odd or left or (sense.relation == "replaces" and behind == "with"))
    whole = sense.relation in _WHOLE or rules or groups["the"]
    return fit and bool(free or not whole) and (rules or not target[0].islower() or target in _ME)


def _has_ended(groups: dict[str, str], sense: Sense) -> bool:
    aux, former = groups.get("aux", "") + groups.get("link", ""), groups.get("former", "")
    perfect = re.search(r"['’](?:s|ve)\b|\bha(?:s|ve)\b", aux)
    past = "was" in aux or "were" in aux or (sense.form == "past" and not perfect)
    old = former not in ("", "old") or (former == "old" and sense.relation in _STRICT | PASSING)
    return bool(
        _NO_MORE.search(aux) or old or (past and not sense.lasting) or (sense.over and sense.form in ("past", "is"))
    )


def _relation_of(groups: dict[str, str], sense: Sense) -> tuple[str, bool]:
    """The relation and whether it is turned, as its object asks: one manages a team, and is its member."""
    head, relation = groups["b"].rpartition(" ")[2], sense.relation
    team = head in ("team", "band", "club", "choir", "board")
    thing = "the" in groups and head not in _ME and (head[0].islower() or groups["the"])
    if sense.turned and thing and sense.form != "is" and relation != "works at":
        return ("manages" if relation == "reports to" else "member of" if team else "part of"), False
    if (team and relation in ("works at", "part of")) or (relation == "part of" and groups["a"].casefold() in _ME):
        return "member of", False
    return "works at" if relation == "lives in" and head in ("office", "lab", "branch") else relation, sense.turned
