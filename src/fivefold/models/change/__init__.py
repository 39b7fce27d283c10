"""Whether a newer memory replaces an older one, continues it or leaves it alone: a small model that reads both."""

from fivefold.models.change.layout import Said, SaidPair
from fivefold.models.change.model import Chances, ChangeModel, change_model

__all__ = ["Chances", "ChangeModel", "Said", "SaidPair", "change_model"]
