"""Pseudonyms at the door: HMAC-SHA-256 under a secret key for each window (PRIVACY rule 13)."""

import hashlib
import hmac
import os

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError

KEY_VARIABLE = "ODANON_PSEUDONYM_KEY"
_DEMO_KEY = b"odanon demonstration key: simulated people only"
_MIN_KEY_BYTES = 16


def window_key(product: str, window: str, *, simulated: bool) -> bytes:
    """The key of one product and window, derived from the master key in the environment.

    Simulated people need no secret, so their products run with a fixed demonstration key.
    """
    master = os.environ.get(KEY_VARIABLE, "").encode()
    if not master and simulated:
        master = _DEMO_KEY
    if len(master) < _MIN_KEY_BYTES:
        raise OdanonError(
            f"product {product} reads real people and {KEY_VARIABLE} is not set (or shorter than {_MIN_KEY_BYTES}"
            " bytes); export a secret key, for instance from `openssl rand -hex 32`"
        )
    return hmac.new(master, f"{product}\0{window}".encode(), hashlib.sha256).digest()


def pseudonyms(ids: pd.Series, key: bytes) -> npt.NDArray[np.int64]:
    """Ids replaced by 63 bits of their HMAC; each distinct id is hashed once.

    A collision would merge two people, which counts too few and never too many.
    """
    codes, unique = pd.factorize(ids)
    hashed = [hmac.digest(key, str(name).encode(), "sha256")[:8] for name in unique]
    words = np.frombuffer(b"".join(hashed), dtype=">u8") >> np.uint64(1)
    return words.astype(np.int64)[codes]
