from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold import sample
from fivefold.text.names import IS_CALLED, ROLE_OF
from fivefold.values.entities import Relation
from fivefold.writing.extract.entity_relations import _RULES, relations

Triple = tuple[str, str, str]

HOLDS: list[tuple[str, Triple]] = [
    ("Sarah reports to Tom", ("Sarah", "reports to", "Tom")),
    ("Sarah Chen now reports to Dr Amara Patel.", ("Sarah Chen", "reports to", "Dr Amara Patel")),
    ("Sarah is reporting to Dr. Patel", ("Sarah", "reports to", "Dr. Patel")),
    ("Tom is Sarah's boss", ("Sarah", "reports to", "Tom")),
    ("Tom is Sarah’s manager.", ("Sarah", "reports to", "Tom")),
    ("Tom is James' line manager", ("James", "reports to", "Tom")),
    ("Tom manages Sarah", ("Sarah", "reports to", "Tom")),
    ("Tom manages me", ("user", "reports to", "Tom")),
    ("Sarah's boss is Tom", ("Sarah", "reports to", "Tom")),
    ("Sarah is managed by Tom", ("Sarah", "reports to", "Tom")),
    ("Tom manages the Berlin office", ("Tom", "manages", "Berlin office")),
    ("I report to Tom", ("user", "reports to", "Tom")),
    ("Tom, my boss, is away.", ("user", "reports to", "Tom")),
    ("I had lunch with my boss, Tom.", ("user", "reports to", "Tom")),
    ("Tom and Sarah both report to Ravi", ("Tom", "reports to", "Ravi")),
    ("Tom owns Kestrel", ("Tom", "owns", "Kestrel")),
    ("Tom Okafor owns Kestrel, all of it", ("Tom Okafor", "owns", "Kestrel")),
    ("Kestrel belongs to Tom", ("Tom", "owns", "Kestrel")),
    ("Kestrel is owned by Tom", ("Tom", "owns", "Kestrel")),
    ("Kestrel is Tom's.", ("Tom", "owns", "Kestrel")),
    ("Kestrel is Tom's project", ("Tom", "owns", "Kestrel")),
    ("Kestrel is mine", ("user", "owns", "Kestrel")),
    ("my cat Miso", ("user", "owns", "Miso")),
    ("We have a cat called Miso", ("user", "owns", "Miso")),
    ("Marco works at Volvo", ("Marco", "works at", "Volvo")),
    ("Marco is an engineer at Volvo", ("Marco", "works at", "Volvo")),
    ("Marco works as a test engineer at Volvo", ("Marco", "works at", "Volvo")),
    ("Marco, an engineer at Volvo, helped", ("Marco", "works at", "Volvo")),
    ("Marco has worked for Volvo since 2019", ("Marco", "works at", "Volvo")),
    ("Volvo employs Marco", ("Marco", "works at", "Volvo")),
    ("Volvo hired Marco last year", ("Marco", "works at", "Volvo")),
    ("Sam Osei is our contact at Larkfield Components, they", ("Sam Osei", "works at", "Larkfield Components")),
    ("I'm a nurse at Leeds General", ("user", "works at", "Leeds General")),
    ("Marco works on Nightjar", ("Marco", "works on", "Nightjar")),
    ("my sister Elin", ("user", "sibling of", "Elin")),
    ("Elin is my sister", ("user", "sibling of", "Elin")),
    ("Elin, my sister, called", ("user", "sibling of", "Elin")),
    ("My little sister is called Elin", ("user", "sibling of", "Elin")),
    ("If my sister Elin calls, I'm out", ("user", "sibling of", "Elin")),
    ("Elin is married to Marco", ("Elin", "married to", "Marco")),
    ("Elin's husband Marco", ("Elin", "married to", "Marco")),
    ("Marco, Elin's husband, cooks", ("Elin", "married to", "Marco")),
    ("Elin and Marco are married", ("Elin", "married to", "Marco")),
    ("Elin married Marco in May", ("Elin", "married to", "Marco")),
    ("Zoë is engaged to Łukasz", ("Zoë", "partner of", "Łukasz")),
    ("my girlfriend Ana-Lucía", ("user", "partner of", "Ana-Lucía")),
    ("Freja is Elin's daughter", ("Freja", "child of", "Elin")),
    ("Elin's daughter Freja is six", ("Freja", "child of", "Elin")),
    ("Elin is the mother of Freja", ("Elin", "parent of", "Freja")),
    ("my mum Birgitta", ("Birgitta", "parent of", "user")),
    ("Larkfield Components is part of the Brightwater group", ("Larkfield Components", "part of", "Brightwater group")),
    ("Kumo is a subsidiary of Brightwater.", ("Kumo", "part of", "Brightwater")),
    ("Larkfield belongs to the Brightwater group", ("Larkfield", "part of", "Brightwater group")),
    ("Sarah is part of the Kestrel team", ("Sarah", "member of", "Kestrel team")),
    ("I'm a member of the Leeds choir", ("user", "member of", "Leeds choir")),
    ("Priya leads design", ("Priya", "leads", "design")),
    ("Priya Raman leads design here and draws", ("Priya Raman", "leads", "design")),
    ("Priya leads the design team", ("Priya", "leads", "design team")),
    ("Priya runs the Berlin lab", ("Priya", "leads", "Berlin lab")),
    ("Priya heads marketing", ("Priya", "leads", "marketing")),
    ("Priya is the head of design", ("Priya", "leads", "design")),
    ("The Kestrel team is led by Priya", ("Priya", "leads", "Kestrel team")),
    ("Jonas Weber replaces Priya", ("Jonas Weber", "replaces", "Priya")),
    ("On Monday Jonas Weber replaces Priya and starts", ("Jonas Weber", "replaces", "Priya")),
    ("Priya was replaced by Jonas", ("Jonas", "replaces", "Priya")),
    ("Jonas is Priya's successor", ("Jonas", "replaces", "Priya")),
    ("Ada founded Larkfield", ("Ada", "founded", "Larkfield")),
    ("Larkfield was founded by Ada Byrne", ("Ada Byrne", "founded", "Larkfield")),
    ("Ada started a company called Larkfield", ("Ada", "founded", "Larkfield")),
    ("Elin lives in Gothenburg", ("Elin", "lives in", "Gothenburg")),
    ("Elin and Marco live in New York", ("Elin", "lives in", "New York")),
    ("I've moved to Bristol", ("user", "lives in", "Bristol")),
    ("Daniel and I moved to Bristol", ("Daniel", "lives in", "Bristol")),
    ("my friend Sam Whitfield", ("user", "friend of", "Sam Whitfield")),
    ("Not to be confused with Sam Whitfield, my climbing friend, who", ("user", "friend of", "Sam Whitfield")),
    ("my friends Tom and Sam", ("user", "friend of", "Sam")),
    ("I'm friends with Inês", ("user", "friend of", "Inês")),
    ("Sarah is a colleague of mine", ("Sarah", "colleague of", "user")),
    ("my colleague Sarah Chen", ("user", "colleague of", "Sarah Chen")),
    ("Sarah Chen and I are colleagues", ("Sarah Chen", "colleague of", "user")),
    ("When I moved to Leeds, it rained", ("user", "lives in", "Leeds")),
]

