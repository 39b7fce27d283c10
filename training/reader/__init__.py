"""How the reader is trained. Its scripts share the embedder's modules, which import each other by bare names."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "embedder"))
