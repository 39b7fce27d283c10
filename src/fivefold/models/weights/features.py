"""Six numbers read off a query's words (D4): what an embedding blurs and a keyword says plainly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from fivefold.text.calendar_words import MONTH, WEEKDAY

# The words that ask for what is new, and those that ask for what comes back again and again (D4).

_DAY = WEEKDAY
_MONTH = f"(?:{MONTH})"
_STRETCH = "(?:hours?|days?|nights?|weeks?|weekends?|fortnight|sessions?)"
_SPOKEN = (
    "(?:time|session|chat|conversation|talk|call|exchange|message|thing|entry|note|question|answer|bit|point"
    "|turn|reply|prompt|line|step|topic|subject|one|item|record|decision|meeting|visit|trip|words?|remark|sentence)"
)
_AMOUNT = "(?:few|couple of|two|three|four|five|six|seven|eight|ten|twelve|24)"
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
    "where (?:were|are|had) (?:we|things)(?: with (?:all (?:of )?)?(?:this|that|it)$)?|where was i$",
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
    f"{_WHO}(?:[’']?ve)? (?:only |literally )?just "
    "(?!want|need|like|love|wonder|think|thought|because|as |in case)[a-z]+",
    "(?:did|have|has|had) (?:i|we|you|he|she|they) (?:only )?just|what (?:was|did it say) just above",
    "(?:scroll|jump|step|skip|go|move) (?:up|back) "
    "(?:an?|one|two|some|to (?:what|where|the (?:last|previous)))(?: [a-z]+)?",
    "scroll (?:up|back)|the rest(?: of it)?$|(?:do|finish|tell me|give me) the rest|more please|ready when you are",
    "(?:where|the point|the page) (?:it|we|i) (?:had |have |were |was )?"
    "(?:got|reached|stopped|finished|paused|dropped|cut)",
    "where (?:did|had) (?:we|i) (?:finish|pause|break|drop|got to|left|put it down|get to(?! know))",
    "cut off|mid-sentence|halfway through|line before|train of thought|(?:a )?step back|as we were",
    "don[’']?t stop|after that$|(?:and|so|ok|right|fine),? (?:what )?(?:then|next)$|and (?:then|after that|what then)",
    "then what|now what|next one|go ahead|what else was there|on we go|what happened (?:then|next|after)",
    "what(?:[’']?s| is| was| comes) (?:the )?next(?: thing| one)?$|(?:^|ok |okay )next$|next thing we",
    "in the meantime|meanwhile|overnight",
    "(?:while|when|since) i (?:was|am|got) (?:away|out|gone|asleep|offline|back|here)",
    "while i slept|(?:during|in) my absence|i was last here|been away|long time no see|(?:it[’']?s )?been a while",
    f"{_WHO} (?:were|was) (?:just )?(?:saying|telling|about to|having|doing|talking|working|discussing|on about)",
    "what (?:were|was) (?:we|i|you) (?:on|at|discussing|reading|writing)$|what (?:were|was) (?:we|i)$",
    "(?:four|five|six|ten|fifteen|twenty|thirty|forty|half an|some) (?:minutes?|mins?|hours?|seconds?|hour|days?) ago",
    "one more time|once more|i didn[’']?t (?:catch|get|hear)",
    "what was that$|(?:wait|hold on|hang on),? (?:what|go|step)",
    "recent (?!past|history of|files?)[a-z]+|(?:anything|something|nothing|stuff) (?:fresh|recent|new)",
    "fresh (?:memories|entries|stuff|items|additions|changes|developments|events|news|notes|thoughts|updates?)",
    "open (?:thread|conversation|discussion|chat)|running (?:conversation|thread|chat|discussion)",
    "back to (?:what|work|business|the (?:last|previous))|(?:dropped|left) (?:it|off|things)|in your memory|on file$",
    "how(?:[’']?s| is| are| has| have) (?:[a-z’'-]+ ){1,5}"
    "(?:doing|going|coming along|progressing|getting (?:on|along))",
    "how are things|how (?:has|did|was|were|have) (?:my|our|the|these|been) (?:past |last )?(?:[a-z]+ )?"
    "(?:mornings?|days?|weeks?|weekends?|nights?|evenings?)",
    "how (?:far|close) (?:are|am|have) (?:i|we)|(?:progress|status) (?:in|of|with|reports?|updates?)|sitrep|headway",
    "^status$|state of affairs|as things stand|at this point",
    "any (?:word|reply|answer) (?:from|yet)|by date|newest first",
    "(?:our|my) last [a-z]+ (?:on|about|to|regarding|with|in|for)",
    f"these {_AMOUNT} [a-z]+|since (?:lunch|breakfast|then)",
    "the last [a-z]+ (?:that )?(?:i|we|you|he|she|they)|last [a-z]+ from",
    "what now|update me|clue me in|keep on from|next bit",
    "(?:show|list|give) (?:me )?(?:my|our|the) (?:previous|last|newest)",
    "where (?:we|i|things) (?:are|am|stand|stopped) with",
    "(?:the )?other time we|further up|what (?:was|came) (?:before|after)(?: that)?$",
    "(?:finish|end|start|begin) the (?:day|week)",
    "(?:messages?|lines?|turns?|repl(?:y|ies)|posts?) (?:ago|back|up|earlier|above)",
    "(?:the|tail) end of (?:our|the (?:chat|conversation|log|talk|session)|what)|the last (?:part|bit) of",
    "how did (?:it|our (?:chat|talk)|the (?:chat|conversation|session|talk|call)) (?:end|finish|conclude|go)",
    "(?:what|which) [a-z]+ (?:was|were) (?:i|we) (?:on|at|in)$",
    "what (?:this|that|it) was about|what was (?:this|that) about",
    "i[’']?m back|back again|hello again|good morning|here i am again|(?:left|hanging|going|carried) over from",
    "(?:summary|digest|recap|roundup|overview|report) of (?:the (?:day|week)|what happened)|end[- ]of[- ](?:day|week)",
    "(?:daily|morning|evening|weekly) (?:recap|roundup|digest|summary)|unresolved|pending|up in the air",
    "(?:did|have) we (?:get|got)(?: to)? (?:this time|in this session|up to now)|this (?:time|session)$|up to now",
    "how did i spend (?:the weekend|my|yesterday|today)|all day$|(?:undo|revert|scrap|take back) (?:that|it|the last)",
    "(?:our|my|the) present (?!tense|perfect|value)[a-z]+",
    "(?:last|most recently) come up|do we now|(?:updated|revised) [a-z]+",
    "how(?:[’']?s| is| are) (?:[a-z’'.-]+ ){1,4}(?:coping|feeling|faring|holding up)",
    "the (?:final|newest) (?:decision|verdict)",
    "now(?= (?:mate|man|then)$)|as of this (?:week|morning)|since (?:the )?(?:last|previous) [a-z]+",
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
    "(?:popping|cropping|coming|comes?) up (?:in|again|most|every)|tends? to|tendency|tendencies",
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
    "without fail|like clockwork|times out of (?:ten|10)|as a rule|more often than not|every single [a-z]+",
    "most (?:nights|evenings|days|mornings|weekends|weeks)|nearly every [a-z]+|each time we|whenever (?:i|we) [a-z]+",
    "(?:running|standing|never-ending|long-running|eternal|inside|endless) "
    "(?:joke|gag|argument|feud|dispute|quarrel)s?",
    "ever-present|all along|the whole time|throughout$|for ages",
    "all these (?:years|months)|in (?:all|everything) (?:my|our|i)",
    "no matter what|(?:red|common|recurrent|guiding|golden) thread",
    "common denominator|leitmotif|guiding theme|a fixture",
    "(?:ties?|links?|connects?|unites?|runs? through|defines?|characterises?|characterizes?|sums? up) "
    "(?:all )?(?:my|our|everything i)(?: [a-z]+)?",
    "(?:finds?|found) its way back|(?:largest|highest|greatest|most) number of",
    "(?:chiefly|mainly|mostly) (?:about|into)",
    "(?:bulk|better part|lion[’']?s share) of (?:my|our)|am i mainly",
    "(?:stands?|stand) out (?:in|across|from) (?:what|all|my|our)",
    "(?:see|notice|spot|find|is there) (?:an?|any) (?:pattern|theme|habit|tendency|red thread|trend)s?",
    "(?:what|which) (?:patterns|habits|tendencies|themes) (?:do|can|stand|emerge|are)",
    "(?:my|our) rituals?|rituals? of mine",
    "same as (?:always|ever|usual)|like always|the same again|as (?:always|ever|per usual)$|par for the course",
    "business as usual|on repeat|(?:can[’']?t|cannot|never) (?:[a-z]+ )?(?:get enough|get over|leave alone|let it go)",
    "(?:tired?|bored?|sick|weary) of (?:[a-z]+ing|it|them)",
    "until the cows come home|(?:about|talk) (?:for hours|all day)",
    "(?:stuck|fixated|preoccupied|consumed|wrapped up|absorbed|engrossed) (?:on|by|in|with)",
    "(?:so|too|that|very|quite) (?:often|many times)|more than once",
    "an awful lot|so much about|about so much|a lot of the time",
    "gravitate|resurfac[a-z]+",
    "(?:i|we) (?:all |always |do )?(?:come|return|drift|veer|circle|go|slip|fall) back (?:to|into|on)",
    "most[- ](?:searched|requested|looked|googled|used|visited|ordered|played|quoted|named|cited|watched|read|called)",
    "(?:named|requested|repeated|searched|googled|ordered|played|quoted|called) (?:the )?most",
    "number of mentions|by frequency",
    "(?:who|what)(?:[’']?s| is| are| am i) (?:always|forever|constantly|perpetually|endlessly|never not)",
    "repeating (?:myself|ourselves|yourself|itself)",
    "repeat (?:myself|ourselves|yourself)|in circles|mantra|rabbit(?:ing)? on",
    "old standby|hobby horse|soapbox|pet (?:peeve|topic|subject)",
    "a regular$|practically live|everybody knows (?:me|us)|haunts?",
    "(?:favou?rite|constant|usual|endless) (?:rant|moan|gripe|grumble|excuse|hangout|whinge)",
    "watering hole|rants?|broken record",
    "(?:love|enjoy|like) (?:talking|rambling|going on|chatting|ranting) about",
    "(?:rave|moan|ramble|gush|whine|bang|nag) about",
    "top (?:few |three |five |ten )?(?:things|people|places|words|names|themes) i",
    "(?:rank|count|tally) (?:my|our)|word cloud",
    "(?:spend|waste|spent) (?:most|the (?:most|bulk|better))",
    "goes (?:on|to) (?:[a-z]+ )?most|how much of (?:my|our) (?:time|notes)",
    "(?:in|on) every (?:note|page|list)|everywhere(?: i look)?",
    "every week in|repeats? in|never changes|(?:since )?forever$",
    "(?:constants?|fixtures?) (?:in|of) (?:my|our)|the majority of (?:my|our)",
    "for the most part|my number one|notorious for",
    "year after year|through everything|first and foremost",
    "like a parrot|the regular (?:thing|one|order)|things i say|busiest",
    "(?:topics|themes|subjects|questions|worries|problems) (?:return|repeat|recur|resurface)$|all our (?:chats|talks)",
    "how (?:many (?:mentions|references|times)|much (?:space|room)) (?:does|do|did|has|have) (?:[a-z’'-]+ ){1,5}"
    "(?:get|have|take|come|been)",
    "(?:mentioned|discussed|brought up|talked about) (?:often|a lot|frequently|much|regularly)",
    "(?:takes?|eats?|swallows?|uses?) (?:up )?(?:most|all|the most|the bulk)|(?:give|devote|dedicate) the most",
    "(?:always|inevitably|invariably|sooner or later|in the end) (?:comes?|crops?|pops?|surfaces?|gets?|turns?)(?: "
    "up)?",
    "where do (?:we|i) (?:always )?end up|between us$|biggest in (?:my|our)",
    "(?:frequency list|statistics?|tally) of (?:my|our)",
    "(?:habit|pattern|tic|quirk|routine)s? of mine|(?:tics|quirks|habits|routines) do (?:i|we) have|show in my notes",
    "week in,? week out|heavy rotation|on loop|nearly always",
    "practically every|a staple|a matter of course|out of habit",
    "on autopilot|by (?:default|reflex|habit)",
    "(?:you|do you) hear (?:from me )?(?:the )?most|have you heard (?:the )?most",
    "day after day|(?:won[’']?t|never) (?:leave me|go(?:es)? away)",
    "follows? me (?:around|everywhere)|nag(?:s|ging)?|gnaws?",
    "weighs? on me|(?:my|our) (?:same )?old (?:story|song|tune|refrain|complaint|joke)",
    "perennial [a-z]+|everlasting [a-z]+",
    "(?:features?|appears?|figures?|turns? up|shows? up|crops? up|comes? up) (?:the )?most|in nearly every(?:thing)?",
    "most typical [a-z]+|(?:sees|hears) (?:of )?me (?:most|every)|every (?:day|week|month|night)$",
    "(?:i|we) (?:[a-z]+ ){0,3}too often|over and over",
    "constantly (?:on|at|in|there)|dwell(?:ing)? on|(?:my|our) trademark",
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
    r"\b(?:the (?:word|phrase|song(?! i| we| you| that| from| about))|lyrics (?:of|to)|chords (?:for|of)|who sang"
    r"|(?:called|named|titled)(?! (?:me|us|off|back|today|tonight|yesterday|this|last|since|again|just|while|most)\b)"
    r")(?: [\w'’]+){1,4}"
    r"|\b(?:another word|synonym|opposite|translation|meaning) (?:for|of) \S+"
    r"|\b(?:say|write|spell|pronounce|translate|is) \S+ (?:in [a-z]+$|spelled)"
    rf"|\b(?:recurring|regular|standing|monthly|weekly|daily) {_PAID}\b|\bfrequent flyer\b|\bregular expressions?\b"
)
"""Words spoken of rather than used ("who sang Yesterday"), and names of things that hold a keyword."""

TEMPORAL = _compile(FIRM_TEMPORAL, LOOSE_TEMPORAL)
FREQUENCY = _compile(FIRM_FREQUENCY, LOOSE_FREQUENCY)
PAST = re.compile(rf"\b(?:{'|'.join(FIXED_PAST)})\b")


# Cue words with one slip of the finger, mended: a letter lost, doubled, or swapped with the next (D4).

LEAST = 5
"""Shorter words are not mended: one slip makes another word of them too often."""

_WORD = re.compile(r"[a-z]{4,}")


def mend_cues(text: str) -> str:
    """The lower-case text with slips in cue words mended."""
    return _WORD.sub(lambda word: _mended().get(word[0], word[0]), text)


@cache
def _mended() -> dict[str, str]:
    """The cue word of each slip; a word that is a cue itself stays."""
    patterns = " ".join((*FIRM_TEMPORAL, *FIRM_FREQUENCY, *LOOSE_TEMPORAL, *LOOSE_FREQUENCY))
    words = {word for word in re.findall(r"(?<![a-z])[a-z]+(?![a-z])", patterns) if len(word) >= LEAST}
    return {slip: word for word in sorted(words) for slip in _slips(word) if slip not in words}


def _slips(word: str) -> Iterator[str]:
    for at in range(1, len(word) - 1):
        if len(word) > LEAST:
            yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
        if word[at] != word[at + 1]:
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


COUNT = 6
"""How many features there are; the model's input width depends on it."""

