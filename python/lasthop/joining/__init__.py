"""Captures of both ends of a path, joined: which copies arrived, how long each took, by whose clock.

Read `views` (a connection as one point saw it), `matching` (the same packet at two points), `clocks` (offset and skew)
and `joined` (what follows: losses, delays, verdicts on retransmissions); `folder` makes a result of them.
"""

from lasthop.joining.clocks import Clocks
from lasthop.joining.folder import joined_to_folder
from lasthop.joining.joined import Crossing, Joined, join
from lasthop.joining.views import View, views_of

__all__ = ["Clocks", "Crossing", "Joined", "View", "join", "joined_to_folder", "views_of"]