ENDED: list[tuple[str, Triple]] = [
    ("Priya used to lead design", ("Priya", "leads", "design")),
    ("Priya led design until August", ("Priya", "leads", "design")),
    ("Priya is the former head of design", ("Priya", "leads", "design")),
    ("my former manager Ravi", ("user", "reports to", "Ravi")),
    ("my ex-boss Ravi", ("user", "reports to", "Ravi")),
    ("my old boss Ravi", ("user", "reports to", "Ravi")),
    ("Ravi was my manager until March", ("user", "reports to", "Ravi")),
    ("Ravi used to be my manager", ("user", "reports to", "Ravi")),
    ("Ravi is no longer my manager", ("user", "reports to", "Ravi")),
    ("I no longer report to Ravi", ("user", "reports to", "Ravi")),
    ("I don't report to Ravi any more", ("user", "reports to", "Ravi")),
    ("I stopped working at Volvo", ("user", "works at", "Volvo")),
    ("Marco worked at Volvo for ten years", ("Marco", "works at", "Volvo")),
    ("Marco left Larkfield Components in May", ("Marco", "works at", "Larkfield Components")),
    ("I lived in Leeds", ("user", "lives in", "Leeds")),
    ("my ex-wife Anna", ("user", "married to", "Anna")),
    ("Elin is divorced from Marco", ("Elin", "married to", "Marco")),
    ("Elin and Marco are divorced", ("Elin", "married to", "Marco")),
]

