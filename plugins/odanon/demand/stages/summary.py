"""What a run tells a modeller in the terminal."""

from collections.abc import Callable, Iterator
from typing import Any

from odanon.demand.contracts import PUBLISHED

Figures = dict[str, Any]


def summary(evaluation: Figures) -> Iterator[str]:
    """The lines of a whole run."""
    yield from _prepared(evaluation["inputs"])
    yield from _matched(evaluation["matching"])
    yield from _calibrated(evaluation["calibration"])
    yield from _placed(evaluation["places"])
    yield from _fitted(evaluation)


def _prepared(told: Figures) -> Iterator[str]:
    census, survey, od = told["census"], told["survey"], told["od"]
    asked, kept = (survey["activities of a person"][name] for name in ("asked", "after the filter"))
    yield f"census     {census['agents']:,} agents for {census['people']:,.0f} people in {told['zones']['zones']:,} zones"
    yield f"survey     {survey['agendas']:,} different agendas, {kept:.2f} activities a person ({asked:.2f} before the filter)"
    yield f"matrices   {od['trips']:,.0f} trips in {len(told['steps'])} steps"
    if empty := od["steps without trips"]:
        yield f"  note     the matrices have no trips in step {', '.join(map(str, empty))}: whoever travels then will count for nobody"
    for note in od.get(PUBLISHED, {}).get("notes", ()):
        yield f"  note     {note}"
    for table in ("zones", "census", "survey", "od"):
        for why, rows in told[table]["left_out"].items():
            yield f"  left out {rows:,} of {table}: {_why(why)}"
    if strangers := survey["trips of nobody in survey_people"]:
        yield f"  left out {strangers:,} trips of the survey: of nobody in survey_people"


def _why(why: str) -> str:
    return f"no usable {why}" if " " not in why else why


def _matched(told: Figures) -> Iterator[str]:
    shares = " ".join(f"{name} {share:.0%}" for name, share in told["share of agents by keys"].items())
    yield f"donors     {told['donors']:,} respondents with {told['agendas']:,} agendas; agents agree with theirs on {shares}"
    if lost := told["respondents left out"]:
        mean = told["activities of a person"]
        yield (
            f"  left out {lost:,} respondents, {told['share of weight left out']:.0%} of the survey's weight: fewer than min_donors have"
            f" their agenda; the others have {mean['donors']:.2f} activities a day, all {mean['respondents']:.2f}"
        )
    for key, agents in told["agents with a value that no donor has"].items():
        yield f"  note     {agents:,} agents have a value of {key} that no donor has"


def _calibrated(told: Figures) -> Iterator[str]:
    shares = told["share of trips by step"]
    gaps = {name: _gap(shares["od"], shares[f"agents {name}"]) for name in ("before", "after", "as whole people")}
    yield (
        f"calibrated {told['groups']:,} groups; largest gap of a step's share {gaps['before']:.2%} before, {gaps['after']:.2%} after,"
        f" {gaps['as whole people']:.2%} as whole people"
    )
    yield f"           coefficients: sd {told['sd']:.2f}, Gini {told['gini']:.2f}; rounding is expected to lose {told['lost']:.0%} of agents"
    if empty := told["steps without agents"]:
        yield f"  note     no agent travels in step {', '.join(map(str, empty))}, where the matrices have trips"


def _gap(one: list[float], two: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, two, strict=True))


def _placed(told: Figures) -> Iterator[str]:
    yield f"placed     {told['travellers']:,} travellers"
    elsewhere = {name: number for name, number in told["origins without trips"].items() if number}
    if elsewhere:
        listed = ", ".join(f"{name} {number:,}" for name, number in elsewhere.items())
        yield f"  note     origins without trips in a step, and where models that go by chances look instead: {listed}"


def _fitted(told: Figures) -> Iterator[str]:
    places, commute = told["places"], told["commute"]
    od, length = places["od fit"], places["trip length_m"]
    middle = length["quantiles"].index(0.5)
    yield f"OD fit     R2 {od['r2']:.3f}, KL {od['kl']:.2f} ({od['kl_common']:.2f} on pairs that both have)"
    yield (
        f"trips      {places['trips']:,.0f}; within a zone {places['within a zone']['agents']:.0%} (matrices"
        f" {places['within a zone']['od']:.0%}); median length {length['agents'][middle]:,.0f} m ({length['od'][middle]:,.0f} m)"
    )
    if commute is not None and commute["fit"] is not None:
        yield f"commuters  R2 {commute['fit']['r2']:.3f}, KL {commute['fit']['kl']:.2f}"
    elif commute is not None:
        yield f"commuters  no measure: {commute['why']}"


LINES: dict[str, Callable[[Figures], Iterator[str]]] = {
    "prepare": _prepared,
    "match": _matched,
    "calibrate": _calibrated,
    "place": _placed,
}
