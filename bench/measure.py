"""What a process cost: CPU, memory, and how busy the machine was meanwhile. Linux, no packages."""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s() -> float:
    """User and system CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rss_kib(what: str = "VmRSS") -> int:
    """Resident memory of this process: VmRSS now, VmHWM at its highest."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1])
    raise RuntimeError(what)


def children_cpu_s() -> float:
    """CPU seconds of the processes that this one started and that still live."""
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        if int(fields[1]) == os.getpid():
            total += (int(fields[11]) + int(fields[12])) / _TICKS
    return total


def machine_cpu_s() -> float:
    """CPU seconds that all cores together worked since boot, what the host took away included."""
    values = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, soft, steal = map(int, values[:8])
    return (user + nice + system + irq + soft + steal) / _TICKS


@dataclass(slots=True)
class Stopwatch:
    """Phases of a run, each with wall and CPU seconds."""

    phases: dict[str, dict[str, float]] = field(default_factory=dict)
    _wall: float = field(default_factory=time.perf_counter)
    _cpu: float = field(default_factory=cpu_s)

    def lap(self, name: str) -> None:
        """The time since the last lap was spent on ``name``."""
        wall, cpu = time.perf_counter(), cpu_s()
        self.phases[name] = {"wall_s": round(wall - self._wall, 3), "cpu_s": round(cpu - self._cpu, 3)}
        self._wall, self._cpu = wall, cpu

    def total(self, kind: str, *names: str) -> float:
        """Sum over phases."""
        return sum(self.phases[name][kind] for name in names if name in self.phases)


@dataclass(slots=True)
class Memory:
    """RSS while trials go by: growth is counted from a tenth of the run on, when all is warm."""

    total: int
    samples: list[tuple[int, int]] = field(default_factory=list)
    _count: int = 0

    def tick(self) -> None:
        """One more trial is over."""
        self._count += 1
        if self._count % max(1, self.total // 20) == 0:
            self.samples.append((self._count, rss_kib()))

    def report(self) -> dict[str, float | None]:
        """MiB at the end and at the highest, KiB a trial while playing and for all of the run."""
        peak = rss_kib("VmHWM")
        found: dict[str, float | None] = {
            "peak_rss_mib": round(peak / 1024, 1),
            "rss_growth_kib_per_trial": None,
            "peak_growth_kib_per_trial": None,
        }
        warm = next(((n, kib) for n, kib in self.samples if n >= self.total // 10), None)
        if warm is not None and self.samples[-1][0] > warm[0]:
            last = self.samples[-1]
            found["rss_growth_kib_per_trial"] = round((last[1] - warm[1]) / (last[0] - warm[0]), 2)
            found["peak_growth_kib_per_trial"] = round((peak - warm[1]) / (self.total - warm[0]), 2)
        return found


def hide_pandas() -> None:
    """pyarrow imports it where it is installed (0.5 s), and nightgate needs none."""
    sys.meta_path.insert(0, _NoPandas())  # type: ignore[arg-type]


class _NoPandas:
    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


class Elsewhere:
    """How many cores the rest of the machine kept busy while we measured."""

    def __init__(self) -> None:
        self._began, self._machine, self._own = time.perf_counter(), machine_cpu_s(), cpu_s()

    def cores(self) -> float:
        """Cores busy with anything but this process, on average."""
        wall = time.perf_counter() - self._began
        return round(max(0.0, machine_cpu_s() - self._machine - (cpu_s() - self._own)) / wall, 2)
