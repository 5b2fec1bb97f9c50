"""lasthop's TCP as the client of real web servers, and as a server of real clients: `lasthop fetch`, `serve-file`."""

from lasthop.fetching.comparison import Gain, gain_of
from lasthop.fetching.fetched import Fetched, Way, fetch_once
from lasthop.fetching.target import Target, target_of

__all__ = ["Fetched", "Gain", "Target", "Way", "fetch_once", "gain_of", "target_of"]
