"""What suites try plugins on: generated cities, and releases of them through the door."""
