"""What `odanon --help` and the help of a command say, without importing what commands work with."""
