"""The subcommands of the library, one module each; entry points `odanon.commands` name them (`odanon.help.listing`)."""
