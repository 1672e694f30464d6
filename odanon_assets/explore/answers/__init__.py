"""What runs in the processes that answer: requests are checked there, and the store is asked through the client alone."""
