"""A plugin that breaks the gate of its own process publishes nothing: the gate runs in another one (PRIVACY rule 17)."""

import json
import os
from pathlib import Path

import gate_town as gate
import pytest
from gate_town import people, town
from house import House
from repository import REPOSITORY

# Each publishes what the product's file, with k = 10, forbids, if what it patches is what decides.
EVIL = '''
import os
from dataclasses import replace
from pathlib import Path

import odanon.door
from odanon.anonymizers.atg.joint import AtgJoint
from odanon.api import Anonymizer, parameters_of, plugin

(Path(os.environ["ODANON_MARKS"]) / str(os.getpid())).touch()  # who imports this


class Evil(Anonymizer):
    def anonymize(self, od, origins, destinations):
        odanon.door.release_findings = lambda *_, **__: []
        self.patch()
        made = AtgJoint(k=2).anonymize(od, origins, destinations)
        return replace(made, parameters=parameters_of(self))


@plugin
class PatchesGate(Evil):
    """Replaces verifier, decision and stores."""

    def patch(self):
        import odanon.gate.verifier as verifier
        import odanon_assets.gate.verification as verification
        from odanon_assets.gate import decision
        from odanon_assets.stores.embedded import EmbeddedStore
        from odanon_assets.stores.postgis import PostgisStore

        verifier.verify = verification.verify = verification.release_findings = lambda *_, **__: []
        for name in ("verify_day", "unlike_tables", "audit_day", "promise_kept", "other_origin"):
            setattr(decision, name, lambda *_: [])
        for store in (EmbeddedStore, PostgisStore):
            real = store.publish
            store.publish = lambda self, bundle, gate, act=None, real=real: real(self, bundle, lambda: None, act)


@plugin
class PatchesLanguage(Evil):
    """Replaces what Python itself brings: whole numbers where they are counted, JSON wherever it is read."""

    def patch(self):
        import json

        import odanon.gate.verifier as verifier
        from odanon.model.promise import Promise

        real = json.loads

        def loads(*arguments, **options):
            told = real(*arguments, **options)
            if isinstance(told, dict) and "parameters" in told:
                told["parameters"]["k"] = 2
            return told

        json.loads = loads
        verifier.int = lambda *_: 0
        Promise.weaker_than = lambda *_: []
'''
FILES = {
    "odanon_evil.py": EVIL,
    "odanon_evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: odanon-evil\nVersion: 1.0\n",
    "odanon_evil-1.0.dist-info/entry_points.txt": """
[odanon.anonymizers]
gate = odanon_evil:PatchesGate
language = odanon_evil:PatchesLanguage
[pydantic]
evil = odanon_evil:PatchesGate
""",
}
# The day as a run makes it, into each store; without Dagster, which would only report it.
DAY_OF_EVIL = f"""
import json, os, sys
sys.path.insert(0, {str(REPOSITORY / "tests" / "support")!r})
from pathlib import Path
import gate_town as gate
from odanon.errors import OdanonError
from odanon_assets.chain.stages import STAGES, run_stage
from odanon_assets.stores.choice import open_store

said = {{}}
targets = {{"embedded": {{}}, "postgis": {{"store": "postgis", "url": "${{ODANON_DB_URL}}"}}}}
for name, target in targets.items():
    product = gate.town(Path.cwd(), name, anonymize={{"plugin": sys.argv[1], "k": 10}}, publish=target, dataset=name)
    gate.made(product)
    last, error = STAGES[-1], ""
    try:
        run_stage(product, last.name, gate.DAY, {{part: getattr(product, part).instance for part in last.plugins}})
    except OdanonError as refused:
        error = str(refused)
    said[name] = [error, open_store(product).windows(name)]
print(json.dumps([os.getpid(), said]))
"""


@pytest.fixture
def house(workspace: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> House:
    for name, content in FILES.items():
        path = workspace / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (workspace / "marks").mkdir()
    settings = {**gate.SECRET, "ODANON_DB_URL": database, "ODANON_MARKS": str(workspace / "marks")}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people())
    return House(workspace / "site", workspace)


@pytest.mark.parametrize("plugin", ["gate", pytest.param("language", marks=pytest.mark.thorough)])
def test_a_plugin_that_patches_its_own_process_publishes_nothing(house: House, plugin: str) -> None:
    done = house.run("python", "-c", DAY_OF_EVIL, plugin)
    assert done.returncode == 0, done.stderr
    process, said = json.loads(done.stdout.splitlines()[-1])
    for store, (error, windows) in said.items():
        assert "is not published: at-least-k: flows with fewer than 10 persons" in error, store
        assert windows == []
    assert os.listdir(house.root / "marks") == [str(process)], "the process that publishes has imported the plugin"


def test_what_the_file_promises_is_read_from_the_file(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A product that was changed in memory is held to its file."""
    from odanon.errors import OdanonError
    from odanon_assets.chain.stages import run_stage
    from odanon_assets.stores.choice import open_store

    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people())
    strict = town(workspace)
    file = workspace / "pipelines" / "town.yaml"
    text = file.read_text()
    weak = town(workspace, anonymize={"plugin": "atg-joint", "k": 2, "suppression": 0.1})
    gate.made(weak)
    file.write_text(text)
    with pytest.raises(OdanonError, match="is not published: promise: tables made with a weaker k"):
        run_stage(weak, "published", gate.DAY, {})
    assert open_store(strict).windows("town") == []
