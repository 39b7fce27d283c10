"""How `fivefold db status` looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fivefold.cli.terminal import line, table

if TYPE_CHECKING:
    from fivefold.stores.postgres.status import Cluster, Index, Node, ReplicaState, Status


def status(report: Status) -> None:
    """The server, then what lies on it, and last the cluster, if it is one."""
    namespaces = "not known while a node is away" if report.namespaces is None else f"{report.namespaces:,}"
    table(
        ("", ""),
        [
            ("PostgreSQL", report.server),
            ("pgvector", report.pgvector),
            ("schema", f"{report.schema}, version {report.schema_version}"),
            ("namespaces", namespaces),
            ("size", size(report.bytes)),
            *_cluster(report.citus),
        ],
    )
    line("")
    rows = [(item.name, f"{item.rows:,}", size(item.bytes)) for item in report.tables]
    table(("table", "rows, about", "size"), rows, right=("rows, about", "size"))
    if report.indexes:
        line("")
        table(("index", "m", "ef construction", "state"), [_index(item) for item in report.indexes])
        if any(item.state != "serves" for item in report.indexes):
            line("fivefold maintain does the maintenance.", "dim")
    if report.replicas:
        line("")
        table(("replica", "behind"), [(item.address, _behind(item)) for item in report.replicas])
    if report.citus is not None:
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
                for node in report.citus.nodes
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


def _cluster(cluster: Cluster | None) -> Iterator[tuple[str, str]]:
    if cluster is None:
        return
    yield "Citus", cluster.version
    if not cluster.distributed:
        yield "distributed", "no; fivefold db distribute does it"
        return
    moves = cluster.planned_moves
    yield "distributed", f"by namespace, {cluster.shards} shards"
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
