"""Compiled kernels over tile pairs as points; the compiler is imported when one of them is first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "boxes": ["tiles_in_boxes"],
        "clusters": ["lowest_cut"],
        "glove": ["merge_closest"],
        "mondrian": ["partition"],
        "pairs": ["pairs_keep"],
    },
)
