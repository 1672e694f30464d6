"""Pseudonyms at the door: HMAC-SHA-256 under a secret key for each window (PRIVACY rule 13)."""

import hashlib
import hmac
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from odanon.errors import OdanonError

KEY_VARIABLE = "ODANON_PSEUDONYM_KEY"
_DEMO_KEY = b"odanon demonstration key: simulated people only"
_MIN_KEY_BYTES = 16
_HASH_BLOCK = 64  # bytes; a window key is 32 bytes long


def window_key(data: str, window: str, *, simulated: bool, salt: bytes = b"") -> bytes:
    """The key of one data set and window, derived from the master key in the environment.

    All products of the data set have it, so that the auditor can match people within a window. A `salt` that is
    deleted later makes the key unrecoverable even for holders of the master key. Simulated people need no secret, so
    their products run with a fixed demonstration key.
    """
    master = os.environ.get(KEY_VARIABLE, "").encode()
    if not master and simulated:
        master = _DEMO_KEY
    if len(master) < _MIN_KEY_BYTES:
        raise OdanonError(
            f"the source holds real people and {KEY_VARIABLE} is not set (or shorter than {_MIN_KEY_BYTES}"
            " bytes); export a secret key, for instance from `openssl rand -hex 32`"
        )
    return hmac.new(master, f"{data}\0{window}\0".encode() + salt, hashlib.sha256).digest()


def pseudonyms(ids: pd.Series, key: bytes) -> npt.NDArray[np.int64]:
    """Ids replaced by 63 bits of their HMAC; each distinct id is hashed once.

    A collision would merge two people, which counts too few and never too many.
    """
    if isinstance(ids.dtype, pd.CategoricalDtype):
        codes, names = ids.cat.codes.to_numpy(), ids.cat.categories
        used = np.zeros(len(names), dtype=bool)
        used[codes] = True
        words = np.zeros(len(names), dtype=np.int64)
        words[used] = _hashed(_utf8(names[used]), key)
        return words[codes]
    if isinstance(ids.dtype, pd.StringDtype):
        encoded = _flat(pa.array(ids.array)).dictionary_encode()
        return _hashed(_utf8(encoded.dictionary), key)[encoded.indices.to_numpy()]
    codes, names = pd.factorize(ids)
    return _hashed(_utf8(names), key)[codes]


def _hashed(texts: pa.LargeBinaryArray, key: bytes) -> npt.NDArray[np.int64]:
    """63 bits of the HMAC of each text."""
    from odanon.reading.kernels.sha256 import hmac_words

    if len(texts) == 0:
        return np.zeros(0, np.int64)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    octets = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    block = np.frombuffer(key.ljust(_HASH_BLOCK, b"\0"), np.uint8)
    return (hmac_words(block, octets, ends) >> np.uint64(1)).astype(np.int64)


def _utf8(names: Any) -> pa.LargeBinaryArray:
    """The bytes of the text of each name."""
    if isinstance(getattr(names, "dtype", None), pd.StringDtype):
        names = _flat(pa.array(names.array))
    if isinstance(names, pa.Array):
        return names.cast(pa.large_string()).cast(pa.large_binary())
    # Surrogates are no valid text, but an id that holds one is an id like any other.
    return pa.array([str(name).encode("utf-8", "surrogatepass") for name in names], pa.large_binary())


def _flat(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
