"""Lets these tests use the enumeration of cuts that the ATG tests are held against."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "atg"))
