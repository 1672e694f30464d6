"""What common practices and consecutive days give away, and what each k costs: the figures of docs/privacy.md.

Counts, not times: they are the same on every machine. Run it with `make bench ONLY=leaks`.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from generate import City, person_rows

from odanon import registry
from odanon.anonymizers.noise.cellkey import perturbed
from odanon.anonymizers.segments import split_by_segment
from odanon.gate.audit.auditor import audit
from odanon.gate.audit.published import TOTAL, Content, PublishedMatrix
from odanon.gate.release import area_tiles
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.risk.membership import membership_auc
from odanon.risk.report import risk_report

START, DAY = datetime(2026, 3, 2, tzinfo=UTC), timedelta(days=1)
_KM_PER_DEGREE = 111.2


def week() -> tuple[Hierarchy, pd.DataFrame]:
    """A round city of 1,000 tiles of 1 km and a week of 12,000 people; each has a sex and stands for 1 to 9 others."""
    rng = np.random.default_rng(7)
    city = City.make(1_000, rng)
    y, x = city.centre.T / _KM_PER_DEGREE
    tree = city.tree.placed(city.tree.label[city.tree.tiles], 45 + y, 5 + x / np.cos(np.radians(45)))
    origin, destination, trips, person = person_rows(city, 60_000, rng)
    day = rng.integers(0, 7, len(person))
    sex, weight = rng.choice(["F", "M"], person.max() + 1), rng.uniform(1, 9, person.max() + 1)
    labels = tree.label[tree.tiles]
    table = pd.DataFrame(
        {
            "time": pd.Timestamp(START).as_unit("us") + pd.to_timedelta(day, unit="D"),
            "origin": labels[origin],
            "destination": labels[destination],
            "person": person,
            "sex": sex[person],
            "weighted": np.round(weight[person] * trips).astype(np.int64),
            "trips": trips,
        }
    )
    keys = ["time", "origin", "destination", "person", "sex"]
    return tree, table.groupby(keys, as_index=False).sum()


class Town:
    """The week, and how its releases are made."""

    def __init__(self) -> None:
        self.tree, self.rows = week()

    def od(self, rows: pd.DataFrame, trips: str = "trips") -> ODMatrix:
        counted = rows.groupby(["origin", "destination", "person"], as_index=False)[trips].sum()
        return ODMatrix.from_frame(counted.rename(columns={trips: "trips"}), self.tree, self.tree)

    def release(self, od: ODMatrix, algorithm: str = "atg-joint", **parameters: Any) -> Release:
        promise = {"k": 10, "suppression": 0.1, **parameters}
        return registry.create("anonymize", algorithm, promise).anonymize(od, self.tree, self.tree)

    def published(
        self, name: str, rows: pd.DataFrame, days: tuple[int, int] = (0, 7), segment: str = TOTAL, **how: Any
    ) -> PublishedMatrix:
        """A matrix of the rows of some days, published under a name."""
        start, end = (START + n * DAY for n in days)
        inside = rows[(rows["time"] >= start) & (rows["time"] < end)]
        made = self.release(self.od(inside), **how)
        areas = [area_tiles(part, self.tree) for part in (made.origins, made.destinations)]
        algorithm: Any = registry.find("anonymize", how.get("algorithm", "atg-joint")).cls
        told = made.assignment if algorithm.overlapping or algorithm.leaves_out else None
        content = Content(made.flows, areas[0], areas[1], inside, told)
        return PublishedMatrix(
            name, name, "phones", start, end, made.parameters["k"], "persons", lambda: content, segment
        )


def say(practice: str, found: str) -> None:
    print(f"{practice:<44} {found}", flush=True)


def below(town: Town, rows_trips: str) -> str:
    """Flows of fewer than 10 people when k counts (weighted) trips."""
    od = town.od(town.rows, rows_trips)
    persons = town.release(od, unit="trips").flows["persons"].to_numpy()
    few = persons < 10
    return (
        f"{few.sum():,} of {len(few):,} flows below 10 people, {(persons == 1).sum():,} of one, fewest {persons.min()}"
    )


def together(candidate: list[PublishedMatrix], others: list[PublishedMatrix]) -> str:
    findings = audit(candidate, others)
    return "; ".join(f"{finding.rule} {finding.count}" for finding in findings) or "passes"


def leaks(town: Town) -> None:
    """Every naive practice and the joint release that replaces them."""
    rows, tree = town.rows, town.tree
    say("people, trips, tiles", f"{rows['person'].nunique():,}, {rows['trips'].sum():,}, {tree.n_leaves:,}")
    say("k counts trips", below(town, "trips"))
    say("k counts weighted trips", below(town, "weighted"))
    whole = town.published("whole", rows)
    say("k = 10 and k = 15", together([town.published("again", rows, k=15)], [whole]))
    for algorithm in ("atg-dual", "atg-homogeneous", "oigh", "mondrian"):
        say(f"atg-joint and {algorithm}", together([town.published("other", rows, algorithm=algorithm)], [whole]))
    sexes = [town.published(sex, rows[rows["sex"] == sex], segment=f"sex={sex}") for sex in ("F", "M")]
    say("total and tables by sex", together(sexes, [whole]))
    days = [town.published(f"day {n}", rows, (n, n + 1)) for n in range(7)]
    say("a week and its days", together([whole], days))
    removed = [town.published("again", rows[rows["person"] != who]) for who in rows["person"].unique()[:10]]
    say("re-issued without one person", f"refused in {sum(bool(audit([one], [whole])) for one in removed)} of 10")
    made = town.release(town.od(rows))
    parts = {sex: town.od(rows[rows["sex"] == sex]) for sex in ("F", "M")}
    split = split_by_segment(made, parts, registry.create("anonymize", "atg-joint", {"k": 10}), tree, tree)
    n, trips = (len(made.flows) - len(split[TOTAL].flows)), split[TOTAL].flows["trips"].sum()
    share = 1 - trips / made.flows["trips"].sum()
    say("joint release by sex", f"{n:,} of {len(made.flows):,} flows split, {share:.0%} of the trips")


def choices(town: Town) -> None:
    """What every k costs and protects."""
    od = town.od(town.rows)
    for k in (5, 10, 20, 50):
        made = town.release(od, k=k)
        report = risk_report(od, made, town.tree, town.tree)
        attack = membership_auc(registry.create("anonymize", "atg-joint", {"k": k}))
        say(f"k = {k}", f"{len(made.flows):,} flows, Gbar {made.metrics['Gbar']:.0f}, AUC {attack['released']:.2f}")
        for name, value in {**report.public(k, "persons"), **report.restricted()}.items():
            say("", f"{name} {value:g}")
        say("", f"homogeneity at most {report.origins['homogeneity'].max():.2f}")
    say("membership without protection", f"AUC {attack['unprotected']:.2f}")


class Commuters:
    """12,000 people who go to work and back; each stays at home on 2 % of the days."""

    def __init__(self) -> None:
        self.rng, self.secret = np.random.default_rng(11), np.random.default_rng(12)
        city = City.make(1_000, self.rng)
        self.tree, self.labels = city.tree, city.tree.label[city.tree.tiles]
        self.home = city.anywhere(12_000, self.rng)
        self.work = city.next_tiles(self.home, self.rng)

    def window(self, days: int) -> pd.DataFrame:
        """Rows of some days, all in one time bin."""
        parts = []
        for _ in range(days):
            person = np.flatnonzero(self.rng.random(len(self.home)) >= 0.02)
            home, work = self.labels[self.home[person]], self.labels[self.work[person]]
            for origin, destination in ((home, work), (work, home)):
                parts.append(pd.DataFrame({"origin": origin, "destination": destination, "person": person}))
        rows = pd.concat(parts).groupby(["origin", "destination", "person"]).size().reset_index(name="trips")
        return rows.assign(time_bin=START, segment=TOTAL)

    def released(self, rows: pd.DataFrame, k: int) -> tuple[ODMatrix, Release]:
        od = ODMatrix.from_frame(rows, self.tree, self.tree)
        promise = {"k": k, "suppression": 0.1}
        return od, registry.create("anonymize", "atg-joint", promise).anonymize(od, self.tree, self.tree)

    def noisy(self, rows: pd.DataFrame, release: Release, k: int) -> Release:
        """The release with cell-key noise, under pseudonyms that everybody has for this window only."""
        hidden = self.secret.integers(0, 2**63 - 1, len(self.home))
        ends = dict.fromkeys(("origin", "destination"), "str")
        flows, assignment = (table.astype(ends).assign(time_bin=START) for table in (release.flows, release.assignment))
        people = rows.assign(person=hidden[rows["person"]])
        shown = perturbed(flows.assign(segment=TOTAL), people, flows, assignment, k)
        return replace(release, flows=release.flows.assign(trips=shown["trips"], persons=shown["persons"]))


def trips_by_person(rows: pd.DataFrame, release: Release) -> pd.DataFrame:
    """Trips of everybody in every flow, and what the flow shows."""
    ends = dict.fromkeys(("origin", "destination"), "str")
    placed = rows.merge(release.assignment.drop(columns="trips").astype(ends), on=["origin", "destination"])
    placed = placed[placed["flow"] >= 0].groupby(["flow", "person"])["trips"].sum().reset_index()
    flows = release.flows.astype(ends)[["origin", "destination", "trips"]].rename(columns={"trips": "shown"})
    return placed.join(flows, on="flow").drop(columns="flow")


def changes(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Flows that two windows show: whose trips are not the same, how many they are, and how the number changed."""
    flow = ["origin", "destination"]
    shown = [each.groupby(flow)["shown"].first() for each in (before, after)]
    both = pd.merge(before, after, on=[*flow, "person"], how="outer", suffixes=("", "_after"))
    step = both["trips_after"].fillna(0) - both["trips"].fillna(0)
    moved = both.assign(step=step)[step != 0]
    found = pd.DataFrame({"seen": shown[1] - shown[0]}).dropna().astype(int)
    groups = moved.groupby(flow)
    told = {"people": groups.size(), "step": groups["step"].sum(), "who": groups["person"].first()}
    return found.join(pd.DataFrame(told)).fillna({"people": 0, "step": 0})


