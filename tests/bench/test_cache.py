"""The vector cache: the same vectors, fewer calls, and never an error of its own."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest

from fivefold.errors import EmbedderError
from fivefold.models.embedders import Matrix, Progress, gives_tokens, unit
from fivefold.models.embedders.fivefold_minilm import FivefoldMiniLM
from fivefold.models.embedders.packages import MiniLM
from fivefold.values.vectors import Passage, QuestionReading, Reading
from fivefold_bench import cache
from fivefold_bench.cache import BATCH, CachedEmbedder, CachedTokenEmbedder, cached, default_path

pytestmark = pytest.mark.slow

TEXTS = ["the heron", "a grey heron by the weir", "bread", "the heron"]


class CountingEmbedder:
    """Counts letters into eight places, and the texts it was asked for."""

    def __init__(self, pin: str = "counted@1", dimension: int = 8) -> None:
        self.pin, self.dimension = pin, dimension
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        self.asked += texts
        rows = np.ones((len(texts), self.dimension), np.float32)
        for i, text in enumerate(texts):
            for letter in text:
                rows[i, ord(letter) % self.dimension] += 1
            if progress:
                progress(1)
        return unit(rows)


PASSAGES = [Passage("a grey heron", "what stood by the weir?"), Passage("a grey heron"), Passage("bread")]


class CountingTokens(FivefoldMiniLM):
    """The shipped model, and the passages and questions it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Passage | str] = []

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        self.asked += passages
        return super().read(passages, progress)

    def read_question(self, question: str) -> QuestionReading:
        self.asked.append(question)
        return super().read_question(question)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "vectors.db"


def test_a_passage_is_read_once_with_what_was_said_before(path: Path) -> None:
    first, second = CountingTokens(), CountingTokens()
    with cached(first, path) as reader:
        assert isinstance(reader, CachedTokenEmbedder)
        fresh = reader.read([*PASSAGES, PASSAGES[0]])
        assert (reader.hits, reader.misses) == (1, 3)
    with cached(second, path) as reader:
        assert isinstance(reader, CachedTokenEmbedder)
        kept = reader.read([Passage("new"), *PASSAGES])
        spans = reader.spans(PASSAGES[0])
    assert sorted(map(str, first.asked)) == sorted(map(str, PASSAGES))
    assert second.asked == [Passage("new")]
    for one, other in zip(fresh, kept[1:], strict=False):
        np.testing.assert_array_equal(one.vector, other.vector)
        assert one.tokens == other.tokens
    assert fresh[0].tokens == fresh[3].tokens != fresh[1].tokens
    assert spans == FivefoldMiniLM().spans(PASSAGES[0])


def test_a_question_is_read_once_in_a_process(path: Path) -> None:
    model = CountingTokens()
    with cached(model, path) as reader:
        assert isinstance(reader, CachedTokenEmbedder)
        assert reader.read_question("which bird?") is reader.read_question("which bird?")
    assert model.asked == ["which bird?"]


def test_only_an_embedder_with_tokens_gives_tokens(path: Path) -> None:
    assert not gives_tokens(cached(CountingEmbedder(), path))
    assert gives_tokens(cached(FivefoldMiniLM(), path))


def test_new_weights_under_an_old_name_are_another_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = CountingTokens()
    for mark in ("#one", "#two", "#one"):
        monkeypatch.setattr(cache, "_weights", lambda pin, mark=mark: mark)
        with cached(model, path) as reader:
            assert isinstance(reader, CachedTokenEmbedder)
            reader.read(PASSAGES[:1])
    assert model.asked == PASSAGES[:1] * 2


def test_a_text_is_embedded_once(path: Path) -> None:
    first, second = CountingEmbedder(), CountingEmbedder()
    with CachedEmbedder(first, path) as cached:
        fresh = cached.embed(TEXTS)
        assert (cached.pin, cached.dimension) == ("counted@1", 8)
        assert (cached.hits, cached.misses) == (1, 3)
    with CachedEmbedder(second, path) as cached:
        kept = cached.embed([*TEXTS, "new"])
        assert (cached.hits, cached.misses) == (4, 1)
    assert sorted(first.asked) == sorted(set(TEXTS))
    assert second.asked == ["new"]
    np.testing.assert_array_equal(fresh, CountingEmbedder().embed(TEXTS))
    np.testing.assert_array_equal(kept, CountingEmbedder().embed([*TEXTS, "new"]))


def test_a_real_models_vectors_come_back_to_the_bit(path: Path) -> None:
    model = MiniLM()
    with CachedEmbedder(model, path) as cached:
        fresh = cached.embed(TEXTS)
    with CachedEmbedder(model, path) as cached:
        kept = cached.embed(TEXTS)
        assert cached.misses == 0
    assert kept.dtype == np.float32
    np.testing.assert_array_equal(fresh, kept)


def test_models_do_not_share_vectors(path: Path) -> None:
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        cached.embed(TEXTS)
    with CachedEmbedder(CountingEmbedder("counted@2"), path) as other:
        other.embed(TEXTS)
        assert other.misses == 3
    with CachedEmbedder(CountingEmbedder(dimension=4), path) as narrow:
        np.testing.assert_array_equal(narrow.embed(TEXTS), CountingEmbedder(dimension=4).embed(TEXTS))
        narrow.embed(TEXTS)
        assert (narrow.hits, narrow.misses) == (5, 3)


