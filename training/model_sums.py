"""Write the digests of the shipped models again, after one of them was replaced: `python training/model_sums.py`."""

from __future__ import annotations

from fivefold.models.shipped import FOLDER, SUMS, digest_of

if __name__ == "__main__":
    files = sorted(path for path in FOLDER.iterdir() if path.name != SUMS)
    (FOLDER / SUMS).write_text("".join(f"{digest_of(path)}  {path.name}\n" for path in files), "utf-8")
