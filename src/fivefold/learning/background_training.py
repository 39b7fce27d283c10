"""Training by itself: once enough feedback is new, in a thread that no recall waits for and that breaks none."""

from __future__ import annotations

import logging
import threading

from fivefold.errors import FivefoldError
from fivefold.learning.training import learned_by, train_reranker
from fivefold.namespace import Namespace

_log = logging.getLogger("fivefold")


class BackgroundTraining:
    """Counts a namespace's feedback and trains its reranker anew after every so many recalls with some."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._waiting: int | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def count_feedback(self, train_after: int) -> None:
        """A recall has got feedback; training starts once `train_after` recalls have new feedback, never at 0."""
        if train_after <= 0:
            return
        with self._lock:
            self._waiting = self._untaught() if self._waiting is None else self._waiting + 1
            if self._waiting >= train_after and not self.at_work:
                self._waiting = 0
                self._thread = threading.Thread(target=self._train, name="fivefold-training", daemon=True)
                self._thread.start()

    @property
    def at_work(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Until the training under way has ended, or the time is over."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _untaught(self) -> int:
        """Recalls with feedback since the last training."""
        verdict = learned_by(self._namespace).verdict
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
