"""The report of one release: what it shows and promises, its map, plots, parameters and how to cite it."""

from collections.abc import Mapping
from html import escape
from string import Template
from typing import Any

import pandas as pd

from odanon.report.encode import encode_release
from odanon.report.page import MAP, asset, build_page, in_words, plain, table_rows, text

SCRIPTS = (
    "base.js",
    *MAP,
    "plots.js",
    "table.js",
    "flows.js",
    "composition.js",
    "beside.js",
    "app.js",
)

_UNITS = {
    "persons": "different people",
    "vehicles": "different vehicles",
    "trips": "trips",
    "population": "different people, standing for at least the population threshold",
}

# What the numbers are, where they are not the trips of the people in the data.
_MEASURED = {
    "population": "estimates, from people who stand for others, how many trips the population made, in round numbers that show nobody's weight,"
}

# The steps from raw data to the matrix, in the words of `input_counts`.
_STEPS = {
    "points": "location points",
    "people": "people",
    "staypoints": "stay points",
    "trips": "trips",
    "od_pairs": "tile pairs",
}

# Key figures that come first, in this order; others that their metric calls a headline follow.
_FIRST_CARDS = (
    "trips_published",
    "flows",
    "coarse_share",
    "suppressed_share",
    "persons_min_band",
    "gbar",
    "reconstruction_loss",
)
# Notes above the figures.
_TRIPS_ALONE = (
    '<p class="warning" role="note"><strong>Not person-anonymous.</strong> The threshold counts trips, not'
    " people: a single frequent traveller may be the only one behind a flow.</p>"
)
_TRIAL = (
    '<p class="warning" role="note"><strong>Trial.</strong> Nothing of this is published: it shows what publication would have shown. Not'
    " for the public.</p>"
)
_RISK = "risk_"  # how the figures of the risk report begin


def render_release(flows: pd.DataFrame, zones: pd.DataFrame, release: Mapping[str, Any]) -> str:
    """A self-contained page for one release, from public tables only; equal inputs give equal text.

    `flows` and `zones` have the columns of the published tables (docs/operations.md, What is published), `zones` with shapely
    geometry in EPSG:4326; `release` is the public release record.
    """
    facts = plain(release)
    tables = encode_release(flows, zones, facts["timezone"], facts.get("bins", ()))
    if names := facts.get("bin_names"):  # of bins that are no stretches of time, in their order
        tables["bins"] = [{**each, "label": name} for each, name in zip(tables["bins"], names, strict=True)]
    body = Template(asset("release.html")).substitute(
        title=text(facts["title"]),
        byline=_byline(facts),
        badges=_badges(facts),
        summary=_summary(facts, tables),
        warning=_warning(facts),
        steps=_steps(facts),
        cards=_cards(facts),
        set_out=_set_out(facts, tables),
        who=_who(facts),
        Who=_who(facts).capitalize(),
        parameters=table_rows(facts["parameters"]),
        risks=_risks(facts),
        metrics=table_rows({name: value for name, value in facts["metrics"].items() if not name.startswith(_RISK)}),
        versions=table_rows(facts.get("versions") or {}),
        citation=_citation(facts),
    )
    return build_page(facts["title"], body, {"release": facts, **tables}, SCRIPTS)


def _byline(facts: Mapping[str, Any]) -> str:
    days = " – ".join(facts[end] for end in ("window_start", "window_end") if end in facts)
    dated = [days, facts["timezone"]] if days else []
    parts = [facts["owner"], *dated, facts["licence"]]
    return " · ".join(text(part) for part in parts if part)


def _badges(facts: Mapping[str, Any]) -> str:
    """The verdicts of the two gatekeepers."""
    badges = []
    for role in ("verifier", "auditor"):
        verdict = facts.get(role)
        if isinstance(verdict, str):
            state = "good" if verdict == "passed" else "open"
            badges.append(f'<li class="{state}">{role} {text(verdict)}</li>')
    return "".join(badges)


def _summary(facts: Mapping[str, Any], tables: Mapping[str, Any]) -> str:
    rule, metrics = facts["parameters"], facts["metrics"]
    spans = tables.get("spans")
    coarse, left_out = metrics.get("coarse_share"), metrics.get("suppressed_share")
    # Nothing and what few people left out look the same.
    omitted = (
        f", and about {_percent(coarse)} of the trips are told coarsely, as rests of large areas" if coarse else ""
    )
    omitted += f", and about {_percent(left_out)} of the trips were left out" if left_out else ""
    return (
        f"This release {_MEASURED.get(rule['unit'], f'says how many trips {_who(facts)} made')} from one area to another"
        f"{_when(facts, tables)}. {_days(facts)}Each published flow has at least <strong>{in_words(rule['k'])}"
        f" {_UNITS[rule['unit']]}</strong> behind it: where fewer went, areas{' or times' if spans else ''} were enlarged until enough did"
        f"{omitted}. {_split(facts)}{_noise(facts)}That keeps a traveller from being singled out in these tables, yet k-anonymity alone does not"
        " stop somebody with outside knowledge from guessing that a person is in the data or where most people of"
        " an area went, so it is no proof of legal anonymity by itself."
    )


