"""Plugins in a product file: a name with its parameters beside it, one kind of choice a stage."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from odanon import protocols, registry
from odanon.errors import OdanonError
from odanon.metrics.declared import refused_metrics
from odanon.model.promise import Promise
from odanon.plugin import parameters_of
from odanon.reconstruct.prior import read_weights

_WEIGHTS = (
    "Parquet or CSV file of public weights by tile, such as residents and jobs, that a release can be read by: the column tile, a"
    " column for what leaves and, if another one, a column for what enters"
)


@dataclass(frozen=True)
class Stranger:
    """A plugin of another package, where none of them may run: what it was set up with, as data."""

    parameters: dict[str, Any]
    verifiable: ClassVar[bool] = True  # whatever it is: the verifier counts again
    timed: ClassVar[bool] = True  # the door has asked it, and the verifier looks at its intervals
    enters: ClassVar[str] = "traces"

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__.get("parameters", {})  # a copy has none until it is filled
        if name in known:
            return known[name]
        raise AttributeError(name)


class PluginChoice(BaseModel):
    """A plugin by name with its parameters beside it: `{plugin: dwell, radius_m: 100}`."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, extra="forbid")
    stage: ClassVar[str]
    beside: ClassVar[dict[str, Any]] = {}  # keys of ours beside the plugin's parameters, with their JSON schemas

    plugin: str
    instance: Any = Field(exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str):
            value = {"plugin": value}
        if not isinstance(value, dict) or not isinstance(value.get("plugin"), str):
            raise ValueError("name a plugin here, such as {plugin: " + _example(cls.stage) + "}")
        name, ours = value["plugin"], {key: item for key, item in value.items() if key in cls.beside}
        parameters = {key: item for key, item in value.items() if key != "plugin" and key not in ours}
        if info.context is not None and not registry.is_ours(cls.stage, name):
            told = info.context.get(cls.stage, {})
            known = {key: told[key] for key in told if key != "plugin"} if told.get("plugin") == name else parameters
            return {"plugin": name, "instance": Stranger(known), **ours, **cls._more(None, parameters)}
        found = registry.find(cls.stage, name)
        return {"plugin": found.name, "instance": found.create(parameters), **ours, **cls._more(found, parameters)}

    @classmethod
    def _more(cls, found: registry.Plugin | None, parameters: dict[str, Any]) -> dict[str, Any]:
        """What else is known of the choice, read from the file and not asked of the plugin."""
        return {}

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters, defaults included, as JSON values."""
        return self.instance.parameters if isinstance(self.instance, Stranger) else parameters_of(self.instance)

    @model_serializer
    def _serialise(self) -> dict[str, Any]:
        return {"plugin": self.plugin, **self.parameters}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        installed = registry.names(cls.stage)
        by_name = {"enum": installed, "description": "a plugin with its default parameters"}
        return {"oneOf": [by_name, *(_choice_schema(registry.find(cls.stage, name), cls.beside) for name in installed)]}


def _example(stage: str) -> str:
    return next(iter(registry.names(stage)), "NAME")


def _choice_schema(plugin: registry.Plugin, beside: dict[str, Any]) -> dict[str, Any]:
    schema = dict(plugin.schema)
    schema["properties"] = {"plugin": {"const": plugin.name}, **schema.get("properties", {}), **beside}
    schema["required"] = ["plugin", *schema.get("required", [])]
    schema["description"] = plugin.summary
    schema["additionalProperties"] = False
    return schema


class Source(PluginChoice):
    stage: ClassVar[str] = "source"
    instance: SkipValidation[protocols.Source] = Field(exclude=True, repr=False)


class Staypoints(PluginChoice):
    stage: ClassVar[str] = "staypoints"
    instance: SkipValidation[protocols.StayDetector] = Field(exclude=True, repr=False)


class Zoning(PluginChoice):
    stage: ClassVar[str] = "zoning"
    beside: ClassVar[dict[str, Any]] = {"weights": {"type": "string", "format": "path", "description": _WEIGHTS}}
    instance: SkipValidation[protocols.Zoning] = Field(exclude=True, repr=False)
    weights: Path | None = Field(None, exclude=True, description=_WEIGHTS)

    @field_validator("weights")
    @classmethod
    def _readable(cls, value: Path | None) -> Path | None:
        if value is not None:
            try:
                read_weights(value)
            except OdanonError as error:
                raise ValueError(str(error)) from None
        return value


class HierarchyChoice(PluginChoice):
    stage: ClassVar[str] = "hierarchy"
    instance: SkipValidation[protocols.HierarchyBuilder] = Field(exclude=True, repr=False)


class Anonymize(PluginChoice):
    stage: ClassVar[str] = "anonymize"
    instance: SkipValidation[protocols.Anonymizes] = Field(exclude=True, repr=False)
    promise: SkipValidation[Promise] = Field(exclude=True, repr=False)  # of the product's file

    @classmethod
    def _more(cls, found: registry.Plugin | None, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"promise": Promise.of(parameters) if found is None else found.promise(parameters)}


class Metric(PluginChoice):
    stage: ClassVar[str] = "metrics"
    instance: SkipValidation[protocols.Metric] = Field(exclude=True, repr=False)

    @model_validator(mode="after")
    def _contradicts_nobody(self) -> Self:
        if why := refused_metrics().get(self.plugin):
            raise ValueError(why)
        return self


class CheckChoice(PluginChoice):
    stage: ClassVar[str] = "checks"
    instance: SkipValidation[protocols.DayCheck] = Field(exclude=True, repr=False)


class Engine(PluginChoice):
    stage: ClassVar[str] = "engine"
    instance: SkipValidation[protocols.Engine] = Field(exclude=True, repr=False)


class Notifier(PluginChoice):
    stage: ClassVar[str] = "notify"
    instance: SkipValidation[protocols.Notifier] = Field(exclude=True, repr=False)