NOTHING = [
    "",
    "Does Sarah report to Tom?",
    "Does Sarah report to Tom",
    "Is Elin's husband Marco?",
    "Sarah reports to Tom, right?",
    "Who owns Kestrel?",
    "Sarah doesn't report to Tom",
    "Sarah does not report to Tom",
    "Sarah never reported to Tom",
    "Tom is not Sarah's boss",
    "Tom isn't Sarah's boss",
    "I don't think Sarah reports to Tom",
    "Neither Tom nor Sarah reports to Ravi",
    "if Sarah reported to Tom",
    "If Tom leaves, Sarah reports to Ravi",
    "I wish Sarah reported to Tom",
    "Imagine Tom owns Kestrel",
    "Maybe Tom owns Kestrel",
    "Sarah would report to Tom",
    "Sarah might report to Tom",
    "They asked whether Sarah reports to Tom",
    "Let Sarah report to Tom",
    "Freja is their daughter",
    "She reports to Tom",
    "They live in Leeds",
    "Sarah met Tom. Priya came too, with Ravi. She reports to Ines.",
    "Sarah reports to Tom's brother",
    "Tom owns the Kestrel contract",
    "Tom owns Sarah's bike",
    "the brother of Tom Okafor owns Kestrel",
    "I saw my sister Monday",
    "my boss is Swedish",
    "my brother's wedding in Marco",
    "Your sister Ana came by",
    "You live in Leeds",
    "Brent Dooley is the user's contact at Ledbetter",
    "my bank manager Ravi",
    "my future wife Anna",
    "I invited Tom, my sister, and Daniel",
    "I moved to Monday",
    "I work on Mondays",
    "Yesterday I ran the Otley Ten, ten miles",
    "I'm in Hoka now, they look like bread",
    "I left Leeds at six",
    "Calibration lives in its own sector",
    "The path leads to Leeds",
    'Tom said "I live in Leeds" and left',
    "my sister said Tom is late",
    "a Master's in Data Science",
    "I work on Wall Street",
    "Oslo is smaller than Tom thinks, Sarah's in favour",
    "I report to B",
    "reports to",
]


NICKNAMES: list[tuple[str, Triple]] = [
    ("Robert is my neighbour, everybody calls him Bob.", ("Robert", "known as", "Bob")),
    ("Katarzyna from the choir, Kasia for short, sings", ("Katarzyna", "known as", "Kasia")),
    ("Elizabeth, my oldest friend, goes by Liz.", ("Elizabeth", "known as", "Liz")),
    ("Alexander, Sasha to his friends, is here", ("Alexander", "known as", "Sasha")),
    ("Peggy is what everybody calls Margaret", ("Margaret", "known as", "Peggy")),
    ("Theresa's nickname is Resi", ("Theresa", "known as", "Resi")),
]

