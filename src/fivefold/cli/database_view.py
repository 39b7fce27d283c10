"""How `fivefold db status` looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fivefold.cli.terminal import line, table

if TYPE_CHECKING:
    from fivefold.stores.postgres.status import Cluster, Index, Node, ReplicaState, Status


def status(found: Status) -> None:
    """The server, then what lies on it, and last the cluster, if it is one."""
    counted = "not known while a node is away" if found.namespaces is None else f"{found.namespaces:,}"
    table(
        ("", ""),
        [
            ("PostgreSQL", found.server),
            ("pgvector", found.pgvector),
            ("schema", f"{found.schema}, version {found.schema_version}"),
            ("namespaces", counted),
            ("size", size(found.bytes)),
            *_cluster(found.citus),
        ],
    )
    line("")
    rows = [(item.name, f"{item.rows:,}", size(item.bytes)) for item in found.tables]
    table(("table", "rows, about", "size"), rows, right=("rows, about", "size"))
    if found.indexes:
        line("")
        table(("index", "m", "ef construction", "state"), [_index(item) for item in found.indexes])
    if found.replicas:
        line("")
        table(("replica", "behind"), [(item.address, _behind(item)) for item in found.replicas])
    if found.citus is not None:
        line("")
        table(
            ("node", "role", "answers", "shards", "size", "lexical index"),
            [
                (
                    node.address,
                    node.role,
                    "yes" if node.answers else "no",
                    node.shards,
                    size(node.bytes),
                    _lexical_index(node),
                )
                for node in found.citus.nodes
            ],
            right=("shards", "size"),
        )


def size(count: int) -> str:
    """Bytes in the unit that suits them."""
    amount, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1_000:
            break
        amount, unit = amount / 1_000, larger
    return f"{count} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"


def _cluster(found: Cluster | None) -> Iterator[tuple[str, str]]:
    if found is None:
        return
    yield "Citus", found.version
    if not found.distributed:
        yield "distributed", "no; fivefold db distribute does it"
        return
    moves = found.planned_moves
    yield "distributed", f"by namespace, {found.shards} shards"
    if moves is not None:
        yield "balanced", f"no, {moves} shards should move; fivefold db rebalance does it" if moves else "yes"


def _lexical_index(node: Node) -> str:
    if not node.answers:
        return "–"
    return "serves" if node.lexical_index else "does not serve; fivefold db distribute sees to it"


def _index(item: Index) -> tuple[str, str, str, str]:
    m, ef_construction = ("–" if value is None else str(value) for value in (item.m, item.ef_construction))
    return item.name, m, ef_construction, item.state


def _behind(item: ReplicaState) -> str:
    if item.error is not None or item.behind_bytes is None:
        return item.error or "–"
    seconds = "" if item.behind_s is None else f", {item.behind_s:.1f} s"
    return f"{size(item.behind_bytes)}{seconds}" if item.behind_bytes else "nothing"