def attack(commuters: Commuters, practice: str, k: int = 10, days: int = 1, noise: bool = False) -> None:
    """Five windows in a row: who is alone behind a change, and how well the change tells it."""
    tables, losses, n_flows, off = [], [], [], []
    for rows in (commuters.window(days) for _ in range(5)):
        od, made = commuters.released(rows, k)
        true = made.flows["trips"]
        made = commuters.noisy(rows, made, k) if noise else made
        off.append((made.flows["trips"] - true).abs().sum() / true.sum())
        tables.append(trips_by_person(rows, made))
        losses.append(registry.create("metrics", "reconstruction", {}).evaluate(od, made)["E"])
        n_flows.append(len(made.flows))
    found = pd.concat([changes(*pair) for pair in pairwise(tables)])
    alone, nobody = found["people"] == 1, found["people"] == 0
    guessed = found["seen"].abs() == 1
    fewer = alone & (found["step"] < 0)
    say(
        practice,
        f"{np.mean(n_flows):.0f} flows, {alone.mean():.0%} of {len(found):,} repeated ones changed by one person,"
        f" {found.loc[alone, 'who'].nunique()} people; a step of one is one person in {alone[guessed].mean():.0%};"
        f" fewer are shown in {(found['seen'][fewer] < 0).mean():.0%} where one person left, in"
        f" {(found['seen'][nobody] < 0).mean():.0%} where nobody did; E {np.mean(losses):.4f}, numbers off by {np.mean(off):.1%}",
    )


def consecutive() -> None:
    """What one day after another tells, and what helps."""
    attack(Commuters(), "days")
    attack(Commuters(), "days, k = 20", k=20)
    attack(Commuters(), "days, k = 50", k=50)
    attack(Commuters(), "weeks of five days", days=5)
    attack(Commuters(), "months of twenty days", days=20)
    attack(Commuters(), "days, cell-key noise", noise=True)
    attack(Commuters(), "days, k = 20, cell-key noise", k=20, noise=True)


if __name__ == "__main__":
    town = Town()
    leaks(town)
    choices(town)
    consecutive()
