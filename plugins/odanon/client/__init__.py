"""Published tables for people who ask in Python: `odanon.open`."""
