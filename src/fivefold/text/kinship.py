"""Words for the people of somebody's life: kin, and those with a role such as flatmate, landlord or dentist.

The one table from which a stored text is read and a question is resolved.
"""

from __future__ import annotations

import re

_KIN = """
mother | mother mum mom mam mummy mommy mama mamma amma | parent
father | father dad daddy papa abba | parent
parent | parent | parent
sister | sister sis | sibling
brother | brother bro | sibling
sibling | sibling twin | sibling
daughter | daughter | child
son | son | child
child | child kid | child
aunt | aunt auntie aunty khala |
uncle | uncle |
cousin | cousin |
niece | niece |
nephew | nephew |
grandmother | grandmother grandma granny gran nan nana oma abuela nonna | grandparent
grandfather | grandfather grandpa granddad grandad grandpop opa abuelo nonno | grandparent
grandparent | grandparent | grandparent
granddaughter | granddaughter | grandchild
grandson | grandson | grandchild
grandchild | grandchild grandkid | grandchild
godmother | godmother |
godfather | godfather |
goddaughter | goddaughter | godchild
godson | godson | godchild
godchild | godchild | godchild
stepmother | stepmother step-mother stepmum stepmom step-mum step-mom |
stepfather | stepfather step-father stepdad step-dad |
stepsister | stepsister step-sister |
stepbrother | stepbrother step-brother |
stepdaughter | stepdaughter step-daughter |
stepson | stepson step-son |
half-sister | half-sister |
half-brother | half-brother |
mother-in-law | mother-in-law |
father-in-law | father-in-law |
sister-in-law | sister-in-law |
brother-in-law | brother-in-law |
daughter-in-law | daughter-in-law |
son-in-law | son-in-law |
ex-partner | ex |
"""
_OTHERS = """
flatmate | flatmate roommate housemate
neighbour | neighbour neighbor
landlord | landlord landlady
tenant | tenant lodger
dentist | dentist orthodontist
doctor | doctor gp physician
therapist | therapist psychologist psychiatrist counsellor counselor
physiotherapist | physiotherapist physio
vet | vet
cardiologist | cardiologist
orthopedist | orthopedist orthopaedist
surgeon | surgeon
midwife | midwife
paediatrician | paediatrician pediatrician
lawyer | lawyer solicitor attorney
accountant | accountant
coach | coach trainer
teacher | teacher tutor
supervisor | advisor adviser
mentor | mentor
driver | driver
nanny | nanny babysitter childminder
cleaner | cleaner
mechanic | mechanic
hairdresser | hairdresser barber stylist
assistant | assistant
student | student pupil
client | client customer
"""


def _rows(table: str) -> dict[str, str]:
    """Each word of a table with the role it names."""
    rows = ([cell.strip() for cell in row.split("|")] for row in table.strip().splitlines())
    return {word: cells[0] for cells in rows for word in cells[1].split()}


KIN_ROLES = _rows(_KIN)
"""Words of kinship, each with one name for all that mean the same."""
OTHER_ROLES = _rows(_OTHERS)
ROLE_OF = KIN_ROLES | OTHER_ROLES

GENERAL = {
    cells[0]: cells[2]
    for cells in ([cell.strip() for cell in row.split("|")] for row in _KIN.strip().splitlines())
    if cells[2]
}
"""The wider role of some: a sister is a sibling. Without her own word she may still be found by it."""

ONE_HOLDER = frozenset({"landlord", "dentist", "vet", "therapist"})
"""Roles that one person has at a time: a new one ends the old one."""

IS_CALLED = "is called"
"""The edge from the owner of a memory to the name that others use."""

_PLURALS = {"child": "children", "grandchild": "grandchildren", "stepchild": "stepchildren", "godchild": "godchildren"}


def plural_of(word: str) -> str:
    """The plural of a word for a person: sisters-in-law, children, nannies."""
    if word in _PLURALS:
        return _PLURALS[word]
    head, law, _ = word.partition("-in-law")
    if word.endswith("y") and not word.endswith(("ay", "ey")):
        return f"{word[:-1]}ies"
    return re.sub(r"(?<=ch)s$", "es", f"{head}s") + law


def relation_of(role: str) -> str:
    """The name of the edge from the one who has a role to whose it is."""
    return f"{role} of"
