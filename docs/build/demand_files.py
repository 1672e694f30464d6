"""The page of demand files: every key of the file that `odanon demand` takes."""

from pathlib import Path

import yaml
from keys import HEAD, Keys
from marks import fenced, page, table

from odanon.demand.settings import Demand

_FILE = "every-demand-key.yaml"
_INTRO = """What `odanon demand` and the key `demand` of [product files](product-file.md) take: one YAML file, beside which its tables lie. What it makes of them: [travellers](../demand.md)."""
_LEAST = "What a file cannot do without:"
_TABLE = "Each of the tables under `inputs` is a path, or a mapping with these keys. What columns they have: [the tables](../demand.md#the-tables)."
_ELSEWHERE = {
    "Input": "[a table](#a-table)",
    "Calibrate": "[calibrate plugin](plugins.md)",
    "Place": "[place plugin](plugins.md)",
}
_SAID = {
    "zones": "the zones of the model, with their outlines or centres",
    "census": "everybody of whom agents are made",
    "survey_people": "the respondents of the travel survey",
    "survey_trips": "their trips",
    "calibrate": "how is found how many people each agent stands for",
    "place": "how activities get their zones",
}


def demand_page(here: Path) -> str:
    """Every key of a demand file."""
    parts = (here / _FILE).read_text().split("\n---\n")
    examples = [yaml.safe_load(part) for part in parts]
    least = Demand.model_validate(examples[0]).model_dump(mode="json")
    for name in ("od", "census"):
        least["inputs"][name]["path"] = None  # the example's, and no default
    keys = Keys(Demand.model_json_schema(), least, [*examples[1:], examples[0]], _ELSEWHERE, _SAID, _FILE)
    of_a_table = keys.schema["$defs"]["Input"]["properties"]
    return page(
        "The demand file",
        _INTRO,
        _LEAST,
        fenced("yaml", parts[0].partition("\n")[2]),
        "## Every key",
        table(HEAD, keys.rows(keys.schema["properties"], keys.schema["required"])),
        *keys.sections((), keys.schema),
        "## A table",
        _TABLE,
        table(HEAD, keys.rows(of_a_table, [], ("inputs", "census"))),
        "## Everything in one file",
        fenced("yaml", parts[1]),
    )
