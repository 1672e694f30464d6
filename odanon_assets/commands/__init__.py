"""The subcommands of the code location, one module each; entry points `odanon.commands` name them."""
