"""`odanon db init` and `odanon db check`: the schema, the roles, and whether they are as they should be."""

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from odanon_assets.stores.database import execute, transaction
from odanon_assets.stores.roles import ADMIN, FUNCTIONS, MEMBERS, PUBLISHER, ROLES, SCHEMAS, TABLES, table_privileges

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "head"
_PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")


def init(url: str, revision: str = HEAD) -> None:
    """Bring a database, empty or of an earlier version, to a revision, with roles and grants; safe to repeat."""
    with transaction(url) as connection:
        # One initialisation at a time; the lock ends with the transaction.
        execute(connection, "SELECT pg_advisory_xact_lock(hashtextextended('odanon db init', 0))")
        execute(connection, "CREATE EXTENSION IF NOT EXISTS postgis")
        execute(connection, "CREATE SCHEMA IF NOT EXISTS work")
        _create_roles(connection)
        _migrate(connection, revision)
        if revision == HEAD:
            _grant(connection)


def _migrate(connection: "Connection", revision: str) -> None:
    from alembic import command

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    execute(connection, "COMMENT ON TABLE work.schema_version IS 'The version of this schema (Alembic).'")
    execute(connection, "COMMENT ON COLUMN work.schema_version.version_num IS 'Revision that was applied last.'")


def _config() -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(files("odanon_assets.stores.migrations")).replace("%", "%%"))
    return config


def _create_roles(connection: "Connection") -> None:
    known = set(execute(connection, "SELECT rolname FROM pg_roles").scalars())
    for role in ROLES:
        if role not in known:
            execute(connection, f"CREATE ROLE {role} NOLOGIN")
    for lower, upper in MEMBERS:
        execute(connection, f"GRANT {upper} TO {lower}")