def test_progress_adds_up_to_the_texts(path: Path) -> None:
    done: list[int] = []
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        cached.embed(TEXTS, done.append)
        assert sum(done) == 4
        cached.embed([*TEXTS, "new"], done.append)
    assert sum(done) == 9


def test_no_texts_give_no_vectors(path: Path) -> None:
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        assert cached.embed([]).shape == (0, 8)


def test_it_lies_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FIVEFOLD_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == Path.home() / ".cache" / "fivefold" / "vectors.db"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_path() == tmp_path / "xdg" / "fivefold" / "vectors.db"
    monkeypatch.setenv("FIVEFOLD_CACHE", str(tmp_path / "mine"))
    with CachedEmbedder(CountingEmbedder()) as cached:
        cached.embed(TEXTS)
    assert (tmp_path / "mine" / "vectors.db").exists()


def foreign() -> bytes:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE vectors (colour TEXT)")
    return bytes(connection.serialize("main"))


@pytest.mark.parametrize("content", [b"not a database at all, " * 50, foreign()], ids=["text", "foreign"])
def test_a_broken_file_is_set_aside_and_the_vectors_come(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING, "fivefold"), CachedEmbedder(CountingEmbedder(), path) as cached:
        np.testing.assert_array_equal(cached.embed(TEXTS), CountingEmbedder().embed(TEXTS))
        cached.embed(TEXTS)
        assert cached.misses == 3
    assert "is broken" in caplog.text
    assert "it was set aside as vectors.db.broken-" in caplog.text
    (aside,) = (found for found in path.parent.glob("vectors.db.broken-*") if found.name[-4:] not in ("-wal", "-shm"))
    assert aside.read_bytes()[100:] == content[100:]


def test_a_file_damaged_in_the_middle_is_set_aside(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"heron {number}" for number in range(600)]
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        cached.embed(texts)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\x5a" * (len(content) - 4096))
    with caplog.at_level(logging.WARNING, "fivefold"), CachedEmbedder(CountingEmbedder(), path) as cached:
        np.testing.assert_array_equal(cached.embed(texts), CountingEmbedder().embed(texts))
    assert "it was set aside as vectors.db.broken-" in caplog.text
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        cached.embed(texts)
        assert cached.misses == 0


def test_a_place_that_cannot_be_used_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    with (
        caplog.at_level(logging.WARNING, "fivefold"),
        CachedEmbedder(CountingEmbedder(), tmp_path / "file" / "v.db") as cached,
    ):
        for _ in range(2):
            np.testing.assert_array_equal(cached.embed(TEXTS), CountingEmbedder().embed(TEXTS))
        assert cached.misses == 6
    assert [record.getMessage().partition(" is not used: ")[1] for record in caplog.records] == [" is not used: "]


def test_what_was_embedded_before_a_failure_is_kept(path: Path) -> None:
    class Failing(CountingEmbedder):
        def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
            if len(self.asked) >= 2 * BATCH:
                raise EmbedderError("the server is gone")
            return super().embed(texts, progress)

    texts = [f"heron {number}" for number in range(3 * BATCH)]
    with CachedEmbedder(Failing(), path) as cached, pytest.raises(EmbedderError, match="the server is gone"):
        cached.embed(texts)
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        cached.embed(texts)
        assert (cached.hits, cached.misses) == (2 * BATCH, BATCH)


def test_a_model_that_gives_a_wrong_shape_is_named(path: Path) -> None:
    class Wrong(CountingEmbedder):
        def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
            return super().embed(texts)[1:]

    with (
        CachedEmbedder(Wrong(), path) as cached,
        pytest.raises(EmbedderError, match=r"counted@1 gave an array of shape"),
    ):
        cached.embed(TEXTS)


CHILD = textwrap.dedent("""
    import sys
    from fivefold_bench.cache import CachedEmbedder
    from tests.bench.test_cache import CountingEmbedder
    with CachedEmbedder(CountingEmbedder(), sys.argv[1]) as cached:
        for start in range(int(sys.argv[2]), int(sys.argv[3]), 10):
            cached.embed([f"text {number}" for number in range(start, start + 10)])
            print(start, flush=True)
""")


def child(path: Path, start: int, end: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(path), str(start), str(end)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_run_resumes(path: Path) -> None:
    with child(path, 0, 1_000_000) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGKILL)
        said += [line for line in process.stdout if line.endswith("\n")]
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        cached.embed([f"text {number}" for number in range(10 * len(said))])
        assert cached.misses == 0


def test_several_processes_fill_one_file(path: Path) -> None:
    _run_together(path)
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        cached.embed([f"text {number}" for number in range(800)])
        assert cached.misses == 0


def test_several_processes_that_find_it_broken_all_go_on(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all, " * 50)
    _run_together(path)
    assert list(path.parent.glob("vectors.db.broken-*"))
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        cached.embed(TEXTS)
        cached.embed(TEXTS)
        assert cached.misses == 3


def _run_together(path: Path) -> None:
    running = [child(path, 200 * number, 200 * number + 400) for number in range(3)]
    said = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert [len(lines) for lines in said] == [40, 40, 40]


def test_threads_share_one_cache(path: Path) -> None:
    with CachedEmbedder(CountingEmbedder(), path) as cached:
        results: dict[int, Matrix] = {}

        def work(number: int) -> None:
            results[number] = cached.embed([f"text {number}", "common"])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert cached.hits + cached.misses == 16
    for number in range(8):
        np.testing.assert_array_equal(results[number], CountingEmbedder().embed([f"text {number}", "common"]))