KIN: list[tuple[str, Triple]] = [
    ("my sister Ana came", ("Ana", "sister of", "user")),
    ("Ana, my sister, came", ("Ana", "sister of", "user")),
    ("my brother (Ben)", ("Ben", "brother of", "user")),
    ("Ben (my brother) called", ("Ben", "brother of", "user")),
    ("Joan is Derek's mother", ("Joan", "mother of", "Derek")),
    ("Jonte's dad, Malte, is late", ("Malte", "father of", "Jonte")),
    ("our daughter Mia", ("Mia", "daughter of", "user")),
    ("our son is called Leo", ("Leo", "son of", "user")),
    ("my kids Emma, Leo and Max", ("Max", "child of", "user")),
    ("My children are Emma and Leo", ("Leo", "child of", "user")),
    ("my parents, Jo and Al", ("Al", "parent of", "user")),
    ("my aunt Rosa", ("Rosa", "aunt of", "user")),
    ("Uli is my uncle", ("Uli", "uncle of", "user")),
    ("my cousin Pablo", ("Pablo", "cousin of", "user")),
    ("my niece Anu", ("Anu", "niece of", "user")),
    ("Caleb is Denise's nephew", ("Caleb", "nephew of", "Denise")),
    ("my grandma Ilse", ("Ilse", "grandmother of", "user")),
    ("my granddad Bud", ("Bud", "grandfather of", "user")),
    ("our granddaughter Zoe", ("Zoe", "granddaughter of", "user")),
    ("Roz is my godmother", ("Roz", "godmother of", "user")),
    ("my stepdad Joe", ("Joe", "stepfather of", "user")),
    ("my half-sister Lea", ("Lea", "half-sister of", "user")),
    ("my brother-in-law Marco", ("Marco", "brother-in-law of", "user")),
    ("my mother-in-law is Ruth", ("Ruth", "mother-in-law of", "user")),
    ("my flatmates Jo and Al", ("Al", "flatmate of", "user")),
    ("my neighbor Frau Lindqvist", ("Frau Lindqvist", "neighbour of", "user")),
    ("The user's landlord is Mr. Petrakis", ("Mr. Petrakis", "landlord of", "user")),
    ("my new dentist is Dr. Fuentes", ("Dr. Fuentes", "dentist of", "user")),
    ("Dr. Okafor is my doctor", ("Dr. Okafor", "doctor of", "user")),
    ("my therapist, Dr. Blum, says hello", ("Dr. Blum", "therapist of", "user")),
    ("Kay is Biscuit's vet", ("Kay", "vet of", "Biscuit")),
    ("my lawyer Carla Whitcomb", ("Carla Whitcomb", "lawyer of", "user")),
    ("my coach is called Nia", ("Nia", "coach of", "user")),
    ("Owen's teacher Mrs Lee", ("Mrs Lee", "teacher of", "Owen")),
    ("Mike is one of my drivers", ("Mike", "driver of", "user")),
    ("my boss's name is Tom", ("user", "reports to", "Tom")),
    ("our ward manager is Frau Petersen", ("user", "reports to", "Frau Petersen")),
    ("The user's sister is Ana", ("Ana", "sister of", "user")),
    ("User's brother Ray", ("Ray", "brother of", "user")),
    ("The user works at Volvo", ("user", "works at", "Volvo")),
    ("User's sister Colleen and her husband Pete came", ("Colleen", "married to", "Pete")),
    ("My name is Derek", ("user", "is called", "Derek")),
    ("The user's name is Derek Kowalczyk.", ("user", "is called", "Derek Kowalczyk")),
    ("Hi! I'm Maren, 34, nurse", ("user", "is called", "Maren")),
    ("Can you help? I'm Marit, by the way", ("user", "is called", "Marit")),
    ("I am Odile, 52 years, night nurse", ("user", "is called", "Odile")),
    ("My name's Bob", ("user", "is called", "Bob")),
    ("Everybody calls me Balta, by the way", ("user", "is called", "Balta")),
    ("This is Nafula speaking, not Fergus", ("user", "is called", "Nafula")),
    ("Marit here, a quick one", ("user", "is called", "Marit")),
    ("Ich heiße Priya", ("user", "is called", "Priya")),
    ("The user is Derek Kowalczyk, 45, owner of a firm", ("user", "is called", "Derek Kowalczyk")),
    ("My sister's husband Paul works nights", ("Paul", "brother-in-law of", "user")),
    ("Mum's sister Rosa fell", ("Rosa", "aunt of", "user")),
]

FORMER: list[tuple[str, Triple, bool]] = [
    ("my ex-wife Anna", ("Anna", "ex-partner of", "user"), False),
    ("User's ex-husband Karl", ("Karl", "ex-partner of", "user"), False),
    ("my ex Karl", ("Karl", "ex-partner of", "user"), False),
    ("I divorced Karen", ("Karen", "ex-partner of", "user"), False),
    ("my old flatmate Jo", ("Jo", "flatmate of", "user"), True),
    ("my former landlord Mr Petrakis", ("Mr Petrakis", "landlord of", "user"), True),
]

LABELS = {
    *(f"{role} of" for role in ROLE_OF.values()),
    IS_CALLED,
    *(
        "reports to",
        "works at",
        "lives in",
        "married to",
        "part of",
        "owns",
        "founded",
        "leads",
        "member of",
        "sibling of",
    ),
    *(
        "parent of",
        "child of",
        "partner of",
        "friend of",
        "colleague of",
        "located in",
        "works on",
        "replaces",
        "manages",
    ),
}