LONG = 24
"""Words at which a query counts as long."""

NAMED = 3
"""Names, codes and numbers at which a query counts as fully specific."""

READ = 2_000
"""Characters that are read: a pasted page says nothing more about how to search."""

_FEATURES_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b(?!I\b|I['’])[A-Z][\w’'-]*|\b\w*\d\w*\b|\b\w+_\w+\b|[\"“][^\"”]+[\"”]")
_TITLE = re.compile(r"\b[A-Z][\w'’]*(?: (?:of|the|and|in|a|an|to|on|Me|with))* [A-Z][\w'’]*|[\"“][^\"”]+[\"”]")
_GREETING = re.compile(
    r"^(?:(?:now|so|well|ok|okay|ok so|oh and|by the way|one more thing|(?:next|last|quick|one last) question|question"
    r"|please|hi|hey|hey there|hello|yo|um|uhm|hmm|actually|listen|alright|sorry|just curious|out of interest"
    r"|remind me(?: again)?|tell me|(?:can|could) you tell me(?: please)?|i[’']?d like to know|for my notes)[,:]+ )+"
    r"(?=\S+ )"
)
_THANKS = re.compile(
    r"(?:,? (?:please|pls|thanks|thank you|thx|cheers|mate|asap|if you (?:know|remember|don[’']?t mind)|can you tell me"
    r"|do you remember|i can[’']?t recall|i forgot|off the top of your head|in one sentence|briefly|in short|for me"
    r"|just roughly|when you have a minute))+$"
)
"""Words of politeness around a question: "next question:" asks for nothing new, and "please" ends nothing."""


def features(text: str) -> npt.NDArray[np.float32]:
    """Length, has-temporal, has-frequency, temporal density, frequency density, specificity; each in 0..1.

    A date long gone ("in May 2019", "when we first met") is a name, not a wish for what is new.
    """
    text = " ".join(text[:READ].split())
    words = max(1, len(_FEATURES_WORD.findall(text)))
    shouted = text.isupper()
    plain = (text if shouted else _TITLE.sub(_replace_title, text)).lower()
    plain = _GREETING.sub("", mend_cues(plain)).rstrip(" ?.!")
    plain = MENTIONED.sub("it", _THANKS.sub("", plain).rstrip(" ,?.!"))
    dated = PAST.search(plain) is not None
    temporal, asks_new = (0, False) if dated else _count_words(TEMPORAL, plain)
    frequency, asks_often = _count_words(FREQUENCY, plain)
    return np.array(
        [
            min(1.0, words / LONG),
            float(asks_new),
            float(asks_often),
            min(1.0, temporal / words),
            min(1.0, frequency / words),
            1.0 if dated else 0.0 if shouted else min(1.0, len(_NAME.findall(text)) / NAMED),
        ],
        dtype=np.float32,
    )


def _replace_title(match: re.Match[str]) -> str:
    """A title such as The Late Show without its words, which are no request; weekdays and I are no titles."""
    text = match[0]
    if re.search(r"\bI\b|\bI['’]|day\b(?!s)", text) and text[0] not in '"“':
        return text
    return "it"


def _count_words(pattern: re.Pattern[str], text: str) -> tuple[int, bool]:
    """How many words the pattern's matches span, and whether a firm one is among them."""
    matches = list(pattern.finditer(text))
    return sum(match[0].count(" ") + 1 for match in matches), any(match[1] for match in matches)
