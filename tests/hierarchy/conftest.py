"""Lets the hierarchy tests share `random_trees.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
