"""What did policies decide? One record a decision and task in the table, as CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.evaluation.recording import Recording
from prema_gym.simulator import COLUMNS, MECHANISMS, NONE
from prema_gym.views.episode import view_recorded
from prema_gym.views.records import write_records

ENDINGS = (".csv", ".parquet")


def decision_records(recordings: Sequence[Recording]) -> list[dict[str, object]]:
    """One record for every task that was in the table at a decision, of each policy.

    Args:
        recordings: Made with ``tables=True``.
    """
    return [record for one in recordings for record in _records(one)]


def _records(recording: Recording) -> Iterator[dict[str, object]]:
    assert recording.tables is not None
    assert recording.occupants is not None
    labels = [task.label for task in view_recorded(recording).tasks]
    ms = 1e3 / recording.simulator.catalog.hardware.clock_hz
    for number, (one, table, occupants) in enumerate(
        zip(recording.decisions, recording.tables, recording.occupants, strict=True)
    ):
        mechanism = "" if one.mechanism == NONE else MECHANISMS[one.mechanism]
        for slot, task in enumerate(occupants.tolist()):
            if task == NONE:
                continue
            yield {
                "policy": recording.policy,
                "decision": number,
                "time_ms": one.cycles * ms,
                "task": task,
                "label": labels[task],
                "chosen": int(task == one.chosen),
                "mechanism": mechanism,
                **{c.name: float(v) for c, v in zip(COLUMNS, table[slot], strict=True)},
            }


def check_decisions_path(path: Path) -> None:
    """Say before anything is played that decisions cannot be written to a file.

    Raises:
        ConfigError: The ending says no format, or there is no such folder.
        MissingExtraError: It is Parquet, and the packages for it are not installed.
    """
    if path.suffix not in ENDINGS:
        raise ConfigError(f"{path} must end in {' or '.join(ENDINGS)}: the ending says the format")
    if not path.parent.is_dir():
        raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")
    if path.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtraError("writing Parquet", "pyarrow", "frames") from None


def write_decisions(path: Path, recordings: Sequence[Recording]) -> None:
    """Write every decision to a file, as its ending says.

    Raises:
        ConfigError: See :func:`check_decisions_path`; or the file cannot be written.
        MissingExtraError: Likewise.
    """
    check_decisions_path(path)
    write_records(path, decision_records(recordings))
