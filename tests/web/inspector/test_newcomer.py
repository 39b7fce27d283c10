"""The newcomer's path, as the README writes it: the sample into a store, a server, the first answer in the page."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.test_docs import ROOT, free_port
from tests.web.inspector.conftest import WatchedPage

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def match_in(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    assert match, pattern
    return match[1]


def test_the_first_answer_in_the_page(tmp_path: Path, browser: Browser, sample_path: str) -> None:
    """The sample is in its file already, as a first demo leaves it; to write it takes longer than all else here."""
    readme, port = (ROOT / "README.md").read_text("utf-8"), str(free_port())
    question = match_in(r'ask "(.+?)"', readme)
    load, serve = match_in(r"^(fivefold demo [^\n]+\nfivefold serve [^\n]+)$", readme).splitlines()
    shutil.copy(sample_path, tmp_path / match_in(r"--store (\S+)", load))
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    subprocess.run(shlex.split(load, comments=True), cwd=tmp_path, env=env, check=True, capture_output=True)
    command = [*shlex.split(serve, comments=True), "--port", port]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            home = match_in(r"(http://[^\s/]+)", server.stdout.readline())
            with WatchedPage(browser.new_context(), home) as page:
                page.goto(home)
                page.get_by_role("searchbox").or_(page.get_by_label("Question")).first.fill(question)
                page.keyboard.press("Enter")
                page.get_by_text("penicillin").first.wait_for()
                page.get_by_text("How it was found").first.click()
                page.get_by_text("Arithmetic").first.wait_for()
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 0
