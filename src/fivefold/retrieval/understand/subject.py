"""What a question is about besides its time: the words left when those of asking and of time are taken away."""

from __future__ import annotations

import re

from fivefold.text.calendar_words import MONTH_NAMES, NUMBERS, WEEKDAY_NAMES
from fivefold.text.lexemes import stop_words

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ENDING = re.compile(r"['’](?:s|re|m|d|ve|ll)$")

_ASKING = """
did do does done doing happen happens happened happening plan plans planned planning scheduled schedule calendar
agenda diary going go gone went get got come comes coming came up on off say says said saying tell tells told telling
talk talks talked talking speak spoke discuss discussed mention mentioned chat chatted write wrote written note noted
notes record recorded know remember remind recall show give list summary summarise summarize recap find look see event
events thing things stuff anything something everything nothing appointment appointments date dates meeting meetings
new news else important special interesting big busy free like good have has had having gotta need needs be been being
was were is are am will would shall should can could may might please pls hey hi hello ok okay again exactly actually
really so far all whole entire every lot bit much many there what's whats who's whos when's whens where's wheres how's
hows im ive i'd id u ur me you us we n abt about ever yet spend spent make made take took keep order memory memories
conversation conversations session sessions lined
"""
"""Words that a question about a time and nothing else is made of."""

_TIME = """
day days night nights morning mornings afternoon evening evenings noon midnight week weeks weekend weekends month
months year years quarter season spring summer autumn fall winter today tonight yesterday tomorrow tmrw now recently
lately soon upcoming ahead ago before after since until till during between early late middle mid end start beginning
first last next this that past previous coming following final rest second third fourth time times date christmas
easter new eve other while later earlier back hour hours minute minutes
"""

_EMPTY = frozenset((*_ASKING.split(), *_TIME.split(), *MONTH_NAMES, *WEEKDAY_NAMES, *NUMBERS))


def subject_words(question: str, time_text: str = "") -> list[str]:
    """The words of the question that name a subject, in lower case; those of `time_text` are none."""
    for part in time_text.split(" … "):
        question = question.replace(part, " ", 1) if part else question
    words = (_ENDING.sub("", match[0].casefold()) for match in _WORD.finditer(question))
    stop = stop_words()
    return [word for word in words if word not in _EMPTY and word not in stop and not word[0].isdigit()]
