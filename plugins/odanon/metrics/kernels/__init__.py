"""Compiled kernels of the metrics; the compiler is imported when one of them is first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"spread": ["spread_over_pairs"]})