SAMPLE: list[tuple[str, Triple, bool]] = [
    ("s01.01", ("user", "is called", "Maya Lindqvist"), False),
    ("s01.02", ("user", "is called", "Maya"), False),
    ("s05.01", ("Dr Amara Patel", "dentist of", "user"), False),
    ("s01.01", ("user", "works at", "Halden Instruments"), False),
    ("s03.03", ("Tom Okafor", "owns", "Kestrel"), False),
    ("s06.05", ("Sarah", "reports to", "Tom"), False),
    ("s10.03", ("Elin", "married to", "Marco"), False),
    ("s10.03", ("user", "sibling of", "Elin"), False),
    ("s10.03", ("Elin", "sister of", "user"), False),
    ("s10.08", ("Lurdes", "grandmother of", "Daniel"), False),
    ("s11.01", ("Sam Osei", "works at", "Larkfield Components"), False),
    ("s11.01", ("user", "friend of", "Sam Whitfield"), False),
    ("s13.05", ("Priya Raman", "leads", "design"), False),
    ("s13.07", ("Sarah", "located in", "Berlin"), False),
    ("s21.01", ("user", "lives in", "Bristol"), False),
    ("s21.01", ("user", "lives in", "Leeds"), True),
    ("s26.04", ("Larkfield Components", "part of", "Brightwater group"), False),
    ("s28.06", ("Marco", "works at", "Volvo"), False),
    ("s29.05", ("Jonas Weber", "leads", "design"), False),
    ("s29.05", ("Jonas Weber", "replaces", "Priya"), False),
    ("s35.05", ("Priya", "leads", "design"), True),
]


def triple_of(relation: Relation) -> Triple:
    return relation.source, relation.relation, relation.target


def triples(found: tuple[Relation, ...]) -> list[Triple]:
    return [triple_of(relation) for relation in found]


@pytest.mark.parametrize(("text", "triple"), HOLDS)
def test_a_relation_that_holds(text: str, triple: Triple) -> None:
    found = relations(text, "user")
    assert triples(found).count(triple) == 1, found
    assert {(relation.kind, relation.ended) for relation in found} == {("structural", False)}


@pytest.mark.parametrize(("text", "triple"), KIN)
def test_people_of_a_life(text: str, triple: Triple) -> None:
    found = relations(text, "user")
    assert triples(found).count(triple) == 1, found
    assert {(relation.kind, relation.ended) for relation in found} == {("structural", False)}


@pytest.mark.parametrize(("text", "triple", "ended"), FORMER)
def test_people_of_a_former_life(text: str, triple: Triple, ended: bool) -> None:
    found = relations(text, "user")
    assert [relation.ended for relation in found if triple_of(relation) == triple] == [ended]


def test_an_assistant_speaks_of_its_user() -> None:
    assert triples(
        relations("Your sister Ana lives in Leeds. You work at Volvo. User's boss is Tom.", "assistant")
    ) == [
        ("Ana", "lives in", "Leeds"),
        ("user", "works at", "Volvo"),
        ("user", "sibling of", "Ana"),
        ("Ana", "sister of", "user"),
        ("user", "reports to", "Tom"),
    ]
    assert relations("The user's boss is Tom", "Maya") == ()


@pytest.mark.parametrize(("text", "triple"), ENDED)
def test_a_relation_that_has_ended(text: str, triple: Triple) -> None:
    found = relations(text, "user")
    assert [triple_of(relation) for relation in found if relation.relation != "ex-partner of"] == [triple]
    assert (found[0].kind, found[0].ended) == ("lifecycle", True)


@pytest.mark.parametrize("text", NOTHING)
def test_what_states_no_relation(text: str) -> None:
    assert relations(text, "user") == ()


@pytest.mark.parametrize("text", [text for text, _ in HOLDS + ENDED])
def test_the_same_words_as_a_question_state_nothing(text: str) -> None:
    assert relations(f"{text.rstrip('.')}?", "user") == ()


@pytest.mark.parametrize("text", [text for text, _ in HOLDS + ENDED])
def test_the_words_of_another_state_nothing(text: str) -> None:
    assert relations(f'Somebody said "{text}" yesterday', "user") == ()
    assert relations(f"Somebody said “{text}” yesterday", "user") == ()


