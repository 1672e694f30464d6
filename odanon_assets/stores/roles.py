"""Who may do what in the database (PRIVACY rule 10): the one list that init grants and check compares."""

READER, PUBLISHER, ADMIN = "odanon_reader", "odanon_publisher", "odanon_admin"
ROLES = (READER, PUBLISHER, ADMIN)
MEMBERS = ((PUBLISHER, READER), (ADMIN, READER))  # who publishes asks questions as readers do, with no more rights

_READ, _ADD = frozenset({"SELECT"}), frozenset({"SELECT", "INSERT"})
_ALL = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE"})
_NONE: frozenset[str] = frozenset()

SCHEMAS: dict[str, tuple[str, ...]] = {
    "raw": (ADMIN,),
    "work": (PUBLISHER, ADMIN),
    "published": ROLES,
    "odanon": ROLES,
}

# Reader, publisher, admin. Nobody changes a published row but the admin, by a named act; the audit log only grows.
TABLES: dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {
    "published.flow": (_NONE, _ADD, _ALL),
    "published.release": (_NONE, _ADD, _ALL),
    "published.metric": (_NONE, _ADD, _ALL),
    "published.weight": (_NONE, _ADD, _ALL),
    "published.pulse": (_NONE, _ADD, _ALL),
    "published.piece": (_NONE, _ADD, _ALL),
    "published.flow_time": (_NONE, _ADD, _ALL),
    "published.part": (_NONE, _ADD, _ALL),
    "published.prior": (_READ, _ADD, _ALL),
    "published.tile": (_READ, _ADD, _ALL),
    "published.zone_tile": (_READ, _ADD, _ALL),
    "published.zone_prior": (_READ, _ADD, _ALL),
    "published.release_window": (_READ, _ADD, _ALL),
    "published.release_zone": (_READ, _ADD, _ALL),
    "published.zone": (_READ, _ADD, _ALL),
    "published.zoning": (_READ, _ADD, _ALL),
    "published.visible_flow": (_READ, _READ, _READ),
    "published.visible_weight": (_READ, _READ, _READ),
    "published.pulses": (_READ, _READ, _READ),
    "published.pieces": (_READ, _READ, _READ),
    "published.flow_times": (_READ, _READ, _READ),
    "published.parts": (_READ, _READ, _READ),
    "published.flows": (_READ, _READ, _READ),
    "published.zones": (_READ, _READ, _READ),
    "published.tiles": (_READ, _READ, _READ),
    "published.weights": (_READ, _READ, _READ),
    "published.readings": (_READ, _READ, _READ),
    "published.releases": (_READ, _READ, _READ),
    "published.metrics": (_READ, _READ, _READ),
    "published.months": (_READ, _READ, _READ),
    "published.bins": (_READ, _READ, _READ),
    "published.daily_means": (_READ, _READ, _READ),
    "published.desire_lines": (_READ, _READ, _READ),
    "published.windows": (_READ, _READ, _READ),
    "published.reports": (_READ, _READ, _READ),
    "work.audit_log": (_NONE, _ADD, _ADD),
    "work.schema_version": (_NONE, _READ, _READ),
}

FUNCTIONS: dict[str, tuple[str, ...]] = {
    "odanon.ensure_month": (PUBLISHER, ADMIN),
    "odanon.ensure_product_view": (PUBLISHER, ADMIN),
    "odanon.comment_columns": (),
    "odanon.drawn": ROLES,
    "odanon.zone_shares": ROLES,
    "odanon.is_ground": ROLES,
    "odanon.the_product": ROLES,
    "odanon.weighted_releases": ROLES,
    "odanon.weight_shares": ROLES,
    "odanon.prior_shares": ROLES,
    "odanon.exact_share": ROLES,
    "odanon.time_zone": ROLES,
    "odanon.instant": ROLES,
    "odanon.window_span": ROLES,
    "odanon.span": ROLES,
    "odanon.steps": ROLES,
    "odanon.asked": ROLES,
    "odanon.time_shares": ROLES,
    "odanon.told": ROLES,
    "odanon.answers": ROLES,
    "odanon.profile": ROLES,
    "odanon.flow": ROLES,
    "odanon.matrix": ROLES,
    "odanon.crosswalk": ROLES,
    "work.refuse_change": (),
}


def table_privileges(table: str) -> dict[str, frozenset[str]]:
    """The privileges that each role should have on a table or view; views of products are for everyone to read."""
    if table.startswith("published.product_"):
        return dict.fromkeys(ROLES, _READ)
    return dict(zip(ROLES, TABLES.get(table, (_NONE, _NONE, _NONE)), strict=True))
