"""A small model that reads two texts: whether a newer memory replaces an older one, and whether one answers."""

from fivefold.models.reader.layout import Said, SaidPair
from fivefold.models.reader.model import Chances, PairReader, pair_reader

__all__ = ["Chances", "PairReader", "Said", "SaidPair", "pair_reader"]
