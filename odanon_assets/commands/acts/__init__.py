"""Acts that somebody answers for by name: what is published is replaced, taken back or deleted."""