@pytest.mark.parametrize("before", ["Hello there. ", "Good news! ", "Two things: ", "First line\n", "Dr. Who came. "])
@pytest.mark.parametrize(("text", "triple"), [HOLDS[0], HOLDS[3], HOLDS[15], HOLDS[24], KIN[11], ENDED[0]])
def test_a_relation_is_read_in_any_sentence(before: str, text: str, triple: Triple) -> None:
    assert triples(relations(before + text, "user")) == [triple]


@pytest.mark.parametrize(
    ("speaker", "name"),
    [(None, "user"), ("user", "user"), ("Human", "user"), ("Maya", "Maya"), ("Ana Díaz", "Ana Díaz")],
)
def test_first_person_means_the_speaker(speaker: str | None, name: str) -> None:
    assert triples(relations("I live in Leeds with my sister Elin", speaker)) == [
        (name, "lives in", "Leeds"),
        (name, "sibling of", "Elin"),
        ("Elin", "sister of", name),
    ]
    told = triples(relations("I'm Maya Lindqvist, 34, engineer at Halden", speaker))
    assert told == [("user", "is called", "Maya Lindqvist")] * (name == "user") + [(name, "works at", "Halden")]


@pytest.mark.parametrize("speaker", ["assistant", "Assistant", "system", "ai", "tool"])
def test_an_assistant_states_nothing_of_itself(speaker: str) -> None:
    assert (
        relations("I live in Leeds. My sister Elin reports to me. We moved to Bristol. Tom manages us", speaker) == ()
    )
    assert triples(relations("I see, Sarah reports to Tom.", speaker)) == [("Sarah", "reports to", "Tom")]


@pytest.mark.parametrize(
    "text",
    [
        "That's Sarah Chen, who sits opposite me. She reports to Tom.",
        "I met Sarah Chen in Berlin. From Monday she reports to Tom.",
        "Sarah Chen called. Her boss is Tom.",
    ],
)
def test_a_pronoun_means_the_only_person_of_the_sentence_before(text: str) -> None:
    (found,) = relations(text, "user")
    assert found == Relation("Sarah Chen", "reports to", "Tom", "structural", confidence=0.7)


def test_and_carries_the_subject_on() -> None:
    assert triples(relations("Jonas Weber replaces Priya and leads design", "user")) == [
        ("Jonas Weber", "replaces", "Priya"),
        ("Jonas Weber", "leads", "design"),
    ]


@pytest.mark.parametrize(("text", "triple"), NICKNAMES)
def test_a_nickname_is_read(text: str, triple: Triple) -> None:
    assert triple in triples(relations(text, "user"))


@pytest.mark.parametrize("text", ["Anna called Peter.", "Everybody calls for Anna", "Does Robert go by Bob?"])
def test_a_call_is_no_nickname(text: str) -> None:
    assert all(relation.relation != "known as" for relation in relations(text, "user"))


def test_but_carries_the_subject_on() -> None:
    old, new = relations("Sarah used to report to Tom but now reports to Ravi", "user")
    assert (old.target, old.ended, new.target, new.ended) == ("Tom", True, "Ravi", False)


def test_two_subjects_and_two_names_give_two_relations() -> None:
    assert triples(relations("Tom and Sarah report to Ravi", None)) == [
        ("Tom", "reports to", "Ravi"),
        ("Sarah", "reports to", "Ravi"),
    ]
    assert triples(relations("I know Tom and Sarah reports to Ravi", None)) == [("Sarah", "reports to", "Ravi")]
    assert len(relations("my friends Tom and Sam", None)) == 2


@pytest.mark.parametrize(
    ("text", "confidence"),
    [("Larkfield is based in Leeds", 0.8), ("Larkfield is in Leeds", 0.6), ("Ada owns Kumo", 0.9)],
)
def test_a_place_is_less_certain(text: str, confidence: float) -> None:
    assert [relation.confidence for relation in relations(text, None)] == [confidence]


@pytest.mark.parametrize("text", ["Priya leads design until August", "Marco is leaving Larkfield Components"])
def test_an_end_to_come_is_spoken_of(text: str) -> None:
    (found,) = relations(text, None)
    assert (found.kind, found.ended) == ("lifecycle", False)


