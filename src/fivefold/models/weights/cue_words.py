"""The words that ask for what is new, and those that ask for what comes back again and again (D4).

A firm word asks by itself ("yesterday", "again and again"). A loose one often does, and as often is the topic:
"current" in "the current account", "regular" in "a regular expression".
"""

from __future__ import annotations

import re

from fivefold.text.calendar_words import MONTH, WEEKDAY

_DAY = WEEKDAY
_MONTH = f"(?:{MONTH})"
_STRETCH = "(?:hours?|days?|nights?|weeks?|weekends?|fortnight|sessions?)"
_SPOKEN = (
    "(?:time|session|chat|conversation|talk|call|exchange|message|thing|entry|note|question|answer|bit|point"
    "|turn|reply|prompt|line|step|topic|subject)"
)
_AMOUNT = "(?:few|couple of|two|three|five|seven|ten|24)"
_SPEAK = "(?:mention|bring|brought|talk|spoke|speak|ask|say|said|repeat|complain|told|tell|come up|been mentioned)"
_WHO = "(?:i|we|you|he|she|they|user)"
_MOST = "(?:the )?most(?=$|,| (?:in (?:our|my)|with|by|judging|going|often|of the time)\\b)"
_HABIT = (
    "(?:usually|always|often|frequently|constantly|forever|normally|typically|generally|ordinarily|mostly|regularly)"
)
_RETURNING = (
    "(?:com|return|popp|resurfac|cropp|circl|go|bring|talk|mention|ask|forgett|mak|tell|repeat|happen|say|do|recurr"
    "|haunt|complain|nagg|order|appear|reappear|show|bit)ing"
)
_THEME = (
    "(?:themes?|topics?|subjects?|threads?|motifs?|concerns?|worry|worries|complaints?|problems?|questions?"
    "|debates?|arguments?|refrain)"
)
_OURS = "(?:my|our) (?:notes|chats|conversations|messages|diary|talks|mind|life|thoughts|head|brain|stories)"

