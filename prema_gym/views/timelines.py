"""Which files can show schedules? The table of endings, and what writes each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from prema_gym.errors import ConfigError
from prema_gym.files import write_atomically
from prema_gym.simulator import NONE, SLICE_KINDS
from prema_gym.views.episode import EpisodeView
from prema_gym.views.gantt import gantt
from prema_gym.views.records import to_csv
from prema_gym.views.trace import json_events, nanoseconds, perfetto, processes

Episodes = Sequence[EpisodeView]
Axis = dict[str, float | None]


def slice_records(episodes: Episodes) -> list[dict[str, object]]:
    """One record a slice: what the machine did, for which task, from when to when."""
    records: list[dict[str, object]] = []
    for episode in episodes:
        label = {task.index: task.label for task in episode.tasks}
        at_ns = nanoseconds(episode.timeline[:, 2:], episode.clock_hz).tolist()
        for (task, kind, start, end), (start_ns, end_ns) in zip(
            episode.timeline.tolist(), at_ns, strict=True
        ):
            records.append(
                {
                    "schedule": episode.title,
                    "policy": episode.policy,
                    "seed": "" if episode.seed is None else episode.seed,
                    "kind": SLICE_KINDS[kind],
                    "task": "" if task == NONE else task,
                    "label": label.get(task, ""),
                    "start_cycles": start,
                    "end_cycles": end,
                    "start_ns": start_ns,
                    "end_ns": end_ns,
                }
            )
    return records


def _picture(episodes: Episodes, path: Path, axis: Axis) -> None:
    gantt(episodes, from_ms=axis["from_ms"] or 0.0, to_ms=axis["to_ms"]).savefig(path)


def _page(episodes: Episodes, path: Path, axis: Axis) -> None:
    from prema_gym.views.web.timeline import timeline_page

    path.write_text(timeline_page(episodes, **axis), encoding="utf-8")


def _json(episodes: Episodes, path: Path, axis: Axis) -> None:
    path.write_text(json_events.to_json(processes(episodes)), encoding="utf-8")


def _perfetto(episodes: Episodes, path: Path, axis: Axis) -> None:
    path.write_bytes(perfetto.to_perfetto(processes(episodes)))


def _csv(episodes: Episodes, path: Path, axis: Axis) -> None:
    path.write_text(to_csv(slice_records(episodes)), encoding="utf-8")


def _film(episodes: Episodes, path: Path, axis: Axis) -> None:
    from prema_gym.views.film import write_film

    write_film(episodes, path, from_ms=axis["from_ms"] or 0.0, to_ms=axis["to_ms"])


WRITERS: dict[str, Callable[[Episodes, Path, Axis], None]] = {
    ".pftrace": _perfetto,
    ".json": _json,
    ".png": _picture,
    ".svg": _picture,
    ".pdf": _picture,
    ".gif": _film,
    ".html": _page,
    ".csv": _csv,
}
"""What writes a timeline, by the file's ending."""


def check_ending(path: Path) -> None:
    """Say before anything is played that a file's ending says no format.

    Raises:
        ConfigError: It does not, or the folder is not there.
    """
    if path.suffix not in WRITERS:
        raise ConfigError(f"{path} must end in {', '.join(WRITERS)}: the ending says the format")
    if not path.parent.is_dir():
        raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")


def write_timeline(
    path: Path, episodes: Episodes, *, from_ms: float = 0.0, to_ms: float | None = None
) -> None:
    """Write schedules of one workload to a file, as its ending says.

    Args:
        path: The file.
        episodes: The schedules.
        from_ms: Where a picture's time axis begins.
        to_ms: Where it ends; None: with the last schedule.

    Raises:
        ConfigError: The ending says no format, or the file cannot be written.
        MissingExtraError: A picture, and Matplotlib is not installed.
    """
    check_ending(path)
    axis: Axis = {"from_ms": from_ms, "to_ms": to_ms}
    try:
        write_atomically(path, lambda beside: WRITERS[path.suffix](episodes, beside, axis))
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
