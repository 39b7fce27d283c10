"""Who may open a PostgreSQL store, and what those are told who may not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fivefold
from fivefold.service.audit import Audit
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from fivefold.stores.postgres import schema
from tests.support.own_database import OwnDatabase, opened
from tests.support.postgres import Server

pytestmark = pytest.mark.postgres


@pytest.fixture
def database(postgres: Server) -> Iterator[OwnDatabase]:
    made = OwnDatabase(postgres)
    yield made
    made.close()


def test_a_member_of_the_role_reads_and_writes_and_does_not_migrate(
    database: OwnDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = database.new_role()
    with opened(database.dsn(role=role)) as engine:
        engine.remember("Sarah drinks tea")
    user = database.new_user()
    database.run(f"GRANT {role} TO {user}")
    with opened(database.dsn(user, role=role)) as engine:
        engine.remember("Tom drinks milk")
        assert len(engine.recall("who drinks?").hits) == 2
        assert all(finding.ok for finding in engine.doctor())
        with pytest.raises(fivefold.StoreError, match=r"only the owner .* may list its namespaces"):
            engine.store.namespaces()
        key, secret = Keyring(engine.store).create("the bot", "reader", ["default"])
        assert Keyring(engine.store).caller(secret).key_id == key.id
        assert [entry.subject for entry in Audit(engine.store).entries()] == [key.id]
    known = schema.migrations()
    newer = known[-1][0] + 1
    monkeypatch.setattr(schema, "migrations", lambda: (*known, (newer, "ALTER TABLE memories ADD COLUMN flavour text")))
    with pytest.raises(fivefold.StoreError, match=f"brought to schema version {newer}; open it once as its owner"):
        open_store(database.dsn(user, role=role))
    assert database.value("SELECT version FROM fivefold.fivefold_version") == newer - 1


def test_a_user_who_may_create_roles_makes_a_store_and_uses_it(database: OwnDatabase) -> None:
    """From PostgreSQL 16 on the maker of a role may grant it, and has to before acting as it."""
    user, role = database.new_user("CREATEROLE"), database.new_role()
    database.run("CREATE EXTENSION vector", f"GRANT CREATE ON DATABASE {database.database} TO {user}")
    with opened(database.dsn(user, role=role)) as engine:
        engine.remember("Sarah drinks tea")
        assert engine.recall("tea").hits
        assert engine.store.namespaces() == ("default",)


def test_who_may_not_create_the_role_is_told_what_to_ask_for(database: OwnDatabase) -> None:
    user, role = database.new_user(), database.new_role()
    database.run("CREATE EXTENSION vector", f"GRANT CREATE ON DATABASE {database.database} TO {user}")
    with pytest.raises(fivefold.StoreError, match=f"CREATE ROLE {role} NOLOGIN; GRANT {role} TO {user}"):
        open_store(database.dsn(user, role=role))
    database.run(f"CREATE ROLE {role} NOLOGIN")
    with pytest.raises(fivefold.StoreError, match=f"run: GRANT {role} TO {user}"):
        open_store(database.dsn(user, role=role))
    database.run(f"GRANT {role} TO {user}")
    open_store(database.dsn(user, role=role)).close()


def test_who_may_not_act_as_the_role_is_told_at_once(database: OwnDatabase) -> None:
    role, user = database.new_role(), database.new_user()
    open_store(database.dsn(role=role)).close()
    with pytest.raises(fivefold.StoreError, match=r"permission denied for schema fivefold|may not act as it"):
        open_store(database.dsn(user, role=role))
    database.run(
        f"GRANT USAGE ON SCHEMA fivefold TO {user}", f"GRANT SELECT ON ALL TABLES IN SCHEMA fivefold TO {user}"
    )
    with pytest.raises(fivefold.StoreError, match=f"may not act as it; .*GRANT {role} TO {user}"):
        open_store(database.dsn(user, role=role))


def test_who_may_not_add_the_extension_is_told_what_to_ask_for(database: OwnDatabase) -> None:
    user = database.new_user()
    with pytest.raises(fivefold.StoreError, match=r"run: CREATE EXTENSION vector|permission denied"):
        open_store(database.dsn(user))


def test_a_role_that_sees_everything_is_refused(database: OwnDatabase) -> None:
    mighty, owner = database.new_user("BYPASSRLS"), database.value("SELECT current_user")
    for role in (mighty, owner):
        with pytest.raises(fivefold.StoreError, match="can see every namespace, so it protects none"):
            open_store(database.dsn(role=role))
