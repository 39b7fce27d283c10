"""Training needs PyTorch and ONNX (extra `train`). Without them these tests are not collected, rather than skipped."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") and find_spec("onnx") else ["test_*.py"]
