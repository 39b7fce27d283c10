"""Which sentences tell an assistant what to do from now on, by examples of each kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.values.memory import Record
from fivefold.writing.extract import Rules, facets_of, is_standing, statement_in, type_of

STANDING = (
    "Always include a summary table when I ask about metrics",
    "Never use semicolons in my code",
    "From now on answer in metric units",
    "Please don't call me sir",
    "When I ask for recipes, keep them nut-free",
    "I want you to reply in bullet points",
    "Make sure you cite sources whenever you quote a study",
    "I'd like answers without jargon",
    "keep your answers short",
    "Remember to use 24-hour times",
    "Use British spelling in everything you write for me",
    "Please always answer in French.",
    "please never apologise for errors",
    "Going forward, write dates as 2025-06-01.",
    "In future, don't suggest seafood.",
    "Whenever I paste a stack trace, explain the cause first",
    "Each time I ask for a route, show the distance in kilometres",
    "Every time we plan a trip, remind me to check my passport.",
    "Make sure to include the unit with every figure",
    "Don't ever share my address",
    "Do not ever use emojis with me.",
    "Keep the examples in Python.",
    "Keep my summaries under a hundred words!",
    "Use tabs for all code.",
    "Use grams in all my recipes",
    "I would prefer you to be blunt",
    "I'd like you to always show your reasoning",
    "I need you to stop using emojis",
    "I want your answers in German",
    "Call me Max.",
    "You can call me Ellie",
    "Just call me Dr. Lee",
    "please call me by my first name",
    "Address me as Captain",
    "Refer to me as they, please",
    "Stop calling me sir",
    "stop using exclamation marks",
    "Please stop adding disclaimers.",
    "No emojis, please.",
    "Avoid jargon in your answers",
    "I'm colour-blind, so please always name the colours",
    "I work in Celsius, so please use metric units",
    "I live in Leeds; from now on give prices in pounds",
    "Could you please keep your answers short?",
    "Could you always include the source?",
    "Can you stop using bullet points?",
    "You should always ask before you delete a file",
    "You must never push to the main branch.",
    "Always run the tests before you commit",
    "Never schedule meetings before ten",
    "Always book an aisle seat for me",
    "Never be sarcastic with me",
    "Be concise from now on",
    "Answer in one paragraph unless I ask for more",
    "If I ask for a number, round it to two decimals",
    "When I ask for code please use type hints",
    "When you give me code, add comments",
    "When summarising, use bullet points",
    "For all emails, use a formal tone",
    "In your replies, avoid abbreviations",
    "Your answers should be short",
    "Every summary must end with a question",
    "All code you write for me should have type hints",
    "I don't want you to use slang",
    "I don't want any emojis",
    "I never want bullet points in your replies",
    "I always want the sources listed",
    "Don't start your replies with an apology",
    "Do not use passive voice.",
    "Hey, from now on please use my full name",
    "One more thing: always sign my emails with Jo",
    "Oh and never mention my ex by name",
    "Also, keep your tone friendly.",
    "- Always quote file names",
    "Claude, never use the word delve",
    "I’d appreciate it if you kept your answers short",
    "I’d like it if you didn’t use emojis",
    "Don’t call me buddy",
    "Write everything in lower case from now on",
    "Give me the short version first, by default",
    "Call me Sam from now on",
    "Until I say otherwise, answer in Spanish",
    "From now on no emojis",
    "From now on, you are my editor and should point out every cliché",
    "Use they/them pronouns for me",
    "Remember to answer in plain English",
    "Don't forget to cite your sources",
    "Please remember to keep it short",
    "Please include page numbers whenever you cite a book",
    "I expect you to check with me before you send anything",
    "I need my reports in PDF",
    "Never give me spoilers",
    "The user wants short answers in German",
    "User asked me not to use emojis",
    "The user asked to be called Max",
    "User wants me to always use type hints",
    "Please speak to me in Polish",
    "Always prefix branch names with my initials",
    "Never force-push to main",
    "Leave nuts out of every recipe you give me",
    "Don't recommend horror films",
    "Stop suggesting cardio",
    "If I mention a price, convert it to euros",
    "When we talk about work, be direct",
    "Whenever you quote a law, name the paragraph",
    "It would help if you used shorter sentences",
    "Assume I'm a beginner unless I say otherwise",
    "Only suggest vegetarian dishes",
    "Please answer me in French, I'm practising.",
    "Please leave it out of any recipe you ever give me.",
    "Keep it short from now on please.",
    "I'm dyslexic, so please keep your sentences short.",
    "My time zone is CET, so always convert times for me",
    "Don't end your messages with a question",
    "Put units behind every number in your answers",
    "Translate every quote for me whenever you use one",
    "When I send you a draft, only fix the grammar",
    "Whenever we cook together, list the allergens first",
    "Use my first name in all letters",
    "Each time you write for me, sign with my initials",
)

NOT_STANDING = (
    "I always wake at six",
    "He never calls",
    "Always a pleasure!",
    "You should never have said that",
    "I never met him",
    "Never mind",
    "Never again!",
    "Always happy to help",
    "Never had a dog",
    "Always wanted to see Rome",
    "Never say never",
    "Never give up!",
    "Never change, Tom!",
    "They always use the back door",
    "My boss never answers her mail",
    "We always keep the spare key under the mat",
    "She told me to always use sunscreen",
    "He said never use the lift",
    "I never use the car on Sundays",
    "Always the same story with him",
    "Always on time, that one",
    "From now on I take the bus",
    "From now on it's just the two of us",
    "In the future cars will fly",
    "In future I'll leave earlier",
    "Going forward, the team meets on Tuesdays",
    "Whenever I visit Rome, I eat gelato",
    "Whenever I cook I always use butter",
    "Every time I call she is out",
    "When I asked him, he left",
    "When I ask Tom for help, he sulks",
    "When I was six we moved",
    "Each time I ran, my knee hurt",
    "Make sure you lock the door",
    "Make sure to pack the tent",
    "Remember to call mum",
    "Remember to buy milk",
    "Remember to write to Anna",
    "Remember to keep the receipt",
    "Remember when we met?",
    "Remember that time in Oslo?",
    "Don't worry",
    "Don't forget the milk",
    "Don't tell me it rained again",
    "Don't use the lift, it is broken",
    "Do not park there",
    "Keep the change",
    "Keep calm and carry on",
    "Keep going!",
    "Keep my seat, please",
    "Use the stairs",
    "Use the blue paint for my room",
    "Call me when you land",
    "Call me tomorrow",
    "Call me back",
    "Call me on Tuesday",
    "Call me crazy, but I like it",
    "Call me old-fashioned",
    "Call me at five",
    "People call me Max at work",
    "Stop it!",
    "Stop the car",
    "Stop by any time",
    "No way!",
    "No idea what to say",
    "No problem, thanks",
    "I want you to know that I care",
    "I need you here",
    "I want you back",
    "I'd like your opinion on this",
    "I need your help with the move",
    "I want to write a novel",
    "I need answers",
    "I'd like a coffee",
    "I want you to write me a poem about snow",
    "I need to write three essays",
    "I never want to see him again",
    "I don't want to go",
    "I don't want you to worry",
    "Write me a poem in French",
    "Please send the invoice by Friday",
    "Please call the plumber",
    "Can you call me a taxi?",
    "Can you always trust him?",
    "Do you always use that pan?",
    "Should I always use a condenser?",
    "All good!",
    "All the reports are on my desk",
    "Your answers were great",
    "Every summary was late",
    "Your emails arrived",
    "You never call me by my name",
    "You always give good answers",
    "You can always use the side door",
    "My doctor says never skip breakfast",
    "It is always best to ask",
    "She wakes early, never uses an alarm",
    "The rule at work is that we never use pens",
    '"Always look on the bright side" is my ringtone',
    "If I ask nicely, Tom will help",
    "If it rains, use the shed",
    "I asked him to stop using my desk",
    "We avoid meat",
    "Avoid the ring road, it is closed",
    "Skip the line",
    "Try to sleep well",
    "Try to relax",
    "I like you",
    "I love your letters",
    "I need my notes",
    "Thanks, that was great",
    "",
    "?",
    "The sky is grey.",
    "Write a reply to Anna that says I'll be late",
    "Show me the emails from Tom",
    "Summarise this for me",
    "Help me keep my temper",
    "My sister prefers that we call her Lu",
    "Mum never lets us use her car",
    "The kids keep asking",
    "Keep an eye on the oven",
    "Take the pills with food",
    "Tell Tom I said hi",
    "Not my idea",
    "The user wants to buy a bike",
    "User asked to cancel the flight",
    "The user asked about answers in the back of the book",
    "User told me about the trip",
    "All tests must be passed by Friday",
    "Your tests must be back by noon",
    "Keep the dates free",
    "Keep the tables clean",
    "I want the tables in white",
    "I need my documents in order",
    "Never leave home without it, dad used to say",
    "Your emails should have arrived",
    "All letters must be stamped",
    "Every reply was kind",
    "Answers on a postcard!",
    "Talk to me!",
    "Talk to me in an hour",
    "Write to me in the summer",
    "Please answer the door",
    "Please show me the way",
    "Only the brave answer back",
    "It would be great if you came",
    "I'd appreciate it if you came early",
    "User likes tea in the morning",
    "I need you to pick up Tom",
    "I want you to meet Anna",
    "I'd like you to come to my party",
    "When we talk he smiles, and I relax",
    "In all my years I never saw that",
    "For all my friends, the door is open",
    "In your letter you said you were ill",
    "Whenever you like, come over",
    "When you write to Anna, tell her hi from me",
    "I was told to always use gloves there",
    "My rule is to never call before nine",
)


@pytest.mark.parametrize("sentence", STANDING)
def test_a_standing_instruction_is_a_preference(sentence: str) -> None:
    assert is_standing(sentence)
    assert facets_of(sentence)["preferences"] == sentence


@pytest.mark.parametrize("sentence", NOT_STANDING)
def test_habits_sayings_reports_and_single_orders_are_not_instructions(sentence: str) -> None:
    assert not is_standing(sentence)


@pytest.mark.parametrize("sentence", STANDING)
def test_a_memory_that_instructs_is_of_the_type_preference(sentence: str) -> None:
    expected = "procedure" if sentence == "When you give me code, add comments" else "preference"
    assert type_of(sentence) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Hi! From now on answer in metric units. Thanks a lot", "preference"),
        ("Never use semicolons in my code. We agreed on that style at work last week.", "preference"),
        ("I moved to Oslo in May and met the new team on Monday. Keep your answers short.", "event"),
        ("How to greet me: always use my first name", "procedure"),
        ("First open the valve, then press the switch. Always wear gloves.", "procedure"),
        ("I told Ana to always use the side door", "event"),
        ("No emojis", "preference"),
        ("I always wake at six", "fact"),
    ],
)
def test_the_main_statement_decides_the_type(text: str, kind: str) -> None:
    assert type_of(text) == kind


def test_of_a_long_message_only_the_instructions_and_tastes_are_kept() -> None:
    text = (
        "I'm rebuilding the billing service in Go. Always show the whole file when you change it.\n"
        "The tests take an hour, which is too long. I prefer tabs over spaces. He never answers my mails.\n"
        "Please call me Dr. Osei. Could you keep your answers short? What did we decide on Monday?"
    )
    assert facets_of(text)["preferences"] == (
        "Always show the whole file when you change it. I prefer tabs over spaces. Please call me Dr. Osei. "
        "Could you keep your answers short?"
    )


@pytest.mark.parametrize(
    "question",
    [
        "I prefer Android phones due to their flexibility, can you recommend some?",
        "I love hiking so which trail should we take?",
        "I'm vegan - any good restaurants?",
        "We don't eat pork; what could I cook for Sunday?",
        "Can you recommend a phone, I prefer Android?",
        "What should I cook tonight given that I'm vegan?",
        "Could you find a hotel, but I hate loud places?",
        "My favourite colour is green, what paint should I buy?",
        "I’d rather take the train, is there one at nine?",
    ],
)
def test_a_question_with_a_statement_is_kept_for_its_statement(question: str) -> None:
    assert facets_of(question) == {"preferences": question}


@pytest.mark.parametrize(
    "question",
    [
        "Did I tell you that I prefer tea?",
        "Do I prefer tea or coffee?",
        "What do I like?",
        "I prefer tea, right?",
        "I like tea, don't I?",
        "If I like tea, can you get some?",
        "I wonder if she likes tea, do you know?",
        "Should I avoid nuts?",
        "Did I leave because I hate the job?",
        "Do you know if I like jazz?",
        "When I said I love it, did you laugh?",
        "Is it true that she prefers oat milk, or did she change?",
        "What is my favourite film?",
        "Who said, I love jazz?",
        "Do you always use that pan?",
    ],
)
def test_a_question_that_only_asks_states_no_taste(question: str) -> None:
    assert "preferences" not in facets_of(question)


def test_the_statement_of_a_question_is_what_stands_before_or_behind_it() -> None:
    assert statement_in("I like it.") == "I like it."
    assert statement_in("I prefer Android, can you recommend one?") == "I prefer Android,"
    assert statement_in("What should I cook since we hate fish?") == "we hate fish?"
    assert statement_in("Did she call?") == ""


def test_what_an_assistant_advises_is_not_an_instruction_to_it() -> None:
    advice = "Always use a fresh lemon. Never skip the salt."
    assert facets_of(advice)["preferences"] == advice
    assert "preferences" not in Rules().extract(Record(content=advice, speaker="assistant")).facets
    assert Rules().extract(Record(content=advice, speaker="user")).facets["preferences"] == advice


def test_of_an_exchange_only_the_users_side_instructs() -> None:
    asked, answered = "Please keep your answers short.", "Sure! Always use a fresh lemon. Never skip the salt."
    record = Record(content=f"{asked}\n{answered}", user_text=asked, assistant_text=answered)
    extraction = Rules().extract(record)
    assert extraction.facets["preferences"] == asked
    assert extraction.type == "preference"


def test_a_note_about_the_user_counts_whoever_writes_it() -> None:
    note = "The user wants short answers in German"
    extraction = Rules().extract(Record(content=note, speaker="assistant"))
    assert (extraction.type, extraction.facets["preferences"]) == ("preference", note)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("always never please use when I ask , your answers so call me ? .".split(" "))).map(
        " ".join
    )
)
def test_any_words_are_read(text: str) -> None:
    assert is_standing(text) in (True, False)
    assert statement_in(text) in text


@pytest.mark.parametrize(
    "part", ["always never ", "When I ask , ", "so please use a ", "a, ", "call me ", "x", "? ", "when i say , a\n"]
)
def test_very_long_texts_are_read(part: str) -> None:
    text = part * (100_000 // len(part))
    assert len(facets_of(text).get("preferences", "")) <= 600
