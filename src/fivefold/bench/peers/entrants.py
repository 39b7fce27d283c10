"""Who runs: fivefold with some of its recipes, and engines that others make, each in a pinned version."""

from __future__ import annotations

from dataclasses import dataclass

from fivefold.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Entrant:
    """An engine with its driver. Without requirements it runs in this environment; `store` names what it writes."""

    name: str
    driver: str
    search: str
    """What a question is searched by: hybrid (vectors and words), vectors or words."""
    store: str
    requirements: tuple[str, ...] = ()
    option: str = ""
    note: str = ""

    @property
    def own(self) -> bool:
        return not self.requirements

    @property
    def choice(self) -> str:
        """The name by which it is chosen: fivefold's recipes are chosen together."""
        return self.store


FIVEFOLD = (
    Entrant("fivefold default", "peer_fivefold.py", "hybrid", "fivefold", option="default:normal"),
    Entrant("fivefold default, low effort", "peer_fivefold.py", "hybrid", "fivefold", option="default:low"),
    Entrant("fivefold dense", "peer_fivefold.py", "vectors", "fivefold", option="dense:normal"),
    Entrant("fivefold lexical", "peer_fivefold.py", "words", "fivefold", option="lexical:normal"),
)

PEERS = (
    Entrant("LanceDB", "peer_lancedb.py", "hybrid", "lancedb", ("lancedb==0.40.0",)),
    Entrant(
        "Chroma",
        "peer_chroma.py",
        "vectors",
        "chroma",
        ("chromadb==1.5.9",),
        note="vectors alone: hybrid search is a part of its cloud",
    ),
    Entrant(
        "txtai",
        "peer_txtai.py",
        "hybrid",
        "txtai",
        ("txtai==9.14.0", "torch==2.13.0"),
        note="takes vectors by a function, which looks them up",
    ),
    Entrant(
        "mem0",
        "peer_mem0.py",
        "hybrid",
        "mem0",
        ("mem0ai==2.2.1", "fastembed==0.9.1"),
        note="without a language model; takes vectors by an embedder, which looks them up",
    ),
    Entrant(
        "Haystack",
        "peer_haystack.py",
        "hybrid",
        "haystack",
        ("haystack-ai==3.4.0",),
        note="its store in memory; on disk it is a file of JSON",
    ),
)


def entrants_for(choice: str) -> list[Entrant]:
    """fivefold and the chosen engines: all, none, or names separated by commas."""
    if choice.strip() in {"all", "none"}:
        return [*FIVEFOLD, *(PEERS if choice.strip() == "all" else ())]
    names = {part.strip().casefold() for part in choice.split(",") if part.strip()}
    known = {entrant.choice: entrant for entrant in PEERS}
    unknown = sorted(names - set(known))
    if unknown or not names:
        raise InvalidInput(
            f"{', '.join(unknown) or 'nothing'} is not among {', '.join(known)}, all, none", field="peers"
        )
    return [*FIVEFOLD, *(entrant for name, entrant in known.items() if name in names)]
