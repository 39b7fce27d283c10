"""Questions in wordings that the weight model never saw in training (D5, D7).

There is one for each held-out family of wordings whose errors were looked at: the one whose SHA-256 is the smallest.
The held-out families that nobody looked at have none here, so that this stays so.
"""

from __future__ import annotations

from collections.abc import Mapping

from fivefold.models.weights import Intent

HELD_OUT: Mapping[Intent, tuple[str, ...]] = {
    "semantic": (
        "Give me my star sign",
        "Photos from the summer of 2018",
        "The router supplier.",
        "oh and what would Kwame do with the sofa.",
        "the band titled Last Christmas",
        "ideas for retirement.",
        "what did Fatima cook during the job interview.",
        "What are Aunt Rosas plans for the summer?",
        "How difficult would be marathon training",
        "recall the night we met Joanna?",
        "one more thing: what are the usual side effects of ibuprofen",
        "Describe my skills",
        "What is bread typically sold for",
        "can you tell me: the children’s blood type.",
        "i was wondering, was the telescope hard",
        "which season was my mosst expensive?",
        "How much are my standing instalments I need it for a form.",
        "My head is empty and I have a call in five minutes. What could I cook for ten people?",
    ),
    "temporal": (
        "how did i spend last weekend",
        "Just curious, what did we say a moment ago Keep it short, I'm on my phone.",
        "get yesterday's discussion, briefly?",
        "what we asked earlier?",
        "Hi, tme to wrap up wherre we stopped",
        "where are we with all this?",
        "undo that last step.",
        "yesterday again",
        "do you recall what we said yesterday.",
        "Jog my memory of this morning",
        "which things did we cover last Tuesday.",
        "What's the mot recent thing I did?",
        "what do i have to remember from yesterday?",
        "Oh and you remember what I said when I came in just now, what was it.",
        "well, the mesage just before this one.",
        "what did I ride this morning?",
        "Our last day.",
    ),
    "frequency": (
        "What do I nag you wiht the most.",
        "what do i usually go for on a day like this.",
        "What do we laugh about all the time when you have a minute?",
        "My regular destinations, I forgot",
        "Hello assistant, going by my whole historry, what is my main interest?",
        "LISTEN, MY ETERNAL REFRAIN",
    ),
    "mixed": (
        "Any recent news on the budget",
        "news on my running diet saga",
        "So, this week, how is the startup?",
        "DID PRIYA GOT BACK THIS WEEK?",
        "What was the result in this mornings race?",
        "Well, who edits stamp collecting at the moment?",
        "What have I discussed with my therapist over the past week?",
    ),
}
"""By intent."""
