"""What the tests of backups and of restoring share: a store that was lived in, and processes that are killed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from fivefold.learning.reranker import reranker_store
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from fivefold.values.access import Key
from tests.learning.test_reranker import VERDICT, liking
from tests.support.toy_engine import toy


def lived_in(sample_path: str, folder: Path) -> str:
    """The sample, a second namespace, and a reranker that was learned from use."""
    path = str(shutil.copy(sample_path, folder / "lived.db"))
    with toy(path, "Mia / work") as mem:
        mem.remember("Stand-up at ten")
    with closing(open_store(path)) as store:
        reranker_store(store, "default").save(liking("event"), VERDICT)
        Keyring(store).create("laptop", "reader", ["default"])
    return path


def keys(location: str) -> list[Key]:
    with closing(open_store(location)) as store:
        return Keyring(store).keys()


def left(folder: Path) -> list[str]:
    """What is neither a store nor a backup: logs beside them, parts of a copy."""
    return sorted(entry.name for entry in folder.iterdir() if entry.name.startswith(".") or "-" in entry.name)


STOPPING = textwrap.dedent("""
    import sys
    from contextlib import contextmanager
    from fivefold.transfer import backup
    backup.PAGES = 100

    def said(word):
        print(word, flush=True)
        sys.stdin.readline()

    @contextmanager
    def told(title, total, *, show):
        yield lambda done: said(title.split()[0])

    backup.bar = told
    for name in ("move_into_place", "_exchange"):
        def stopped(*args, step=getattr(backup, name), name=name, **kwargs):
            said(f"before {name}")
            step(*args, **kwargs)
            said(f"after {name}")
        setattr(backup, name, stopped)
    if sys.argv[1] == "rekey":
        backup.rekey(sys.argv[2], sys.argv[3])
    else:
        run = backup.back_up if sys.argv[1] == "backup" else backup.restore
        run(sys.argv[2], sys.argv[3], replace=True)
""")


def killed_at(step: str, what: str, source: str, target: Path) -> None:
    """Run it in a process that is killed as soon as it has said where it is."""
    command = [sys.executable, "-c", STOPPING, what, source, str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == step:
                process.send_signal(signal.SIGKILL)
                break
            process.stdin.write("\n")
        else:
            pytest.fail(f"it never came to {step!r}")
