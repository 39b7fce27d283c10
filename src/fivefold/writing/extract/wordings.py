"""The wordings of preferences, events, plans, procedures and people, by which a text's type is read (M1)."""

from __future__ import annotations

import re

from fivefold.text.calendar_words import MONTH, MONTH_WORDS, SHORT_MONTH, WEEKDAY, WEEKDAY_WORDS
from fivefold.text.kinship import ROLE_OF
from fivefold.text.triggers import Pattern
from fivefold.text.verbs import IRREGULAR_PAST, NO_PAST

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
    "teetotal teetotaller coeliac celiac diet eat eats drink drinks dairy pork meat",
    r"\ballerg(?:ic|y|ies)\b|\bintoleran(?:t|ce)\b|\b(?:vegetarian|vegan|pescatarian|coeliac|celiac|teetotal(?:ler)?"
    r"|halal|kosher|lactose|gluten[- ]free)\b|\b(?:don['’]t|doesn['’]t|do not|does not|no longer|never) (?:eat"
    r"|drink)s?\b|\b(?:off|without|no more) (?:meat|dairy|pork|gluten|alcohol|sugar|caffeine)\b|\bdiet\b",
    re.IGNORECASE,
)
_LASTING = (
    "used|lived|worked|liked|loved|wanted|needed|hated|owned|named|called|based|supposed|enjoyed|preferred|seemed"
    "|believed|interested|allowed|limited|related|required|married|stayed"
)
_PAST = rf"(?:{IRREGULAR_PAST}|(?!(?:{NO_PAST}|{_LASTING})\b)[a-z]{{2,}}ed)"
_NAME = r"(?-i:[A-Z])[\w’'.-]*"
IRREGULAR = frozenset(IRREGULAR_PAST.split("|"))
HAPPENED = re.compile(
    r"(?:^|[.!?;:] |\band |\bthen |, )(?:(?:and|so|then|also|just|finally|today|yesterday|btw|anyway|meanwhile),? )*"
    rf"(?:(?:i|we|he|she|they|the user|(?:my|our|his|her|the) [\w’'-]+(?: [\w’'-]+)?|{_NAME}(?: {_NAME}){{0,2}})"
    r"(?:['’](?:ve|s)| have| has)?(?: (?:just|finally|already|then|also|recently|both|all|only))* )?"
    rf"{_PAST}\b(?! to be\b)",
    re.IGNORECASE,
)
"""Somebody did something: a verb of the past with its subject, or in front of a note."""
STATE_FIRST = re.compile(
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
TO_DO = re.compile(
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
