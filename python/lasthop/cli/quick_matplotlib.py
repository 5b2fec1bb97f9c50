"""Import of matplotlib without the documentation of its setters, for commands that draw pictures.

While matplotlib is imported it writes, for each of its classes, the docstring and the signature of the method `set` out
of those of all setters of the class, which takes a third of the import. No command shows them. Whoever draws in Python
imports `lasthop.plots` alone, and finds them.
"""

from __future__ import annotations

from typing import Final

from matplotlib.artist import Artist

_WRITER: Final = "_update_set_signature_and_docstring"
"""The method of matplotlib that writes them. A version that has none is imported as it is."""

if hasattr(Artist, _WRITER):
    setattr(Artist, _WRITER, classmethod(lambda _class: None))
