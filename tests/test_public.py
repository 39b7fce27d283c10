"""The public surface is exactly what is declared."""

from __future__ import annotations

import importlib

import fivefold


def test_every_declared_name_is_there() -> None:
    for name in fivefold.__all__:
        assert getattr(fivefold, name) is not None


def test_declared_names_live_where_the_table_says() -> None:
    for name, module in fivefold._HOME.items():
        assert getattr(importlib.import_module(f"fivefold.{module}"), name) is getattr(fivefold, name)


def test_dir_lists_exactly_the_public_names() -> None:
    assert dir(fivefold) == sorted(fivefold.__all__)


def test_every_error_shares_one_base() -> None:
    from fivefold import errors

    kinds = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert all(issubclass(kind, fivefold.FivefoldError) for kind in kinds)
    assert {kind.__name__ for kind in kinds} <= set(fivefold.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    import pytest

    with pytest.raises(AttributeError, match="nonsense"):
        fivefold.nonsense  # noqa: B018
