"""The subcommands of `odanon`, one module a subject."""
