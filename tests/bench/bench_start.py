"""How long a newcomer waits before anything happens: `import odanon`, help, the list of plugins.

The least of five fresh processes, in CPU seconds, and as multiples of a Python that does nothing and of one that imports pandas. Targets: import and
help below half a second. The exit code tells whether they were met.
"""

import resource
import subprocess
import sys

TRIES = 5
HELP_SECONDS = 0.5
CLI = "from odanon.cli import app; app()"
# what is run, its words after -c, and the most that it may take
STARTS = (
    ("python", "pass", (), None),
    ("import pandas", "import pandas", (), None),
    ("import odanon", "import odanon", (), HELP_SECONDS),
    ("import odanon.api", "import odanon.api", (), None),
    ("odanon --help", CLI, ("--help",), HELP_SECONDS),
    ("odanon anonymize --help", CLI, ("anonymize", "--help"), HELP_SECONDS),
    ("odanon run --help", CLI, ("run", "--help"), HELP_SECONDS),
    ("odanon plugins", CLI, ("plugins",), None),
)


def cpu_seconds(script: str, words: tuple[str, ...]) -> float:
    """User and system time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", script, *words], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    least = {title: min(cpu_seconds(script, words) for _ in range(TRIES)) for title, script, words, _ in STARTS}
    fine = True
    for title, _, _, most in STARTS:
        slow = most is not None and least[title] > most
        fine &= not slow
        ratios = (
            f"{least[title] / least['python']:>6.1f} x python {least[title] / least['import pandas']:>5.2f} x pandas"
        )
        print(f"{title:<26} {least[title]:>6.2f} CPU-s {ratios}{'  TOO SLOW' if slow else ''}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
