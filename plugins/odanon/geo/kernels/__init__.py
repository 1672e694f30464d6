"""Compiled kernels of geometry; the compiler is imported when one of them is first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"hexagons": ["hexagon_of"]})