def test_a_move_ends_the_old_home() -> None:
    new, old = relations("I moved from Leeds to Bristol", None)
    assert (new.target, new.ended) == ("Bristol", False)
    assert (old.target, old.ended) == ("Leeds", True)


def test_a_relation_said_twice_is_read_once() -> None:
    assert len(relations("Elin is married to Marco. Marco is Elin's husband. Marco married Elin.", None)) == 1
    assert len(relations("Sarah reports to Tom. Tom is Sarah's boss. Tom manages Sarah.", None)) == 1


def test_the_relations_of_the_sample() -> None:
    found = [
        (item["id"], triple_of(relation), relation.ended)
        for item in sample.memories()
        for relation in relations(item["content"], item.get("speaker"))
    ]
    assert sorted(found) == sorted(SAMPLE)


def test_a_rule_without_its_trigger_would_find_nothing() -> None:
    texts = (
        [text for text, _ in HOLDS + ENDED + KIN + NICKNAMES]
        + NOTHING
        + [item["content"] for item in sample.memories()]
    )
    for pattern, _ in _RULES:
        for text in texts:
            behind = [match.span() for match in pattern.finditer(text)]
            assert behind == [match.span() for match in pattern.bare.finditer(text)], text
        assert any(pattern.search(text) for text in texts)


def assert_sound(text: str, speaker: str | None) -> None:
    found = relations(text, speaker)
    assert len(set(triples(found))) == len(found)
    for relation in found:
        assert relation.relation in LABELS
        assert relation.kind == "lifecycle" if relation.ended else relation.kind in ("structural", "lifecycle")
        assert 0.5 <= relation.confidence <= 0.9
        assert relation.source != relation.target
        for name in (relation.source, relation.target):
            assert name
            assert name in text or name in (speaker or "user", "user")


WORDS = sorted(
    {word for text, _ in HOLDS + ENDED + KIN for word in text.split(" ")} | {"?", "not", "if", '"', "—", "\n"}
)


@settings(deadline=None, max_examples=300)
@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert_sound(text, None)


@pytest.mark.slow
@settings(deadline=None, max_examples=500)
@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), st.sampled_from([None, "assistant", "Maya"]))
def test_words_thrown_together_are_read(text: str, speaker: str | None) -> None:
    assert_sound(text, speaker)


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "A ",
            "A-",
            "A'b",
            "A. ",
            "Dr. ",
            "of A ",
            "a ",
            "Tom and ",
            "Tom, ",
            "Tom's ",
            "Tom is a ",
            "Tom, my ",
            "and ",
        ),
        *("my ", "my sister ", "is not ", "“", '"', "\n", "Tom works as a ", "I moved from A to ", "Tom owns Kestrel "),
        *("She reports to Tom. ", "Tom owns Kestrel and leads design ", "my dogs Max and Rex ", "Sarah's boss Tom, "),
    ],
)
def test_a_long_text_is_read_in_one_go(piece: str) -> None:
    for text in (piece * 5_000, f"married sister reports mine {piece * 5_000}"):
        relations(text, "user")


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("Could you shorten this? Thanks, Priya", "user"),
        ("It is all in the attachment.\n\nBest wishes,\nPriya", "user"),
        ("Hi Priya, here is the plan", "assistant"),
        ("Lovely to meet you, Priya! What shall we start with?", "assistant"),
    ],
)
def test_a_greeting_or_a_signature_is_weak_evidence_of_the_users_name(text: str, speaker: str) -> None:
    assert [(one.target, one.confidence) for one in relations(text, speaker)] == [("Priya", 0.5)]


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("I'm German, and I'm Catholic, and I'm OK. I'm Vegan.", "user"),
        ("I'm Ana's sister", "user"),
        ('Tom said: "I\'m Bob."', "user"),
        ("Thanks, Claude", "user"),
        ("I'm Marit, by the way", "assistant"),
        ("I'm Marit, by the way", "Marit"),
        ("Hello Priya, are you coming?", "Tom"),
    ],
)
def test_other_words_are_not_the_users_name(text: str, speaker: str) -> None:
    assert not [one for one in relations(text, speaker) if one.relation == IS_CALLED]
