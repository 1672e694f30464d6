"""What a release promises, in words for its readers."""

from typing import Any


def promise(parameters: dict[str, Any]) -> str:
    """One sentence from the parameters of an anonymiser (ALGORITHMS, The unit that k counts)."""
    k, unit = parameters["k"], parameters["unit"]
    if "epsilon" in parameters and "delta" in parameters:
        epsilon, delta = parameters["epsilon"], parameters["delta"]
        return f"({epsilon:g}, {delta:g})-differential privacy for each of the {unit}; numbers are noisy"
    if "epsilon" in parameters:
        return "a baseline for comparisons, not a protection: noise hides single trips and its seed is known"
    if unit == "trips":
        return f"not person-anonymous: every flow holds at least {k} trips, perhaps of fewer people"
    if unit == "population":
        weight = parameters["k_population"]
        return f"every flow holds at least {k} distinct persons who stand for at least {weight:g} inhabitants"
    return f"every flow holds at least {k} distinct {unit}"
