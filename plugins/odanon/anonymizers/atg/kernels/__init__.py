"""Compiled kernels of the ATG searches; the compiler is imported when one of them is first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "areas": ["deal", "sweep_areas"],
        "build": ["Tree", "Work", "build"],
        "evaluate": ["best_cut", "evaluate_rows"],
        "extract": ["assign", "fill", "select", "subtree_start"],
        "frontier": ["join", "part_of", "row_frontier"],
        "knapsack": ["NEVER", "Tables", "tabulate", "trace"],
        "shared": ["add_node_costs", "shared_cut", "shared_fill", "sum_subtrees"],
    },
)
