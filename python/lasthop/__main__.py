"""The `lasthop` command, also as `python -m lasthop`.

It handles signals before it imports anything, so that a command stopped during its start ends like a running command.
"""

from __future__ import annotations

import sys

from lasthop.stopping import handle_signals, status_of


def main() -> None:
    """Run the command line and leave the process with its exit status."""
    handle_signals()
    try:
        from lasthop.cli import main as run
    except KeyboardInterrupt as stop:
        sys.exit(status_of(stop))
    run()


if __name__ == "__main__":
    main()
