"""Training in the background once there is enough new feedback; no recall waits for it or fails with it."""

from __future__ import annotations

import logging
import threading

from fivefold.errors import FivefoldError
from fivefold.learning.training import learned_reranker, train_reranker
from fivefold.namespace import Namespace

_log = logging.getLogger("fivefold")


class BackgroundTraining:
    """Counts a namespace's feedback and trains its reranker again whenever enough of it is new."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._new: int | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def count_feedback(self, train_after: int) -> None:
        """A recall has got feedback; training starts once `train_after` recalls have new feedback, never at 0."""
        if train_after <= 0:
            return
        with self._lock:
            self._new = self._count_new() if self._new is None else self._new + 1
            if self._new >= train_after and not self.is_running:
                self._new = 0
                self._thread = threading.Thread(target=self._train, name="fivefold-training", daemon=True)
                self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the current training has ended, or the time is over."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _count_new(self) -> int:
        """Recalls with feedback since the last training."""
        verdict = learned_reranker(self._namespace).verdict
        return self._namespace.reader.feedback.count() - (0 if verdict is None else verdict.noted)

    def _train(self) -> None:
        try:
            verdict = train_reranker(self._namespace)
        except FivefoldError as error:
            _log.warning("the reranker could not be trained: %s", error)
        except Exception:
            _log.exception("the reranker could not be trained")
        else:
            _log.info("the reranker of namespace %r was trained: %s", self._namespace.name, verdict.describe())