def _when(facts: Mapping[str, Any], tables: Mapping[str, Any]) -> str:
    """In which times of what; nothing of a release that tells no time."""
    bins, spans = len(tables["bins"]), tables.get("spans")
    if "window_start" not in facts:
        return f" in {bins} time bins" if bins > 1 else ""
    when = f"in {bins} time bins of" if bins > 1 else "in one time bin of"
    if spans:
        when = f"in {len(spans)} different stretches of time, each as long as it takes, of"
    if "window_end" in facts:
        return f" {when} the days from {text(facts['window_start'])} to {text(facts['window_end'])}"
    return f" {when} {_window(facts)} {text(facts['window_start'])}"


def _set_out(facts: Mapping[str, Any], tables: Mapping[str, Any]) -> str:
    """When the trips of a flow set out; hours of any clock have no zone, and a table without times has no bins."""
    zone = f" ({text(facts['timezone'])})" if "window_start" in facts else ""
    return f" that set out during its time bin{zone}" if zone or len(tables["bins"]) > 1 else ""


def _split(facts: Mapping[str, Any]) -> str:
    """How flows by segment are to be read."""
    names = " and ".join(text(name) for name in facts.get("segments") or ())
    if not names:
        return ""
    return (
        f"A flow is shown by {names} where each group has that many behind it or nobody, and otherwise for everybody"
        f" together; it never appears both ways{'' if 'perturb' in facts else ', so all rows add up'}. "
    )


def _noise(facts: Mapping[str, Any]) -> str:
    """What readers must know of numbers that are not exact."""
    said = facts.get("perturb", {}).get("sentence")
    return f"<strong>Not exact:</strong> {text(said)}. " if said else ""


def _warning(facts: Mapping[str, Any]) -> str:
    return (_TRIAL if facts.get("trial") else "") + (_TRIPS_ALONE if facts["parameters"]["unit"] == "trips" else "")


def _who(facts: Mapping[str, Any]) -> str:
    """What is counted as one."""
    return "vehicles" if facts["parameters"]["unit"] == "vehicles" else "people"


def _steps(facts: Mapping[str, Any]) -> str:
    """The way from raw data, as rounded counts, to published flows."""
    counts = facts.get("input_counts") or {}
    words = {**_STEPS, "people": _who(facts)}
    steps = [("about ", counts[key], label) for key, label in words.items() if counts.get(key) is not None]
    steps.append(("", facts["metrics"]["flows"], "published flows"))
    return "".join(f"<li>{about}<strong>{text(in_words(n))}</strong> {label}</li>" for about, n, label in steps)


def _cards(facts: Mapping[str, Any]) -> str:
    metrics, declared = facts["metrics"], facts["figures"]
    headlines = sorted(name for name, said in declared.items() if said["headline"] and name not in _FIRST_CARDS)
    wanted = [name for name in (*_FIRST_CARDS, *headlines) if metrics.get(name) not in (None, "") and name in declared]
    cards = [_card(_value(metrics[name], declared[name]), *_words(declared[name], _who(facts))) for name in wanted]
    sides = [metrics.get("origin_areas"), metrics.get("destination_areas")]
    if None not in sides:
        cards.insert(
            2, _card(" × ".join(map(in_words, sides)), "areas", "origins × destinations, in the time bin that has most")
        )
    return "".join(cards)


def _words(declared: Mapping[str, Any], who: str) -> tuple[str, str]:
    """Label and meaning of a figure, of whatever is counted as one."""
    label, meaning = (declared[name].replace("people", who) for name in ("label", "meaning"))
    return text(label), text(meaning)


def _value(value: Any, declared: Mapping[str, Any]) -> str:
    return _percent(value) if declared.get("unit") == "share" else in_words(value)


def _risks(facts: Mapping[str, Any]) -> str:
    """The public part of the risk report; nothing for a release without one."""
    metrics, declared = facts["metrics"], facts["figures"]
    known = [name for name in declared if name.startswith(_RISK) and metrics.get(name) is not None]
    rows = "".join(
        f'<tr><td>{text(_value(metrics[name], declared[name]))}</td><th scope="row">{text(declared[name]["meaning"])}</th></tr>'
        for name in known
    )
    return f'<h2>Risk that remains</h2><table class="facts risks"><tbody>{rows}</tbody></table>' if rows else ""


def _card(figure: str, label: str, meaning: str) -> str:
    return f"<li><strong>{text(figure)}</strong><span>{label}</span><small>{meaning}</small></li>"


def _window(facts: Mapping[str, Any]) -> str:
    return f"the {text(facts['window']) if 'window' in facts else 'window'} that starts on"


def _days(facts: Mapping[str, Any]) -> str:
    """Of a window longer than a day: what its numbers are sums of."""
    if "window" not in facts:
        return ""
    missing = len(facts["missing_days"])
    without = f" ({missing} of the window are missing)" if missing else ""
    return (
        f"Numbers are totals over its {in_words(facts['days'])} days{without}; a time bin adds up the same clock times of several"
        " days, and a person counts once in it. "
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _citation(facts: Mapping[str, Any]) -> str:
    version = (facts.get("versions") or {}).get("odanon")
    maker = f"odanon {version}" if version else "odanon"
    by = f"{facts['owner']}: " if facts["owner"] else ""
    window = f", window from {facts['window_start']}" if "window_start" in facts else ""
    named = f" Product {facts['product']}{window}, release {facts['release_id']}." if "release_id" in facts else ""
    licence = f" Licence: {facts['licence']}." if facts["licence"] else ""
    parts = (
        f"{by}{facts['title']}.{named} Origin-destination flows protected with k = {facts['parameters']['k']}"
        f" {facts['parameters']['unit']}, made with {maker}.{licence}"
    )
    return f'<bdi dir="ltr">{escape(parts)}</bdi>'
