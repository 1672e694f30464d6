"""Where releases are published: one interface, the embedded folder here."""
