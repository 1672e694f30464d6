"""Compiled kernels of ATG-Lattice; the compiler is imported when one of them is first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "build": ["Part", "Work", "build"],
        "cost": ["cost_in_tiles", "cost_in_loss"],
        "decide": ["decide", "hand_over", "hand_up"],
        "link": ["link_slices"],
        "pool": ["pool"],
        "spend": ["spend", "sums_below"],
        "trace": ["settle", "trace"],
    },
)
