"""odanon: publish where people travel without showing who does.

The public names are those of `odanon.api`; they are imported when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"api": ["OdanonError", "RefusedError", "Promise", "anonymize", "hierarchy", "open", "release"]},
)
