"""`fivefold recipes`: list and draw recipes; and `--set`, which changes one for a single command."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, app
from fivefold.cli.output import print_json
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from fivefold.retrieval.recipe import Recipe

recipes: typer.Typer = typer.Typer(
    help="List recipes and show their parts.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(recipes, name="recipes")

RecipeOption = Annotated[
    str, typer.Option("--recipe", "-r", help="The recipe that ranks them: a name, or the path of a TOML file")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="KEY=VALUE, such as fusion.k=30, changes the recipe; repeatable")
]

STILL: dict[str, object] = {"select.noise.sigma": 0}
"""Settings that make a recipe with noise answer alike each time."""


@recipes.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the recipes that come with fivefold."""
    from fivefold.retrieval.recipe import GROUPS
    from fivefold.retrieval.recipe_file import known_recipes, load_recipe

    every_recipe = [load_recipe(name) for name in known_recipes()]
    if not as_json:
        from fivefold.cli import recipe_view

        recipe_view.list_recipes(every_recipe)
        return
    print_json(
        [
            {
                "name": recipe.name,
                "summary": recipe.summary,
                "routes": [route.name for route in recipe.routes],
                "fusion": recipe.fusion.method,
                "stages": sum(len(getattr(recipe, group)) for group in GROUPS),
            }
            for recipe in every_recipe
        ]
    )


@recipes.command()
def show(
    ctx: typer.Context,
    recipe: Annotated[str, typer.Argument(help="A name, or the path of a TOML file")],
    overrides: SetOption = None,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print it as a file to save and edit")] = False,
    as_json: JsonOption = False,
) -> None:
    """Draw a recipe from the question to the answer, with every constant."""
    if as_toml and as_json:
        ctx.fail("Choose either --toml or --json.")
    loaded = recipe_of(recipe, overrides)
    if as_json:
        print_json(loaded)
    elif as_toml:
        from fivefold.cli.recipe_view import to_toml

        sys.stdout.write(to_toml(loaded))
    else:
        from fivefold.cli import recipe_view

        recipe_view.draw(loaded)


def recipe_of(choice: str, overrides: Sequence[str] | None, still: bool = False) -> Recipe:
    """The recipe as `--recipe` and `--set` name it; `still`, without noise unless `--set` asks for it."""
    from fivefold.retrieval.recipe_file import load_recipe

    changes = overrides_of(overrides)
    recipe = load_recipe(choice)
    if still and any(stage.name == "noise" for stage in recipe.select):
        recipe = load_recipe(recipe, STILL)
    try:
        return load_recipe(recipe, changes)
    except InvalidInput as error:
        only = "".join(f" {key}" for key in changes) if len(changes) == 1 else ""
        raise error.within(f"--set{only}") from None


def is_still(recipe: Recipe) -> bool:
    """True if its noise is turned off."""
    return any(stage.name == "noise" and not stage.constants.sigma for stage in recipe.select)


def overrides_of(texts: Sequence[str] | None) -> dict[str, object]:
    """Each KEY=VALUE of `--set`; of a key given twice the last counts."""
    return dict(_change(text) for text in texts or ())


def _change(text: str) -> tuple[str, object]:
    key, _, value = (part.strip() for part in text.partition("="))
    if not key or not value:
        raise InvalidInput(f"--set takes KEY=VALUE, such as fusion.k=30, not {text!r}")
    return key, _read(value)


def _read(value: str) -> object:
    """The value as TOML writes it, else the text itself."""
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return value
    read = parsed["value"]
    return read if len(parsed) == 1 and isinstance(read, bool | int | float | str | list | dict) else value
