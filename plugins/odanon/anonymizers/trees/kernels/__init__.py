"""Compiled kernels over trees and rows; the compiler is imported when one of them is first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "cells": ["volume_left_out"],
        "cut": ["at_or_below", "even_cut", "topmost"],
        "keeps": ["groups_kept"],
        "rows": ["sweep"],
        "transpose": ["stable_order"],
    },
)
