"""Questions about what nobody published have no answer; one of no trips would be wrong."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon.model.when.clock import pieces_of
from odanon.model.when.shares import AskedTime, microseconds

if TYPE_CHECKING:
    from odanon.client.publications import PublishedProduct


def refuse_unpublished(product: "PublishedProduct", when: When, segment: str | None) -> None:
    """Say why a question found no trips, where that is because nothing is published of what it asks for."""
    known = product.segments() if segment is not None else []
    if segment is not None and segment not in known:
        raise OdanonError(f"{product.name} has no segment {segment[:100]!r}; there is {', '.join(known)}")
    if not any(_tells_of(manifest, when) for manifest in product.manifests()):
        raise unpublished(product)


def unpublished(product: "PublishedProduct") -> OdanonError:
    """That there is nothing of the time that is asked for, and what there is."""
    windows = product.windows
    return OdanonError(
        f"nothing of {product.name} is published in that time; its windows begin between {windows[0]} and {windows[-1]}"
    )


def _tells_of(manifest: Mapping[str, Any], when: When) -> bool:
    """Whether a release tells of some of the time that is asked for."""
    start, end = (np.array([microseconds(at)], dtype=np.int64) for at in (when.since, when.until))
    return bool(AskedTime.of(pieces_of(manifest), when).covered(start, end)[0] > 0)
