"""The auditor: what a release tells beside all others of the same data (PRIVACY rules 5 and 21)."""
