"""What the kills and the failures of each operation came to."""

from __future__ import annotations

from dataclasses import dataclass, field

from fivefold.bench.faults.journal import Account
from fivefold.bench.faults.task import Verdict
from fivefold.values.serialize import Value

MOST_PROBLEMS = 10
"""How many problems are shown."""


@dataclass(frozen=True, slots=True)
class OperationFaults(Value):
    """The kills and the failures of one operation."""

    operation: str
    kills: int
    failures: int
    """Disks that failed once: by an error, for want of room or by a loss of power."""
    acknowledged: int
    """Operations that had returned before the kill."""
    cut_off: int
    """Operations that had begun and had not returned."""
    lost: int
    """Acknowledged operations that were not there after a kill."""
    half_written: int
    """Operations that were there in part after a kill."""
    clean: int
    """Kills and failures after which the doctor found nothing wrong."""
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not (self.lost or self.half_written or self.problems) and self.clean == self.kills + self.failures


@dataclass(frozen=True, slots=True)
class FaultReport(Value):
    """The kills and the failures of all operations."""

    kills: int
    failures: int
    seed: int
    seconds: float
    operations: tuple[OperationFaults, ...]

    @property
    def total(self) -> OperationFaults:
        """All operations together."""
        rows = self.operations
        return OperationFaults(
            "all",
            sum(row.kills for row in rows),
            sum(row.failures for row in rows),
            sum(row.acknowledged for row in rows),
            sum(row.cut_off for row in rows),
            sum(row.lost for row in rows),
            sum(row.half_written for row in rows),
            sum(row.clean for row in rows),
            tuple(f"{row.operation}: {problem}" for row in rows for problem in row.problems)[:MOST_PROBLEMS],
        )

    @property
    def ok(self) -> bool:
        """Whether nothing was lost or half-written, and every store was sound."""
        return all(row.ok for row in self.operations)


@dataclass(slots=True)
class Tally:
    """The kills and the failures of one operation so far."""

    account: Account = field(default_factory=Account)
    kills: int = 0
    failures: int = 0
    cut_off: int = 0
    lost: int = 0
    half_written: int = 0
    clean: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, verdict: Verdict, *, killed: bool = True) -> None:
        """Count one look after a kill or a failure."""
        self.kills += killed
        self.failures += not killed
        self.lost += verdict.lost
        self.half_written += verdict.half_written
        self.clean += not verdict.findings
        what = f"kill {self.kills}" if killed else f"failure {self.failures}"
        self.problems += [f"{what}: {finding}" for finding in verdict.findings]

    def result(self, operation: str) -> OperationFaults:
        return OperationFaults(
            operation,
            self.kills,
            self.failures,
            len(self.account.done),
            self.cut_off,
            self.lost,
            self.half_written,
            self.clean,
            (*self.account.failures, *self.problems)[:MOST_PROBLEMS],
        )
