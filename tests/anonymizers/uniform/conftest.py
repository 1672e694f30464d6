"""Lets the tests share `lattice.py` and the small instances of the ATG tests."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "atg")]
