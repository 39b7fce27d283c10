"""What each question demands, by several hundred questions with labels; and that a time with no subject decides."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fivefold.retrieval.understand.demands import find_demands
from fivefold.retrieval.understand.windows import Time, reach_of
from fivefold.retrieval.understand.words import subject_words
from fivefold.text.time_grammar import find_window

NOW = datetime(2025, 6, 11, 15, 30, tzinfo=UTC)


def labelled() -> list[tuple[str, frozenset[str]]]:
    lines = Path(__file__).with_name("questions.txt").read_text("utf-8").splitlines()
    pairs = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [(question, frozenset(kinds.split(", ")) - {"-"}) for kinds, question in pairs]


def demanded(question: str) -> frozenset[str]:
    window = find_window(question, NOW, UTC, reach=reach_of(question))
    time = Time(window, alone=not subject_words(question, window.text)) if window else None
    return frozenset(f"{item.kind}{'!' * item.decides}" for item in find_demands(question, time))


@pytest.mark.parametrize(("question", "demands"), labelled())
def test_what_a_question_demands(question: str, demands: frozenset[str]) -> None:
    assert demanded(question) == demands


REQUESTS = (
    "Write me a poem about the sea",
    "write a cover letter for the museum job",
    "help me with my taxes",
    "Help me plan a surprise for Ana",
    "can you show me how to prune roses?",
    "could you draft an email to my landlord?",
    "Could you please explain recursion to me?",
    "how do I fix a leaking tap?",
    "How should I structure my CV?",
    "what should I cook tonight?",
    "What should I do about the noise upstairs?",
    "Which laptop should I buy?",
    "which paint brush should I use for the fence",
    "I'm looking to buy a used bike",
    "I am looking for a good podcast",
    "Recommend a book for the train",
    "Can you recommend a restaurant near the station?",
    "suggest three names for the boat",
    "Plan a weekend in Porto",
    "plan my meals for next week",
    "Explain how vaccines work",
    "give me some ideas for a birthday cake",
    "Give me a short summary of stoicism",
    "I need a packing list for Norway",
    "I need to write a speech for my sister's wedding",
    "I'm working on a parser, how would you approach error recovery?",
    "I'm trying to learn the cello, any tips?",
    "I want to repaint the kitchen. Where do I start?",
    "Please translate this into Polish: good night",
    "Proofread my abstract",
    "Fix this function for me",
    "debug this query: select * from runs",
    "How can I sleep better?",
    "how to remove wine stains",
    "What's the best way to store basil?",
    "what is a good gift for a ten-year-old?",
    "What are some easy dinners?",
    "Any ideas for a rainy day?",
    "do you have any suggestions for a first date?",
    "Should I take the job in Oslo?",
    "I'm thinking of getting a dog, what should I consider?",
    "What do you recommend for a sore back?",
    "what would you do in my place?",
    "Let's write the invitation together",
    "Is there a way to merge two PDFs?",
    "Tell me a bedtime story",
    "tell me how to boil an egg",
    "Teach me three chords",
    "Walk me through setting up a VPN",
    "I'd like to bake something for the school fair",
    "I would like some advice on my garden",
    "Can we brainstorm names for the shop?",
    "My laptop was stolen, can you recommend a new one?",
    "I had pasta yesterday. What should I cook today?",
    "I told my boss I want to leave. How should I phrase the letter?",
    "Summarise this article for me",
    "Compare the two phones for me",
    "Could you help me write a toast?",
    "ok now make a table of the costs",
    "Where should we go for our anniversary?",
    "Convert 40 miles to kilometres",
    "I'm stuck on this proof",
    "Thanks! Could you also create a checklist?",
    "Would you mind checking my grammar?",
    "What can I make with leeks and cream?",
    "how would one go about renting a boat",
    "I have a job interview on Monday, help me prepare",
    "Design a logo idea for my bakery",
    "generate ten quiz questions about rivers",
    "What could I say in the toast?",
    "Find me a quiet hotel in Ghent",
    "I'm planning a trip to Peru",
    "We're considering a bigger car, which one would you pick?",
    "Rank these three cities for a family trip",
    "Turn this into a haiku",
    "Quiz me on French verbs",
    "Can you check this paragraph for typos?",
    "Tips for a long flight?",
    "Remind me to call Tom tomorrow",
)

NO_REQUESTS = (
    "what did you recommend?",
    "did I ask you to write the letter?",
    "how did I fix the tap?",
    "can you remind me what I paid for the bike?",
    "can you remind me when the course starts",
    "Could you remind me where I put the passport?",
    "do you remember my sister's name?",
    "can you tell me what my blood type is?",
    "what was the name of the hotel?",
    "list the things I told you",
    "how many cousins do I have?",
    "can you summarise what I said about the flat?",
    "Which book did Anna recommend?",
    "who suggested the restaurant?",
    "What have you suggested so far?",
    "Where do I live?",
    "who is my dentist",
    "What's my shoe size?",
    "when is my next appointment?",
    "how do I get to work?",
    "how do I take my coffee?",
    "How do I feel about my job?",
    "What do I usually have for breakfast?",
    "Where did I park?",
    "Tell me about the trip to Ghent",
    "tell me where I met Tom",
    "Do you know what my landlord is called?",
    "show me what I wrote about Karim",
    "Give me my sister's address",
    "give me the name of my dentist",
    "I want to know when I bought the car",
    "I'd like to know what we decided",
    "I need to know who called",
    "I'm trying to remember the name of that film",
    "I'm looking for my keys",
    "can you list the books I mentioned?",
    "Summarise what we discussed on Monday",
    "recap our last chat",
    "What happened to the blue vase?",
    "Did the doctor suggest an operation?",
    "What did I need for the cake?",
    "Have I asked you for recipes before?",
    "Which plan did we choose?",
    "Which recipe did grandma give me?",
    "Was the help useful?",
    "How long did it take to build the shed?",
    "How often do I water the orchid?",
    "What is my plan for Saturday?",
    "What are my plans for this weekend?",
    "who helped me move?",
    "Remember when we went to Rome?",
    "what time is it",
    "Is Lucy married?",
    "Am I allergic to penicillin?",
    "my bank account number?",
    "wifi password",
    "everything I said about Karim",
    "What was Petra's advice on the loan?",
    "whose idea was the boat",
    "How old is Theo?",
    "What does Karim do for a living?",
    "what's been fixed in the house so far",
    "Which job did I apply for?",
    "What foods should I avoid?",
    "Can you recall the title of the book you recommended?",
    "Help me remember where I left the drill",
    "Why did I stop running?",
    "How was the concert?",
    "Which film did you suggest last week?",
    "what did I tell you to write?",
    "Who wrote the letter?",
    "What is the code for the gate?",
    "How much did the sofa cost?",
    "How much is the rent?",
    "What car does my brother drive?",
    "Did you explain recursion to me already?",
    "what can't I eat",
    "Which tips did you give me?",
    "What tips for sleep have I tried?",
    "Did you turn my poem into a song?",
    "Did I check the oven?",
    "Which rank does Leo have?",
)


@pytest.mark.parametrize("question", REQUESTS)
def test_a_request_asks_the_assistant_to_do_something(question: str) -> None:
    (request,) = (item for item in find_demands(question) if item.kind == "request")
    assert not request.decides
    assert request.text == question.lower()[request.start :][: len(request.text)]


@pytest.mark.parametrize("question", NO_REQUESTS)
def test_a_question_for_what_was_said_or_is_known_is_not_a_request(question: str) -> None:
    assert "request" not in {item.kind for item in find_demands(question)}


def test_a_request_may_stand_in_any_sentence() -> None:
    question = "What did I pay for the tent? I forgot. Now write me a packing list."
    (request,) = (item for item in find_demands(question) if item.kind == "request")
    assert request.start == question.index("Now")


@pytest.mark.parametrize("part", ["please ", "what a ", "give me ", ", ", "write me a. ", "i'm looking "])
def test_very_long_questions_are_read_for_requests(part: str) -> None:
    assert len([item for item in find_demands(part * (100_000 // len(part))) if item.kind == "request"]) <= 1