def _grant(connection: "Connection") -> None:
    """Take every privilege away, then give what the list says."""
    everyone = ", ".join(("PUBLIC", *ROLES))
    for schema, users in SCHEMAS.items():
        execute(connection, f"REVOKE ALL ON SCHEMA {schema} FROM {everyone}")
        execute(connection, f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {everyone}")
        execute(connection, f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM {everyone}")
        execute(connection, f"GRANT USAGE ON SCHEMA {schema} TO {', '.join(users)}")
    execute(connection, f"GRANT CREATE ON SCHEMA raw TO {ADMIN}")
    for table in _relations(connection):
        for role, privileges in table_privileges(table).items():
            if privileges:
                execute(connection, f"GRANT {', '.join(sorted(privileges))} ON {table} TO {role}")
    for function, users in FUNCTIONS.items():
        if users:
            execute(connection, f"GRANT EXECUTE ON FUNCTION {function} TO {', '.join(users)}")
    execute(connection, _GRANT_TEMPORARY)


# Zones are loaded through a temporary table.
_GRANT_TEMPORARY = f"""
DO $$ BEGIN
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO {PUBLISHER}, {ADMIN}', current_database());
END $$"""


def _relations(connection: "Connection") -> list[str]:
    """Tables and views of our schemas, quoted where they must be; partitions are reached through their table."""
    found = execute(
        connection,
        "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname IN ('raw', 'work', 'published') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
        " AND NOT c.relispartition ORDER BY 1",
    )
    return list(found.scalars())


def check(url: str) -> list[str]:
    """What is missing or too open, one sentence each; empty when the database is as `init` makes it."""
    with transaction(url) as connection:
        return findings(connection)


def findings(connection: "Connection") -> list[str]:
    """The findings of `check` on an open connection."""
    missing = _missing(connection)
    return missing or [*_role_findings(connection), *_privilege_findings(connection), *_openings(connection)]


def _missing(connection: "Connection") -> list[str]:
    from alembic.script import ScriptDirectory

    found = []
    if not execute(connection, "SELECT 1 FROM pg_extension WHERE extname = 'postgis'").first():
        found.append("the extension postgis is missing; run `odanon db init`")
    schemas = set(execute(connection, "SELECT nspname FROM pg_namespace").scalars())
    found += [f"the schema {name} is missing; run `odanon db init`" for name in SCHEMAS if name not in schemas]
    roles = set(execute(connection, "SELECT rolname FROM pg_roles").scalars())
    found += [f"the role {role} is missing; run `odanon db init`" for role in ROLES if role not in roles]
    for table in TABLES:
        if execute(connection, "SELECT to_regclass(:table)", {"table": table}).scalar() is None:
            found.append(f"the table or view {table} is missing; run `odanon db init`")
    if not found:
        version = execute(connection, "SELECT version_num FROM work.schema_version").scalar()
        head = ScriptDirectory.from_config(_config()).get_current_head()
        if version != head:
            found.append(f"the schema is at version {version}, this odanon needs {head}; run `odanon db init`")
    return found


def _role_findings(connection: "Connection") -> list[str]:
    rows = execute(
        connection,
        "SELECT rolname FROM pg_roles WHERE rolname = ANY(:roles)"
        " AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls OR rolreplication)",
        {"roles": list(ROLES)},
    )
    found = [f"the role {role} is too powerful; take its superuser-like attributes away" for role in rows.scalars()]
    members = execute(
        connection,
        "SELECT lower_.rolname, upper_.rolname FROM pg_auth_members m JOIN pg_roles lower_ ON lower_.oid = m.member"
        " JOIN pg_roles upper_ ON upper_.oid = m.roleid WHERE lower_.rolname = ANY(:roles)",
        {"roles": list(ROLES)},
    )
    known = {(lower, upper) for lower, upper in members}
    found += [
        f"the role {lower} is a member of {upper} and should not be" for lower, upper in sorted(known - {*MEMBERS})
    ]
    lacking = [each for each in MEMBERS if each not in known]
    return found + [f"the role {lower} is no member of {upper}; run `odanon db init`" for lower, upper in lacking]


def privilege_matrix(connection: "Connection") -> dict[str, dict[str, frozenset[str]]]:
    """What each role may really do with each relation of our schemas, partitions included; `public` is everyone."""
    rows = execute(
        connection,
        "SELECT format('%I.%I', n.nspname, c.relname), role, privilege FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace, unnest(cast(:roles AS text[])) role,"
        " unnest(cast(:privileges AS text[])) privilege"
        " WHERE n.nspname IN ('raw', 'work', 'published') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
        " AND (has_table_privilege(role, c.oid, privilege) OR privilege IN ('SELECT', 'INSERT', 'UPDATE')"
        "      AND has_any_column_privilege(role, c.oid, privilege))",
        {"roles": [*ROLES, "public"], "privileges": list(_PRIVILEGES)},
    )
    matrix: dict[str, dict[str, set[str]]] = {}
    for table, role, privilege in rows:
        matrix.setdefault(table, {}).setdefault(role, set()).add(privilege)
    return {table: {role: frozenset(held) for role, held in roles.items()} for table, roles in matrix.items()}


def _privilege_findings(connection: "Connection") -> list[str]:
    actual = privilege_matrix(connection)
    found = []
    for table in sorted({*actual, *_relations(connection)}):
        for role, wanted in {**table_privileges(table), "public": frozenset[str]()}.items():
            held = actual.get(table, {}).get(role, frozenset())
            if held - wanted:
                found.append(f"{table} is too open: {role} has {', '.join(sorted(held - wanted))}")
            if wanted - held:
                found.append(f"{role} lacks {', '.join(sorted(wanted - held))} on {table}; run `odanon db init`")
    return found


def _openings(connection: "Connection") -> list[str]:
    found = []
    for schema, users in SCHEMAS.items():
        for role in (*ROLES, "public"):
            usage, create = execute(
                connection,
                "SELECT has_schema_privilege(:r, :s, 'USAGE'), has_schema_privilege(:r, :s, 'CREATE')",
                {"r": role, "s": schema},
            ).one()
            if usage and role not in users:
                found.append(f"the schema {schema} is too open: {role} may use it")
            if create and (schema, role) != ("raw", ADMIN):
                found.append(f"the schema {schema} is too open: {role} may create in it")
            if role in users and not usage:
                found.append(f"{role} may not use the schema {schema}; run `odanon db init`")
    if execute(connection, "SELECT has_schema_privilege('public', 'public', 'CREATE')").scalar():
        found.append("the schema public is too open: everyone may create in it; revoke CREATE from PUBLIC")
    found += _function_findings(connection)
    trigger = execute(
        connection,
        "SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'work.audit_log'::regclass AND tgname = 'append_only'",
    ).scalar()
    if trigger in (None, "D"):
        found.append("the audit log is too open: its append-only trigger is missing or disabled")
    return found


def _function_findings(connection: "Connection") -> list[str]:
    rows = execute(
        connection,
        "SELECT n.nspname || '.' || p.proname, role, has_function_privilege(role, p.oid, 'EXECUTE') FROM pg_proc p"
        " JOIN pg_namespace n ON n.oid = p.pronamespace, unnest(cast(:roles AS text[])) role"
        " WHERE n.nspname IN ('odanon', 'work') ORDER BY 1, 2",
        {"roles": [*ROLES, "public"]},
    )
    found = []
    for function, role, allowed in rows:
        wanted = role in FUNCTIONS.get(function, ())
        if allowed and not wanted:
            found.append(f"the function {function} is too open: {role} may call it")
        if wanted and not allowed:
            found.append(f"{role} may not call {function}; run `odanon db init`")
    return found
