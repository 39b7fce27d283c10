"""Which type a memory is of, and which of its sentences belong to which facet (M1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from fivefold.text.calendar_words import MONTH, MONTH_WORDS, SHORT_MONTH, WEEKDAY, WEEKDAY_WORDS
from fivefold.text.triggers import Pattern
from fivefold.values.memory import Facet, Type

_PREFERENCE = Pattern(
    "prefer prefers like love enjoy hate dislike loathe adore fancy avoid favor favour rather favorite "
    "favorites favourite favourites stand my into fond keen fan",
    r"\b(?:i|we)(?:'d|’d| would| do(?: not|n't|n’t)?)?(?: \w+ly| always| still| now| just| also| much| never)* "
    r"(?:prefer|like|love|enjoy|hate|dislike|loathe|adore|fancy|avoid|favou?r)\b"
    r"|\b(?:i'd|i’d|i would|we'd) rather\b|\bfavou?rites?\b|\bcan(?:'t|’t|not) stand\b|\bmy (?:default|go-to|usual)\b"
    r"|\b(?:i'm|i am) (?:really |so |a big )?(?:into|fond of|keen on|fan of|not a fan)\b|\bprefers?\b",
    re.IGNORECASE,
)
_EVENT = Pattern(
    "went met visited attended finished completed ran moved bought sold signed joined quit flew drove "
    "traveled travelled celebrated launched shipped released broke won lost saw watched hosted presented "
    "told ordered booked canceled cancelled adopted graduated started hiked camped painted received hired "
    "fired installed fixed repaired planted cooked baked climbed raced crashed recovered resigned retired "
    "passed failed submitted published spoke called arrived returned turned got had took gave made died born",
    r"\b(?:went|met|visited|attended|finished|completed|ran|moved|bought|sold|signed|joined|quit|flew|drove|travell?ed"
    r"|celebrated|launched|shipped|released|broke|won|lost|saw|watched|hosted|presented|told|ordered|booked|cancell?ed"
    r"|adopted|graduated|started|hiked|camped|painted|received|hired|fired|installed|fixed|repaired|planted|cooked|baked"
    r"|climbed|raced|crashed|recovered|resigned|retired|passed|failed|submitted|published|spoke|called|arrived|returned|died"
    r"|(?:was|were) born|turned \d+|got (?:married|engaged|promoted|back|home|stuck|sick|a|an|the)"
    r"|had (?:a|an|the|my|our)|took (?:a|an|the|my|part)|gave (?:a|an|the|my)|made (?:a|an|the|my))\b",
    re.IGNORECASE,
)
_WHEN = Pattern(
    f"yesterday today tonight tomorrow morning last next ago #-# {WEEKDAY_WORDS} {MONTH_WORDS}",
    r"\b(?:yesterday|today|tonight|tomorrow|this morning|last (?:night|week|weekend|month|year|\w+day)|next \w+|ago"
    rf"|on {WEEKDAY}|(?:{MONTH}|{SHORT_MONTH}) \d{{1,2}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTH}|{SHORT_MONTH})|\d{{4}}-\d{{2}}-\d{{2}})\b",
    re.IGNORECASE,
)
_PLANNED = Pattern(
    "will ll going meeting appointment deadline due flight launch launches launching starts race trip "
    "visit interview wedding birthday conference is",
    r"\b(?:will|'ll|’ll|going to|meeting|appointment|deadline|due|flight|launch(?:es|ing)?|starts|race|trip|visit"
    r"|interview|wedding|birthday|conference|is (?:on|at))\b",
    re.IGNORECASE,
)
_PROCEDURE = Pattern(
    "how step steps first checklist procedure instructions runbook",
    r"\bhow to\b|\bstep \d|\bsteps?\b.*:|\bfirst\b.{3,120}\bthen\b|\b(?:checklist|procedure|instructions|runbook)\b",
    re.IGNORECASE | re.DOTALL,
)
_TO_DO = re.compile(
    r"(?:to|when you) \w+ .{3,80}, (?:\w+ly )?(?:run|press|hold|turn|open|add|set|mix|connect|type|use|take)\b"
    r"|to (?!do\b)\w+ [^.!?:\n]{3,80}: ?(?:\w+ly |first |just )?(?:run|press|hold|turn|open|add|set|mix|connect|type"
    r"|use|take|click|select|switch|unplug|plug|remove|insert|push|pull|go|log|restart|close)\b",
    re.IGNORECASE | re.DOTALL,
)
_ENTITY = Pattern(
    "is was",
    r"^(?:[A-Z][\w’']+ ){1,3}(?:is|was) (?:a|an|the|my|our|his|her|their)\b"
    r"|\bis (?:my|our) (?:\w+ ){0,2}(?:sister|brother|mother|father|mum|mom|dad|wife|husband|partner|friend|boss"
    r"|manager|colleague|dentist|doctor|cat|dog)\b",
)
_PERSONAL = Pattern(
    "my name call i old born allergic we",
    r"\b(?:my name|call me|i(?:'m|’m| am) (?:\d+|a|an|from|allergic|married|single|vegetarian|vegan)|years old"
    r"|i was born"
    r"|my birthday|i live|i moved|we moved|i work|my job|allergic|my (?:wife|husband|partner|fianc\w+|sister|brother"
    r"|mother|father|mum|mom|dad|son|daughter|kids?|children|niece|nephew|cat|dog|boss|manager|doctor|dentist|address"
    r"|phone|number|e-?mail|badge|passport|id|blood type|height|weight|resting heart rate))\b",
    re.IGNORECASE,
)
_SPOKE_TO = Pattern(
    "told asked promised called emailed", r"^(?:So |And )?I (?:told|asked|promised|called|emailed) [A-Z]"
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_MAX_FACET = 600


def type_of(text: str) -> Type:
    """Fact unless the wording says otherwise; a preference goes before an event, unless it is reported speech."""
    if _PROCEDURE.search(text) or _TO_DO.match(text):
        return "procedure"
    if _SPOKE_TO.search(text):
        return "event"
    if _likes(text):
        return "preference"
    if _happens(text):
        return "event"
    if _ENTITY.search(text):
        return "entity"
    return "fact"


def facets_of(text: str) -> dict[Facet, str]:
    """The sentences about the person, what they like, and what happened; a facet without a sentence is absent."""
    readings: tuple[tuple[Facet, Callable[[str], object]], ...] = (
        ("personal_info", _PERSONAL.search),
        ("preferences", _likes),
        ("events", _happens),
    )
    spoken = [(facet, says) for facet, says in readings if says(text)]
    if not spoken:
        return {}
    sentences = [sentence for sentence in _SENTENCES.split(text) if not sentence.endswith("?")]
    facets = {facet: " ".join(filter(says, sentences))[:_MAX_FACET] for facet, says in spoken}
    return {facet: text for facet, text in facets.items() if text}


@lru_cache(maxsize=256)
def _likes(text: str) -> bool:
    return _PREFERENCE.search(text) is not None


@lru_cache(maxsize=256)
def _happens(text: str) -> bool:
    return bool(_EVENT.search(text) or (_WHEN.search(text) and _PLANNED.search(text)))
