"""Numbers of the documents and the small data they are checked on, for `recipes verify` and the golden tests alike."""

from __future__ import annotations

from fivefold.values.query import Curve

PARAMETERS = {384: 118_083, 768: 216_387}
"""D3: parameters of the weight model by the dimension of the vectors it reads."""

FALLBACK_WEIGHTS = (0.6, 0.25, 0.15)
"""D8: the weights where no model is there."""

LEFT: tuple[tuple[Curve, float, float, float], ...] = (
    ("none", 1.0, 1.0, 1.0),
    ("linear", 1.0, 0.5, 0.0),
    ("exponential", 1.0, 0.5, 0.25),
    ("gaussian", 1.0, 0.5, 0.0625),
    ("step", 1.0, 0.0, 0.0),
)
"""F4, D12: what each curve leaves at once, after a half-life and after two."""

ROUTES = (
    "vec_full",
    "vec_user",
    "vec_asst",
    "vec_next_user",
    "lexical",
    "facet_personal_info",
    "facet_preferences",
    "facet_events",
)
"""M1: the eight routes."""

DEPTHS = ((1, 64), (5, 64), (10, 80), (20, 160))
"""M2: candidates of a route, max(max(4k, 32) · 2, 40), for each k."""

TALK = tuple(
    {
        "content": line,
        "session_id": "s",
        "speaker": ("Ann", "Bo")[place % 2],
        "id": f"t{place}",
        "event_at": f"2025-05-14T09:0{place}:00Z",
    }
    for place, line in enumerate(
        ("we saw a zebra crossing", "plain talk of rails", "the zebra was grey", "rust on the rails")
    )
)
"""M5, M7, M8: a conversation of four turns."""

EXCHANGE = (
    {"speaker": "user", "content": "Which kettle do you recommend? My name is Maya and I live in Leeds."},
    {"speaker": "assistant", "content": "A gooseneck kettle pours slowly."},
    {"speaker": "user", "content": "I prefer a red kettle, and I visited the kettle shop yesterday."},
)
"""M1: turns by role that every one of the eight routes finds something in."""

CHANNELS: tuple[tuple[str, str, tuple[float, float, float]], ...] = (
    ("why did Sarah leave?", "why", (1.0, 0.8, 1.5)),
    ("when did Sarah leave?", "when", (0.8, 1.2, 0.8)),
    ("who is Sarah?", "who", (0.8, 0.8, 1.8)),
    ("steps for Sarah's release", "how", (1.2, 1.0, 0.8)),
    ("Sarah's favourite colour?", "what", (1.0, 1.0, 1.0)),
)
"""E1: a question of each intent, and the weights of the dense, lexical and graph channels."""

PURCHASES = (
    "I bought a blue rain jacket at the outdoor store today.",
    "Got myself a cast-iron pan from the flea market, only 15 euros.",
    "I finally bought noise-cancelling headphones.",
    "I purchased a second-hand road bike from a colleague.",
    "Bought a desk lamp for the study this afternoon.",
    "I ordered a new mattress online, it arrives Friday.",
    "Picked up a pair of hiking boots in the sale.",
    "I bought an espresso machine, the kitchen smells great.",
    "I got a yoga mat on the way home.",
    "I bought a tent for the summer trip.",
)
"""N3: what was bought, each in a session of its own."""

REPEATED = (
    "How many things did I buy this year? I keep wondering about the things I bought.",
    "You could list all the things you bought this year.",
    "Yes, list all the things I bought. How many things I bought, I have no idea.",
    "How many things did you buy, roughly? All the things you bought this year count.",
    "I don't know how many things I bought this year, that is why I ask how many.",
    "Then let us list all things bought this year, one by one.",
    "All the things I bought this year, which ones were they?",
    "Which things did you buy this year? Which ones do you remember?",
    "I cannot remember which things I bought this year, so many things.",
    "So many things bought this year, then. How many do you think?",
    "How many things did I buy, really? I ask every year how many things I bought.",
    "Every year you ask how many things you bought.",
)
"""N3: one session that says the question's words again and again."""

LISTS = ("How many things did I buy this year?", "List all the things I bought.", "Which things did I buy this year?")
