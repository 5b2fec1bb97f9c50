"""Memory and open file descriptors of processes over time, and their picture."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure


@dataclass
class Samples:
    """Samples of a process and of all that it started: seconds, resident MiB, descriptors, processes."""

    time_s: list[float] = field(default_factory=list)
    memory_mib: list[float] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    processes: list[int] = field(default_factory=list)

    def take(self, process: int, at_s: float) -> None:
        """Add a sample of a process, of its children and theirs; none if it has ended."""
        family = list(_family(process))
        memory = sum(map(_resident_mib, family))
        if not memory:
            return
        self.time_s.append(at_s)
        self.memory_mib.append(memory)
        self.descriptors.append(sum(map(_descriptors, family)))
        self.processes.append(len(family))

    def words(self) -> str:
        """Return the medians of the third and the ninth tenth: libraries are loaded before, and results read after."""
        count = len(self.time_s)
        parts = [slice(count * tenth // 10, count * (tenth + 1) // 10 + 1) for tenth in (2, 8)]
        memory, files = ([_median(values[part]) for part in parts] for values in self._values())
        return (
            f"{len(self.time_s)} samples, third and ninth tenth: memory {memory[0]:.1f} and {memory[1]:.1f} MiB, "
            f"descriptors {files[0]:.0f} and {files[1]:.0f}; most {max(self.memory_mib):.1f} MiB, "
            f"{max(self.descriptors)} descriptors"
        )

    def draw(self, file: Path, title: str) -> None:
        """Draw memory and descriptors over time."""
        figure = Figure(figsize=(7, 3.6), layout="constrained")
        panels = figure.subplots(2, 1, sharex=True)
        for axes, values, words in zip(panels, self._values(), ("Memory (MiB)", "Descriptors"), strict=True):
            axes.plot(self.time_s, values, linewidth=0.8, color="#0072b2")
            axes.set(ylabel=words, ylim=(0, 1.1 * max(values)))
            axes.spines[["top", "right"]].set_visible(False)
        panels[0].set_title(title, loc="left", fontsize="medium")
        panels[1].set_xlabel("Time (s)")
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)

    def _values(self) -> tuple[list[float], list[float]]:
        return self.memory_mib, [float(count) for count in self.descriptors]


@contextmanager
def sampled(process: int, every_s: float) -> Iterator[Samples]:
    """Sample a process until the block ends."""
    samples, over, began = Samples(), threading.Event(), time.monotonic()

    def watch() -> None:
        while not over.wait(every_s):
            samples.take(process, time.monotonic() - began)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def _family(process: int) -> Iterator[int]:
    yield process
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in _read(task).split():
            yield from _family(int(child))


def _resident_mib(process: int) -> float:
    lines = _read(Path(f"/proc/{process}/status")).splitlines()
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def _descriptors(process: int) -> int:
    try:
        return len(list(Path(f"/proc/{process}/fd").iterdir()))
    except OSError:
        return 0


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
