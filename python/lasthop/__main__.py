"""`python -m lasthop` is the `lasthop` command."""

from lasthop.cli import main

main()
