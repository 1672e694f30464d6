"""Finding plugins: every installed distribution may add some through entry points (ARCHITECTURE, Rooms of the library)."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError

from odanon.errors import OdanonError, one_line, pass_on
from odanon.model.promise import Promise
from odanon.offered import AMBIGUOUS, OURS, TAKEN, Offered, offered, packages
from odanon.plugin import parameters_of

# stage -> (entry-point group, what a plugin of this stage must have)
STAGES = {
    "source": ("odanon.sources", ("enters", "available")),
    "staypoints": ("odanon.staypoints", ("detect",)),
    "zoning": ("odanon.zonings", ("assign", "tiles")),
    "hierarchy": ("odanon.hierarchies", ("build",)),
    "anonymize": (
        "odanon.anonymizers",
        ("anonymize", "check", "sentence", "verifiable", "overlapping", "leaves_out", "budgeted"),
    ),
    "metrics": ("odanon.metrics", ("figures", "evaluate", "combine")),
    "checks": ("odanon.checks", ("stage", "blocking", "run")),
    "store": ("odanon.stores", ("open",)),
    "engine": ("odanon.engines", ("map", "shuffle")),
    "notify": ("odanon.notifiers", ("notify",)),
    "calibrate": ("odanon.calibrators", ("calibrate",)),
    "place": ("odanon.placers", ("place",)),
}

_open_to_others = {*STAGES}  # stages in which plugins of other packages count

UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")  # what pydantic calls it


@dataclass(frozen=True)
class Parameter:
    """One parameter of a plugin as shown to people."""

    name: str
    type: str
    default: str
    description: str


@dataclass(frozen=True)
class Plugin:
    """An installed plugin: where it comes from and the class behind it."""

    stage: str
    name: str
    distribution: str
    cls: type

    @property
    def summary(self) -> str:
        """The first line of the class's docstring."""
        return (self.cls.__doc__ or "").strip().split("\n")[0]

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the parameters, with every reference resolved."""
        schema = TypeAdapter(self.cls).json_schema()
        return _inlined(schema, schema.pop("$defs", {}))

    @property
    def parameters(self) -> Iterator[Parameter]:
        for name, field in self.schema.get("properties", {}).items():
            default = f"default {field['default']}" if "default" in field else "required"
            yield Parameter(name, _type_name(field), default, field.get("description", ""))

    def create(self, parameters: dict[str, Any]) -> Any:
        """A validated instance; raises pydantic's ValidationError on a bad parameter.

        An anonymiser that promises less than its parameters and their declared defaults ask for is refused.
        """
        made, told = self._made(parameters)
        if self.stage == "anonymize" and (weaker := Promise.of(told).weaker_than(self.promise(parameters))):
            raise OdanonError(
                f"{self.name} of {self.distribution} promises less than it is asked to ({', '.join(weaker)});"
                " choose another algorithm"
            )
        return made

    def promise(self, parameters: dict[str, Any]) -> Promise:
        """What an anonymiser with these parameters is held to: they and the declared defaults, whatever it says itself."""
        fields = self.schema["properties"]
        declared = {name: field["default"] for name, field in fields.items() if "default" in field}
        return Promise.of({**declared, **parameters})

    def _made(self, parameters: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """An instance and its parameters as it tells them; whatever else than a refusal its class raises is one sentence."""
        try:
            made: Any = TypeAdapter(self.cls).validate_python(parameters)
            return made, parameters_of(made)
        except ValidationError:
            raise
        except BaseException as error:
            pass_on(error)
            raise OdanonError(
                f"the {self.stage} plugin {self.name!r} of {self.distribution} cannot be made ({type(error).__name__});"
                " choose another, and report it to its author"
            ) from None


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    return {key: _inlined(item, definitions) for key, item in schema.items()}


def _type_name(field: dict[str, Any]) -> str:
    if "enum" in field:
        return " | ".join(map(str, field["enum"]))
    if "anyOf" in field:
        return " | ".join(_type_name(option) for option in field["anyOf"])
    return str(field.get("const", field.get("type", "any")))


@dataclass(frozen=True)
class Broken:
    """An installed plugin that cannot be used, and why; it keeps nothing else from working."""

    stage: str
    name: str
    distribution: str
    why: str


def ours_alone() -> None:
    """From now on plugins of other packages do not exist in this process, but for stores; call it before looking for any."""
    _open_to_others.intersection_update({"store"})


@cache
def _offered(stage: str) -> dict[str, Offered]:
    found = offered(STAGES[stage][0])
    if stage in _open_to_others:
        return found
    return {name: offer for name, offer in found.items() if packages(offer.points) == OURS}


def installed(stage: str) -> list[Plugin | Broken]:
    """Every plugin of a stage by name, the broken ones too."""
    found: list[Plugin | Broken] = []
    for name, offer in sorted(_offered(stage).items()):
        found.append(_load(stage, name))
        found += [Broken(stage, name, packages((point,)), TAKEN) for point in offer.losing]
    return found


def names(stage: str) -> list[str]:
    """Names of the installed plugins of a stage that work."""
    return [found.name for found in installed(stage) if isinstance(found, Plugin)]


def find(stage: str, name: str) -> Plugin:
    """The plugin of this stage and name; an unknown name gets the nearest ones."""
    known = _offered(stage)
    if name not in known:
        hint = _nearest(name, known) or f"installed are: {', '.join(sorted(known)) or 'none'}"
        raise OdanonError(f"no {stage} plugin is called {name!r}; {hint} (`odanon plugins` lists them)")
    found = _load(stage, name)
    if isinstance(found, Broken):
        raise OdanonError(f"the {stage} plugin {name!r} of {found.distribution} is broken: {found.why}")
    return found


@cache
def _load(stage: str, name: str) -> Plugin | Broken:
    points = _offered(stage)[name].points
    owners = packages(points)
    if len(points) > 1:
        return Broken(stage, name, owners, AMBIGUOUS)
    try:
        cls = points[0].load()
        missing = lacks(stage, cls)
    except OdanonError as error:
        return Broken(stage, name, owners, f"{one_line(str(error))}; reinstall or update {owners}")
    except BaseException as error:  # whatever a stranger's module does when it is imported
        pass_on(error)
        return Broken(stage, name, owners, f"{type(error).__name__} when it was loaded; reinstall or update {owners}")
    if missing:
        return Broken(stage, name, owners, f"it has no {' and no '.join(missing)}; docs/plugins says what it needs")
    found = Plugin(stage, name, owners, cls)
    try:
        found.schema  # noqa: B018 - a class whose parameters cannot be told cannot be configured
    except BaseException as error:
        pass_on(error)
        return Broken(stage, name, owners, f"its parameters cannot be read ({type(error).__name__}); is it a @plugin?")
    return found


def lacks(stage: str, cls: type) -> list[str]:
    """What a plugin of a stage must have and this class has not."""
    return [what for what in STAGES[stage][1] if not hasattr(cls, what)]


def name_of(stage: str, cls: type) -> str:
    """The name under which a class is installed, or the class's own."""
    value = f"{cls.__module__}:{cls.__qualname__}"
    return next(
        (name for name, found in _offered(stage).items() if value in {point.value for point in found.points}),
        cls.__name__,
    )