FIRM_TEMPORAL = (
    "yesterday(?:[’']?s)?|today(?:[’']?s)?|tonight(?:[’']?s)?|lately|recently|of late|nowadays|just now",
    "so far|presently|right now|at the moment|at present|as of (?:now|today)|currently|these days",
    f"earlier(?: today)?|the other day|last (?:night|evening|week|weekend|month|{_DAY})(?:[’']?s)?",
    f"(?:on|since|this|past) {_DAY}|over the weekend",
    f"(?:the|our|my|your|that|in|since|of) (?:very )?(?:last|previous|prior|preceding|foregoing|most recent) {_SPOKEN}",
    f"last time|(?:last|past) (?:{_AMOUNT} )?{_STRETCH}|(?:last|past|latest) {_AMOUNT} [a-z]+",
    "(?:did|have|has|was|were|we|i|since|when) (?:[a-z]+ )?last [a-z]+|since (?:we|i) last|my last [a-z]+",
    "last (?:saw|did)|last$|(?:was|were|did) (?:my|the|our) [a-z]+ last|latest|newest|freshest|most recent(?:ly)?",
    "recent (?:updates?|news|notes|activity|history|sessions?|messages?)",
    "this (?:morning|afternoon|evening|week|weekend|month)(?:[’']?s)?|these (?:past|last) (?:few )?[a-z]+",
    "(?:an?|one|two|three|few|couple of|[0-9]+) (?:moments?|minutes?|mins?|seconds?|hours?|days?|nights?) ago",
    "what(?:[’']?s| is) new|anything new|any (?:[a-z]+ )?(?:news|updates?|progress|change)|catch (?:me )?up",
    "fill me in|(?:updates?|progress|news|status|brief me|word) (?:on|of|from|about)|up to (?:date|speed)",
    "up-to-date|state of play|(?:left|leave|broke|break) (?:it |things )?off",
    "where (?:were|are|had) (?:we|things)|where was i$",
    "where (?:do|did) (?:we|things|i) (?:stand|stop|leave|get to$)|pick(?:ing)? (?:[a-z]+ )?(?:back )?up",
    "carry(?:ing)? on|where (?:it|we) (?:stopped|were|left)|i miss(?:ed)?|continu(?:e|ing)|resum(?:e|ing)",
    "let[’']?s go on|(?:please |do |and )?go on$|keep going|move on|proceed|back to (?:it|where)",
    "(?:was|were) (?:i|we|you) (?:just )?(?:saying|doing|on about|talking|working)|going on|happening|what[’']?s up",
    "been up to|repeat (?:that|it|this|the last|what you|please)|say (?:that|it) (?:again|once more)|come again",
    "(?:i|we|you) (?:literally |only )?just (?:said|say|told|tell|asked|ask|wrote|write|mentioned|did|used)",
    "just (?:said|asked)|before (?:i|we|you|the) (?:left|stopped|logged|went|got|break|call|interrupt[a-z]*)",
    "the one before|(?:just|right) before|still(?! life| water)|yet$|already$|by now|now$|ongoing|unfinished",
    "in the middle of|what we (?:started|began)|what(?:[’']?s| is) (?:left|next)|next steps?",
    "current (?!account|affairs|events?|adapter|single)[a-z]+",
)
FIRM_FREQUENCY = (
    f"{_WHO} (?:[a-z]+ )?{_HABIT}",
    f"(?:what|who|where|which [a-z]+) does (?:[a-z’'.]+ ){{1,2}}{_HABIT}",
    f"{_HABIT}, (?:what|who|where|which)|my [a-z]+ {_HABIT}",
    "(?:what|who) (?:is|was) (?:[a-z’'.]+ ){1,2}(?:always|forever|constantly) (?:on|going|talking|asking|complaining)",
    "(?:my|our|your|as|as per|[a-z]+[’']s) usual|the usual(?! [a-z]+(?: [a-z]+)? (?:of|for|in|to))",
    "usual (?:order|one|thing|drink|place|spot|topics?|complaints?)",
    "(?:my|our|[a-z]+[’']s) (?:regular|default|go-to|standard|habitual|staple|standby|stock|customary|typical) [a-z]+",
    "go-to|rent free|over and over|again and again|time and (?:time )?again|time after time|all the time",
    "every (?:single )?time|each time|day in,? day out|day and night|night after night|non-?stop|ad nauseam",
    "to death|more than any(?:thing|one| other)",
    f"how (?:often|many times|frequently|much) (?:[a-z’'-]+ ){{0,5}}(?:{_SPEAK}[a-z]*|been the topic)",
    "(?:hundred|thousand|million|too many) times",
    f"(?:mention|discuss|repeat|ask|use|see|visit|about|talk to|comes? up|matters?)(?:e?d)? {_MOST}",
    "most (?:often|frequently|mentioned|discussed|repeated|asked|talked|frequent|of the time|of my|of our|by number)",
    f"(?:i|we) (?:[a-z]+ ){{1,4}}{_MOST}",
    f"(?:most|top|biggest|main) {_THEME}",
    f"keeps? (?:on )?(?:[a-z]+ )?{_RETURNING}",
    "kept [a-z]+ing|keeps? [a-z]+ing (?:up|back|to)",
    "(?:popping|cropping|coming|comes?|came) up (?:in|again|most|every)|tends? to|tendency|tendencies",
    f"(?:my|bad|our) habits?|habit of|patterns? (?:do you|in|across)|{_THEME} (?:in|across) {_OURS}",
    "(?:can[’']?t|cannot|never|won[’']?t) (?:[a-z]+ )?(?:stop|shut up|let go|quit|tire)|obsess[a-z]*",
    "fixat[a-z]*|hung up on|hooked on",
    f"(?:recurring|repeated|perennial|persistent|common|dominant|central|constant|pet|favou?rite) {_THEME}",
    f"(?:eternal|endless|never-ending|everlasting|perpetual) {_THEME}|(?:my|our) frequent (?!flyer)[a-z]+",
    "(?:banging|harping|droning|rambling|going|go) on about|broken record",
    "(?:sick|tired) of hearing|talk(?:s|ed)? (?:about )?a lot",
    "a lot about|revolves? around",
    "in (?:almost |nearly )?(?:every|each|all) (?:chat|conversation|message|session|meeting|story)",
    f"(?:dominat|fill|run through)[a-z]* {_OURS}|(?:judging|going) by|constantly$|endlessly|invariably",
    f"perpetually|(?:always|forever|constantly) on {_OURS}|always the same|(?:as a rule|in general), what",
    "(?:on|during|does|of) a (?:normal|typical|usual|regular|standard) (?:day|week|sunday|morning|evening|weekend)",
    "above all|regularly",
)
LOOSE_TEMPORAL = (
    "recent|current|present|now|new(?! york| zealand| delhi| orleans| jersey| year)|news|newer|last|late|later",
    "previous(?:ly)?|before|since|ago|yet|already",
    "next|fresh|updates?|progress|go on|going|back|again|just|open|session|chat|conversation|changed?",
    f"happened|{_DAY}|morning|evening|night|week|weekend|month|lunch|breakfast",
)
LOOSE_FREQUENCY = (
    "regulars?|recur[a-z]*|repeat[a-z]*|frequen[a-z]+|common|default|normal|typical|standard|staple|habits?",
    "routine|main|top|every|each|eternal|endless|constant|same|times|comes? up|coming up|themes?",
)
FIXED_PAST = (
    "(?:19|20)[0-9][0-9](?:-[0-9]+)*|the (?:seventies|eighties|nineties|sixties)",
    "(?:years?|decades?|ages|months) ago|long ago",
    f"{_MONTH} [0-9]+",
    f"[0-9]+(?:st|nd|rd|th)? (?:of )?{_MONTH}",
    "as a (?:child|kid|teenager)|when i was|back (?:when|in)|(?:the|my|our|very) first",
    "when we (?:first|met)|oldest|earliest|original|initial|originally",
    "at the (?:very )?(?:start|beginning)|in the beginning",
    f"the (?:time|day|night|week|year|moment) (?:that )?(?:{_WHO}|my [a-z]+) [a-z]+",
)
"""Words that name a stretch of the past for good: what is newest is no nearer to them."""


