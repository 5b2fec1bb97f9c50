"""Modules of a crate, which of them use which, and the circles among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rust import Use, split_tests, uses

Module = tuple[str, ...]


@dataclass
class Crate:
    """The modules of a crate, without its tests."""

    uses: dict[Module, list[Use]] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, str]) -> Crate:
        """Read a crate's files by their paths under `src`. A file is a module, declared by a macro or not."""
        crate = cls()
        for path, text in files.items():
            if not is_test(path):
                crate.uses[_module(path)] = list(uses(split_tests(text)[0]))
        return crate

    def edges(self) -> dict[Module, set[Module]]:
        """Return the modules that each module uses. What is only passed on is no use."""
        return {
            module: {target for use in mine if not use.is_reexport for target in self._targets(module, use)} - {module}
            for module, mine in self.uses.items()
        }

    def circles(self) -> list[list[Module]]:
        """Return the groups of modules that use each other, largest first."""
        groups = [sorted(group) for group in _components(self.edges()) if len(group) > 1]
        return sorted(groups, key=lambda group: (-len(group), group))

    def _targets(self, module: Module, use: Use) -> Iterator[Module]:
        start = self._start(module, use.path)
        if start is not None:
            target = self._resolve(*start, frozenset())
            if target is not None:
                yield target

    def _start(self, module: Module, path: tuple[str, ...]) -> tuple[Module, tuple[str, ...]] | None:
        """Return the module from which a path is looked up, and the rest of it; None for another crate's path."""
        if path[0] == "crate":
            return (), path[1:]
        if path[0] == "self":
            return module, path[1:]
        if path[0] == "super":
            while path and path[0] == "super":
                module, path = module[:-1], path[1:]
            return module, path
        return (module, path) if (*module, path[0]) in self.uses else None

    def _resolve(
        self, module: Module, path: tuple[str, ...], seen: frozenset[tuple[Module, tuple[str, ...]]]
    ) -> Module | None:
        """Return the module that declares what a path leads to, through re-exports."""
        if (module, path) in seen or module not in self.uses:
            return None
        seen |= {(module, path)}
        if not path or path == ("*",):
            return module
        if (*module, path[0]) in self.uses:
            return self._resolve((*module, path[0]), path[1:], seen)
        return self._through_reexports(module, path, seen) or module

    def _through_reexports(
        self, module: Module, path: tuple[str, ...], seen: frozenset[tuple[Module, tuple[str, ...]]]
    ) -> Module | None:
        for use in self.uses[module]:
            if use.name == path[0] and (start := self._start(module, use.path)) is not None:
                return self._resolve(start[0], (*start[1], *path[1:]), seen)
        return None


def is_test(path: str) -> bool:
    """Whether a file of `src` is compiled for tests alone, by its name."""
    return any(
        part.removesuffix(".rs") in {"tests", "testing"} or part.endswith("_tests.rs") for part in path.split("/")
    )


def _module(path: str) -> Module:
    parts = tuple(path.removesuffix(".rs").split("/"))
    return parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts


def _components(edges: Mapping[Module, set[Module]]) -> Iterator[list[Module]]:
    """Yield the strongly connected components (Tarjan 1972)."""
    index: dict[Module, int] = {}
    low: dict[Module, int] = {}
    stack: list[Module] = []
    for root in edges:
        if root in index:
            continue
        walk: list[tuple[Module, Iterator[Module]]] = [_enter(root, edges, index, low, stack)]
        while walk:
            node, rest = walk[-1]
            following = next(rest, None)
            if following is not None:
                if following not in index:
                    walk.append(_enter(following, edges, index, low, stack))
                elif following in stack:
                    low[node] = min(low[node], index[following])
                continue
            walk.pop()
            if walk:
                low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
            if low[node] == index[node]:
                place = stack.index(node)
                yield stack[place:]
                del stack[place:]


def _enter(
    node: Module,
    edges: Mapping[Module, set[Module]],
    index: dict[Module, int],
    low: dict[Module, int],
    stack: list[Module],
) -> tuple[Module, Iterator[Module]]:
    index[node] = low[node] = len(index)
    stack.append(node)
    return node, iter(sorted(edges.get(node, set())))
