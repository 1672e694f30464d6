"""Demand: synthetic travellers from a census, a travel survey and a published release (003 chapters 4 and 5)."""
