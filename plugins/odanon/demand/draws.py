"""Random numbers that depend on the seed, on what they are for, and on the number of the agent; never on how agents are cut into parts."""

import hashlib

import numpy as np
import numpy.typing as npt

_WORDS = 4  # random words that one step of Philox makes


def _generator(seed: int, purpose: str) -> np.random.Philox:
    digest = hashlib.sha256(f"{seed} {purpose}".encode()).digest()
    return np.random.Philox(key=int.from_bytes(digest[:16], "little"))


def words(seed: int, purpose: str, first: int, number: int) -> npt.NDArray[np.uint64]:
    """The random words of some agents, one each, from the first on."""
    stream = _generator(seed, purpose)
    stream.advance(first // _WORDS)
    drawn: npt.NDArray[np.uint64] = stream.random_raw(first % _WORDS + number)
    return drawn[first % _WORDS :]


def uniform(seed: int, purpose: str, number: int, first: int = 0) -> npt.NDArray[np.float64]:
    """The same as numbers in [0, 1)."""
    return (words(seed, purpose, first, number) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def generator(seed: int, purpose: str) -> np.random.Generator:
    """A generator for a draw that is made once for all agents."""
    return np.random.Generator(_generator(seed, purpose))


def nth(own: npt.NDArray[np.uint64], number: int) -> npt.NDArray[np.float64]:
    """The number of a draw, in [0, 1), of agents with a word each: their own stream of SplitMix64."""
    with np.errstate(over="ignore"):
        mixed = own + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
