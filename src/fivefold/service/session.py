"""One caller in one namespace, and the one way in which anything is done: check the rights, do it, log it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from fivefold.engine import Engine
from fivefold.errors import DiskFull, InvalidInput, UnknownRecipe
from fivefold.retrieval.recipe import GROUPS, Recipe
from fivefold.retrieval.recipe_file import known_recipes, load_recipe
from fivefold.service.audit import READS
from fivefold.service.problems import DoneWithoutRoom
from fivefold.service.service import Service
from fivefold.values.access import ROLES, Caller, Refused, Role
from fivefold.values.validate import checked_name


@dataclass(frozen=True, slots=True)
class Session:
    """A caller at work in a namespace. REST, MCP and the pages make one for each request."""

    service: Service
    caller: Caller
    namespace: str | None
    """None for what concerns the store as a whole."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that exist and that the caller may see."""
        return self.service.namespaces(self.caller)

    @property
    def keyed(self) -> bool:
        """True if the caller has a key."""
        return self.caller.key_id is not None

    def may(self, role: Role) -> bool:
        """True if the caller has at least this role."""
        return ROLES.index(self.caller.role) >= ROLES.index(role)

    def engine(self, role: Role = "reader") -> Engine:
        """The namespace's engine, if the caller may do what that role may."""
        assert self.namespace is not None
        return self.service.engine(self.caller, role, self.namespace)

    def act(
        self, name: str, role: Role = "reader", subject: str | None = None, *, audit_success: bool = True
    ) -> Action:
        """One action that needs `role`; the audit log calls it `name`.

        `audit_success=False` is for what shows nothing of the namespace, such as an empty form; refusals are logged.
        """
        return Action(self, name, role, subject, audit_success)


@dataclass(slots=True)
class Action:
    """An action of a session: `with` in a thread, `async with` in an event loop.

    Raises `Refused` on entry if the caller may not do it. On exit the audit log gets what came of it. Whether the
    action waits for its turn among `Service.writers` is up to the interface, which knows when the request is complete.
    """

    session: Session
    name: str
    role: Role
    subject: str | None = None
    """The ids that are acted upon; may be set while the action runs."""
    audit_success: bool = True
    outcome: str = "ok"
    """Outcome for the audit log if nothing is raised."""
    confirm: Callable[[], object] | None = None
    """Checks the caller again, in the thread that does the work: a key may be revoked while a long body arrives."""

    @property
    def service(self) -> Service:
        return self.session.service

    @property
    def caller(self) -> Caller:
        return self.session.caller

    @property
    def engine(self) -> Engine:
        return self.session.engine(self.role)

    def __enter__(self) -> Action:
        try:
            self._check()
        except Exception as error:
            self._note(error)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._note(error)

    async def __aenter__(self) -> Action:
        try:
            self._check()
        except Exception as error:
            await self._note_in_thread(error)
            raise
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await self._note_in_thread(error)

    def _check(self) -> None:
        self.caller.require(self.role, self.session.namespace)
        if self.session.namespace is not None:
            self.session = replace(self.session, namespace=checked_name(self.session.namespace, "namespace"))

    def _note(self, error: BaseException | None) -> None:
        if error is not None:
            self.outcome = "refused" if isinstance(error, Refused) else "failed"
        if isinstance(error, DoneWithoutRoom):
            self.outcome = "ok"
        if self.audit_success or self.outcome == "refused":
            try:
                self.service.audit.note(self.caller, self.name, self.session.namespace, self.subject, self.outcome)
            except DiskFull:
                if error is not None:
                    return  # the action's own error says more
                raise DoneWithoutRoom("its note in the audit log") from None

    async def _note_in_thread(self, error: BaseException | None) -> None:
        if self.name in READS:  # it is written later, so that nothing has to wait
            self._note(error)
            return
        with anyio.CancelScope(shield=True):  # a stopping server cancels requests; they are logged all the same
            await anyio.to_thread.run_sync(self._note, error, limiter=self.service.note_writers)


MAX_FOUND = {"depth": 500, "depth_per_k": 16, "pool": 500, "pool_per_k": 16}
"""Limits for changes of routes and fusion, unless the recipe itself has more."""

MAX_READ = {"depth": 40, "depth_per_k": 16, "pool": 200, "pool_per_k": 16}
"""Limits for changes of stages, which read texts with a model or compare each with each."""

STILL: dict[str, object] = {"select.noise.sigma": 0}
"""Settings that make a recipe with noise answer alike each time."""


def recipe_named(name: str, overrides: Mapping[str, object] | None = None, still: bool = False) -> Recipe:
    """The recipe of that name with its changes; `still`, without noise unless a change asks for it."""
    if name not in known_recipes():
        raise UnknownRecipe(f"unknown recipe {name!r}; known are {', '.join(known_recipes())}")
    own = load_recipe(name)
    if still and any(stage.name == "noise" for stage in own.select):
        own = load_recipe(own, STILL)
    changed = load_recipe(own, overrides)
    if _models(changed) - _models(own):
        raise InvalidInput("a change cannot choose another model; the operator of the server chooses the models")
    _check_sizes(own, changed)
    return changed


def _check_sizes(own: Recipe, changed: Recipe) -> None:
    """A change may not make the server read far more than any recipe does."""
    usual = _sizes(own)
    for path, size in _sizes(changed).items():
        most = max(usual.get(path, 0), (MAX_READ if path.startswith(GROUPS) else MAX_FOUND)[path.rpartition(".")[2]])
        if size > most:
            raise InvalidInput(f"{path} is {size:,}, a change may set at most {most:,} on a server")


def _sizes(recipe: Recipe) -> dict[str, int]:
    """The constants of a recipe that decide how much it reads, by their path."""
    parts: list[tuple[str, object]] = [(f"routes.{route.name}", route) for route in recipe.routes]
    parts.append(("fusion", recipe.fusion))
    parts += [(f"{group}.{stage.name}", stage.constants) for group in GROUPS for stage in getattr(recipe, group)]
    values = {f"{path}.{name}": getattr(part, name, None) for path, part in parts for name in MAX_FOUND}
    return {path: value for path, value in values.items() if isinstance(value, int)}


def _models(recipe: Recipe) -> set[str]:
    stages = (*recipe.boosts, *recipe.rerank, *recipe.select)
    return {model for stage in stages if isinstance(model := getattr(stage.constants, "model", None), str)}