def is_ours(stage: str, name: str) -> bool:
    """Whether the plugin of this name is our own."""
    return name in _offered(stage) and packages(_offered(stage)[name].points) == OURS


def create(stage: str, name: str, parameters: dict[str, Any]) -> Any:
    """A validated plugin; a bad parameter is one sentence."""
    found = find(stage, name)
    try:
        return found.create(parameters)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or name
        known = [parameter.name for parameter in found.parameters]
        raise OdanonError(f"{key}: {explain(first, known)}") from None


def _nearest(name: str, known: Iterable[str]) -> str:
    """The question whether a known name was meant, or nothing."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else ""


def explain(error: Any, known: Iterable[str] = ()) -> str:
    """What is wrong with a value and what to do, from one of pydantic's error records; `known` keys may stand there."""
    kind, context = error["type"], error.get("ctx", {})
    match kind:
        case "missing" | "missing_keyword_only_argument":
            return "this key is missing; add it"
        case _ if kind in UNKNOWN_KEY:
            hint = _nearest(str(error["loc"][-1]), known) if error["loc"] else ""
            return f"there is no such key here; {hint or 'remove it or correct its spelling'}"
        case "greater_than_equal":
            return f"too small; give {context['ge']} or more"
        case "greater_than":
            return f"too small; give more than {context['gt']}"
        case "less_than_equal":
            return f"too large; give {context['le']} or less"
        case "less_than":
            return f"too large; give less than {context['lt']}"
        case "literal_error":
            return f"not a choice; use {context['expected']}"
        case "value_error":
            return one_line(str(context["error"]))
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"{message}; correct the value"
