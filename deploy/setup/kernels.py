"""Compile the kernels of every installed algorithm, each once: processes that start together would all compile the same.

The conformance suites call them with the types that the stages give them.
"""

from concurrent.futures import ProcessPoolExecutor

from odanon import registry
from odanon.testing import anonymizers, check_anonymizer, check_staypoints

_LONG = ("atg-lattice", "atg-joint")  # to compile; they are begun first


def of_anonymizer(name: str) -> None:
    """Few cities are enough: their types are those of all."""
    anonymizers._ENOUGH = anonymizers._ENOUGH_LIMITED = 1
    check_anonymizer(registry.find("anonymize", name).cls, may_refuse=True)


def of_staypoints(name: str) -> None:
    check_staypoints(registry.create("staypoints", name, {}))


if __name__ == "__main__":
    names = sorted(registry.names("anonymize"), key=lambda name: name not in _LONG)
    with ProcessPoolExecutor(2) as processes:
        done = [*processes.map(of_anonymizer, names), *processes.map(of_staypoints, registry.names("staypoints"))]
