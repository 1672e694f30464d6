"""`make bench`: run every benchmark, or those named (`make bench ONLY="atg simulate"`), each in a fresh process."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(wanted: list[str]) -> int:
    scripts = sorted(HERE.glob("bench_*.py"))
    names = [path.stem.removeprefix("bench_") for path in scripts]
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    failed = 0
    for name, path in zip(names, scripts, strict=True):
        if not wanted or name in wanted:
            print(f"\n== {name} ==", flush=True)
            failed += subprocess.run([sys.executable, str(path)], check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
