"""The questions that a server answers, each declared once: routes, checks and OpenAPI are made from this list."""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from odanon_assets.explore import models
from odanon_assets.explore.limits import AREAS, BODY_BYTES, VERTICES

_REFUSALS = {
    400: "the question is not of the form that is described here",
    404: "there is no such product",
    413: "what was sent is too large",
    422: "the question cannot be answered",
    503: "too many questions at once, or the store is away; Retry-After says when to ask again",
    504: "the answer took too long and was stopped",
}


@dataclass(frozen=True)
class Question:
    """A question by its name: where it is asked, what it is sent and what it answers."""

    name: str
    method: str
    path: str
    summary: str
    answer: type[BaseModel]
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    file: bool = False  # whether the body is that of a file


_PRODUCT = "/api/products/{product}"
QUESTIONS = (
    Question("products", "GET", "/api/products", "What is published, and the base map", models.Catalogue),
    Question("product", "GET", _PRODUCT, "One product and what became of its windows", models.Product),
    Question("flows", "GET", f"{_PRODUCT}/flows", "Zones and the flows between them", models.Flows, models.WhenAsked),
    Question(
        "zone",
        "GET",
        f"{_PRODUCT}/zone",
        "The exact outline of a zone, to ask about as an area",
        models.Area,
        models.ZoneAsked,
    ),
    Question(
        "matrix",
        "POST",
        f"{_PRODUCT}/matrix",
        "Trips between areas of one's own, with bounds",
        models.Matrix,
        body=models.MatrixAsked,
    ),
    Question(
        "profile",
        "POST",
        f"{_PRODUCT}/profile",
        "Trips from one area to another over time, with bounds",
        models.Profile,
        body=models.ProfileAsked,
    ),
    Question(
        "areas",
        "POST",
        "/api/areas",
        "The areas of a GeoJSON or GeoPackage file",
        models.Areas,
        models.FileAsked,
        file=True,
    ),
)
BY_NAME = {question.name: question for question in QUESTIONS}


@cache
def described() -> dict[str, Any]:
    """OpenAPI 3.1 of the server, relative to where it is mounted."""
    named = [model for each in QUESTIONS for model in (each.answer, each.body, each.query) if model is not None]
    told = {question.answer for question in QUESTIONS} | {models.Mistake}
    wanted: list[Any] = [(model, "serialization" if model in told else "validation") for model in dict.fromkeys(named)]
    refs, schemas = models_json_schema(
        [*wanted, (models.Mistake, "serialization")], ref_template="#/components/schemas/{model}"
    )
    by_model = {model: ref for (model, _), ref in refs.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "odanon explore",
            "version": version("odanon"),
            "description": "Published origin-destination tables; read-only. A question has at most"
            f" {BODY_BYTES:,} bytes, {AREAS} areas and {VERTICES:,} vertices.",
        },
        "servers": [{"url": "."}],
        "paths": {
            path: {each.method.lower(): _operation(each, by_model, schemas) for each in QUESTIONS if each.path == path}
            for path in dict.fromkeys(question.path for question in QUESTIONS)
        },
        "components": {"schemas": schemas["$defs"]},
    }


def _operation(question: Question, refs: dict[Any, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    answers = {200: ("the answer", question.answer)} | {
        code: (why, models.Mistake) for code, why in _REFUSALS.items() if code != 404 or "{product}" in question.path
    }
    parameters = [{"name": "product", "in": "path", "required": True, "schema": {"type": "string"}}]
    operation: dict[str, Any] = {
        "operationId": question.name,
        "summary": question.summary,
        "parameters": parameters if "{product}" in question.path else [],
        "responses": {
            str(code): {"description": why, "content": {"application/json": {"schema": refs[model]}}}
            for code, (why, model) in answers.items()
        },
    }
    if question.query is not None:
        told = schemas["$defs"][question.query.__name__]
        operation["parameters"] += [
            {"name": name, "in": "query", "required": name in told.get("required", ()), "schema": schema}
            for name, schema in told["properties"].items()
        ]
    if question.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": refs[question.body]}}}
    if question.file:
        binary = {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}
        operation["requestBody"] = {"required": True, "content": {"application/octet-stream": binary}}
    return operation