def _compile(firm: tuple[str, ...], loose: tuple[str, ...]) -> re.Pattern[str]:
    """For lower-case text; group 1 is there when the word is a firm one."""
    return re.compile(rf"(?<![\w-])(?:({'|'.join(firm)})|{'|'.join(loose)})(?![\w-])")


_PAID = (
    "(?:bills?|payments?|costs?|expenses?|subscriptions?|charges?|prescriptions?|instalments?|fees?|premiums?"
    "|contributions?|donations?|transfers?|deliver(?:y|ies)|appointments?)"
)
MENTIONED = re.compile(
    r"\b(?:the (?:word|phrase|song(?! i| we| you| that| from| about))|called|named|titled"
    r"|lyrics (?:of|to)|chords (?:for|of)|who sang)(?: [\w'’]+){1,4}"
    rf"|\b(?:recurring|regular|standing|monthly|weekly|daily) {_PAID}\b|\bfrequent flyer\b|\bregular expressions?\b"
)
"""Words spoken of rather than used ("who sang Yesterday"), and names of things that hold a keyword."""

TEMPORAL = _compile(FIRM_TEMPORAL, LOOSE_TEMPORAL)
FREQUENCY = _compile(FIRM_FREQUENCY, LOOSE_FREQUENCY)
PAST = re.compile(rf"\b(?:{'|'.join(FIXED_PAST)})\b")
