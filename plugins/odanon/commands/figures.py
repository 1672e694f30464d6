"""Declared figures as lines of the terminal."""

from odanon.model.figure import Figure


def in_a_line(figure: Figure, value: float | str) -> str:
    """Value, label and meaning; a band, such as 10-19, is told as it is."""
    shown = value if isinstance(value, str) else figure.in_words(value)
    return f"{shown} {figure.label} ({figure.meaning})"
