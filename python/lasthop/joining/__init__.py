"""Captures of both ends of a path, joined: the copies that arrived, their delays, and the clocks' difference.

Read `views` (a connection at one point), `matching` (the same packet at two points), `clocks` (offset and skew) and
`joined` (losses, delays, verdicts on retransmissions); `folder` writes them as a result.
"""

from lasthop.joining.clocks import Clocks
from lasthop.joining.folder import joined_to_folder
from lasthop.joining.joined import Crossing, Joined, connections_at_one_end, join
from lasthop.joining.views import View, views_of

__all__ = ["Clocks", "Crossing", "Joined", "View", "connections_at_one_end", "join", "joined_to_folder", "views_of"]
