"""Risks of ATG-Lattice and ATG-Joint side by side, and the k at which the lattice is no riskier: a table of docs/privacy.md.

The city is that of bench_leaks (k counts people). Fine steps put halves and pairs between an area and its parts; the membership attack has a city
and a tree of its own. Counts, not times. Run it with `make bench ONLY=risks`.
"""

from typing import Any

from bench_leaks import Town

from odanon import registry
from odanon.metrics.measure import measured_window
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.risk.membership import membership_auc
from odanon.risk.report import risk_report

PROMISES = {"atg-joint": (5, 10, 20), "atg-lattice": (5, 10, 20, 7, 12, 14, 16, 25)}
HEADS = (
    *(
        "method",
        "k",
        "rows",
        "tiles per trip",
        "E",
        "error on 30 areas",
        "left out",
        "membership AUC",
        "homogeneity (most)",
    ),
    *("its tiles", "dominated", "minimality"),
)


def with_halves(tree: Hierarchy) -> Hierarchy:
    """The same tree with pairs of children, and halves of four and the others, between every node and its children."""
    label, parent = tree.label.tolist(), tree.parent.tolist()
    for node in range(len(tree)):
        children = tree.children[tree.child_start[node] : tree.child_start[node + 1]].tolist()
        for half in (children[:4], children[4:]) if len(children) > 2 else ():
            above = _insert(label, parent, f"{tree.label[node]}/h{half[0]}", node) if len(children) > 4 else node
            for pair in (half[:2], half[2:4], half[4:]):
                into = _insert(label, parent, f"{tree.label[node]}/p{pair[0]}", above) if len(pair) > 1 else above
                for child in pair:
                    parent[child] = into
    fine = Hierarchy.from_parents(label, parent, kind="fine")
    return fine.placed(tree.label[tree.tiles], tree.lat, tree.lon)


def _insert(label: list[str], parent: list[int], name: str, above: int) -> int:
    label.append(name)
    parent.append(above)
    return len(label) - 1


def row(town: Town, tree: Hierarchy, algorithm: str, k: int, **more: Any) -> tuple[str, ...]:
    """What the release keeps, and its risks."""
    rows = town.rows.groupby(["origin", "destination", "person"], as_index=False)["trips"].sum()
    od = ODMatrix.from_frame(rows, tree, tree)
    plugin = registry.create("anonymize", algorithm, {"k": k, "suppression": 0.1, **more})
    made = plugin.anonymize(od, tree, tree)
    kept = measured_window({None: od}, {None: made})
    report = risk_report(od, made, tree, tree)
    public = report.public(k, "persons")
    return (
        f"{len(made.flows):,}",
        f"{kept['Gbar']:.1f}",
        f"{kept['E']:.2f}",
        f"{kept['areas_error_30']:.3f}",
        f"{kept['S_share']:.1%}",
        f"{membership_auc(plugin)['released']:.3f}",
        f"{public['homogeneity_mean']:.0%} ({report.origins['homogeneity'].max():.0%})",
        f"{public['homogeneous_tiles_mean']:.0f}",
        f"{public['dominated_share']:.0%}",
        f"{report.restricted()['minimality_mean']:.2f}",
    )


def say(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    town = Town()
    fine = with_halves(town.tree)
    say(*HEADS)
    say(*["---:"] * len(HEADS))
    for algorithm, ks in PROMISES.items():
        for k in ks:
            say(algorithm, k, *row(town, town.tree, algorithm, k))
    for k in (5, 10, 20):
        say("atg-lattice without rests", k, *row(town, town.tree, "atg-lattice", k, rests=False))
    for k in (5, 10, 14, 16, 20):
        say("atg-lattice, fine steps", k, *row(town, fine, "atg-lattice", k))
