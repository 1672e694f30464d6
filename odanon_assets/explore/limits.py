"""What may be asked of one server, in one place; sentences quote these figures."""

BODY_BYTES = 5_000_000  # of what is sent along
AREAS = 200
VERTICES = 50_000  # of all areas of a question together
FLOWS = 100_000  # on a map
ANSWER_SECONDS = 20
AT_ONCE = 8  # questions that are worked on
WAITING = 64  # questions that wait for their turn ...
WAIT_SECONDS = 15  # ... and how long
CONNECTIONS = 200  # of browsers and programs
MEMORY_BYTES = 4 << 30  # of address space of a process that answers
KEPT_BYTES = 128 << 20  # of answers that are kept
STANDING_SECONDS = 5  # how long what is published counts as known; a withdrawn release is shown no longer than that
