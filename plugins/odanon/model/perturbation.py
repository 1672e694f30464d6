"""The perturbation table: the small noise that the people behind a published number pick by their keys (PRIVACY rule 25).

The method of census offices (docs/bibliography.md): everybody has a random key of 8 bits; the keys of the people of a cell,
added up modulo 256, are the cell's key; row and key pick the noise from a public table. So the same people get the same
noise wherever they are counted, and nobody can average it away within a window.
"""

from dataclasses import dataclass
from typing import Any

KEYS = 256  # keys of people and of cells are 0 to 255


@dataclass(frozen=True)
class PerturbationTable:
    """Noise in people, by row and cell key.

    The row of a cell is how many people it has above k, up to the last row, which all larger cells share; so no number falls below k.
    `counts[row]` says how many of the 256 keys, in order, give the noise -largest, ..., +largest. Every row is 0 on average, and
    every row but the first has the same variance; the first, of cells of k people, has no room below and stays as it is.
    """

    name: str
    variance: int
    counts: tuple[tuple[int, ...], ...]

    @property
    def largest(self) -> int:
        return len(self.counts) - 1

    def told(self, k: int) -> dict[str, Any]:
        """What a manifest says of it; numbers of one k and table carry the same noise for the same people."""
        said = {"method": "cell-key", "table": self.name, "k": k, "variance": self.variance, "largest": self.largest}
        return {**said, "sentence": self.sentence}

    @property
    def sentence(self) -> str:
        """What readers must know."""
        return (
            f"the numbers are perturbed: each carries noise of {self.largest} people at most (variance {self.variance},"
            f" 0 on average; cell-key table {self.name}), so sums are close and parts do not add up exactly"
        )


# In each row the counts closest to the distribution of most entropy with mean 0 and variance 3 among whole 256ths.
TABLE = PerturbationTable(
    name="odanon-1",
    variance=3,
    counts=(
        (0, 0, 0, 0, 0, 256, 0, 0, 0, 0, 0),
        (0, 0, 0, 0, 160, 42, 15, 9, 7, 9, 14),
        (0, 0, 0, 60, 58, 50, 37, 26, 14, 8, 3),
        (0, 0, 18, 35, 51, 56, 47, 28, 14, 5, 2),
        (0, 5, 14, 31, 50, 57, 49, 31, 14, 4, 1),
        (1, 4, 14, 30, 49, 60, 49, 30, 14, 4, 1),
    ),
)
