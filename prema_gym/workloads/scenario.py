"""What kind of workload is drawn, and on which machine?

A scenario is plain data: it can be written to a TOML file, sent to another process, compared and
used as a key. `prema_gym.workloads.generate` draws from it; `prema_gym.workloads.catalog` works out
once what its networks cost. docs/scenarios.md has the table of its fields.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prema_gym import networks as registry
from prema_gym.checks import (
    check_fields,
    declared,
    list_of,
    number,
    one_of,
    optional,
    plain,
    positive,
    read_record,
    text,
    whole,
)
from prema_gym.errors import located
from prema_gym.files import read_toml, write_toml
from prema_gym.hardware.config import NPUConfig
from prema_gym.workloads.arrivals import ARRIVALS, DROPS
from prema_gym.workloads.lengths import LengthModel, default_lengths
from prema_gym.workloads.scenario_rules import (
    LENGTHS,
    MACHINE,
    NETWORK,
    check_closed,
    check_lengths,
    check_one_way,
    check_shares,
    check_times,
    check_trace,
    take_from_streams,
)
from prema_gym.workloads.streams import STREAM, Stream
from prema_gym.workloads.traces.log import TRACE, joined

# Upper limits, far above any experiment (`scenario_rules` has that of the window in cycles).
_MOST_TASKS = 1_000_000
_MOST_MS = 1e9
_MOST_PRIORITY = 1_000_000
_MOST_BATCH = 65_536
_MOST_SHARE = 10_000  # percent of percent; tables of draws hold their sum
_MOST_SPEED = 1e9
_MOST_LOAD = 1e6
_MOST_REQUESTS = 10**9
_REQUESTS = 10_000  # of a long run, unless it says so: a p99 then rests on a hundred requests
_MOST_RATE = 1e9
_TASKS = 8
_EPISODE = 128

_SHARES = optional(list_of(whole(1, _MOST_SHARE), distinct=False))


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A distribution over workloads, and the machine they run on.

    Each field's ``help`` says what it is, ``source`` where its default is from (R, r, C: how sure,
    see fidelity.md).

    Raises:
        ConfigError: On construction, a value that is not allowed.
        UnknownNameError: On construction, an unknown network or arrival process.
    """

    name: str = declared("custom", text(), help="what tables and files call it")
    networks: tuple[str, ...] = declared(
        (
            "alexnet",
            "googlenet",
            "vgg-16",
            "mobilenet-v1",
            "rnn-sa",
            "rnn-mt1",
            "rnn-mt2",
            "rnn-asr",
        ),
        list_of(NETWORK),
        help="`prema-gym networks` lists them; files and your own may be among them (below)",
        source="the paper's eight (R)",
    )
    network_shares: tuple[int, ...] | None = declared(
        None,
        _SHARES,
        help="how often each network is drawn, whole numbers in their order: `[3, 1]` is three "
        "tasks in four; left out: equally likely",
        source="equally likely, as the paper's (R)",
    )
    batch_sizes: tuple[int, ...] = declared(
        (1, 4, 16),
        list_of(whole(1, _MOST_BATCH)),
        unit="inputs",
        help="inputs that a task works on at once",
        source="the paper's (R)",
    )
    batch_shares: tuple[int, ...] | None = declared(
        None, _SHARES, help="how often each batch size is drawn, likewise"
    )
    num_tasks: int = declared(
        None,  # replaced on construction
        whole(1, _MOST_TASKS),
        unit="tasks",
        help="tasks in one workload, 8 if left out; a scheduler sees 16 at a time (`slots`), more "
        "wait outside in order of arrival. With `streams` requests in an episode cut from them, "
        "128 if left out",
        source="eight: the paper's (r). 128: ours, long beside the ten or so that are in a busy "
        "system at once, so that its empty start is soon forgotten",
    )
    arrival: str = declared(
        "uniform",
        one_of("arrival process", ARRIVALS),
        help='`"uniform"`, `"poisson"`, `"periodic"`, `"burst"` or `"trace"`, see below',
        source="the paper's (r)",
    )
    window_ms: float = declared(
        10.0,
        number(0.0, _MOST_MS),
        unit="ms",
        help="length of the arrival window; what it means depends on `arrival`, and 0 lets every "
        "task arrive at 0",
        source="a choice (fidelity.md: C), the window is not public",
    )
    load: float | None = declared(
        None,
        optional(positive(_MOST_LOAD)),
        help="share of this machine's time that the tasks ask for, in place of `window_ms`: the "
        "same on any machine",
    )
    rate_per_s: float | None = declared(
        None,
        optional(positive(_MOST_RATE)),
        unit="tasks/s",
        help="tasks a second, in place of `window_ms`",
    )
    burst_size: int = declared(
        4,
        whole(1, _MOST_TASKS),
        unit="tasks",
        help='tasks that arrive together; read with `arrival = "burst"` only',
        source="ours: two groups in a workload of eight, as when one application asks for several "
        "inferences at once",
    )
    trace: Any = declared(  # a TraceLog or None; the name of a file is taken for one
        None,
        optional(TRACE),
        help="file of a recorded trace, taken from the folder of this file, or a table `[trace]`, "
        'see below; needed with `arrival = "trace"`, refused without',
    )
    trace_speed: float | None = declared(
        None,
        optional(positive(_MOST_SPEED)),
        unit="×",
        help="plays the trace in real time, so many times as fast; left out: at the rate that "
        "`window_ms` asks for",
    )
    trace_from: int | None = declared(
        None,
        optional(whole(0, _MOST_REQUESTS)),
        unit="requests",
        help="requests of the trace before the first one that is replayed, in order of arrival",
    )
    trace_limit: int | None = declared(
        None,
        optional(whole(1, _MOST_REQUESTS)),
        unit="requests",
        help="requests of the trace that are replayed; left out: all that follow",
    )
    priorities: tuple[int, ...] = declared(
        (1, 3, 9),
        list_of(whole(1, _MOST_PRIORITY)),
        unit="weight",
        help="whole numbers, larger is more urgent",
        source="the paper's three (R)",
    )
    priority_shares: tuple[int, ...] | None = declared(
        None, _SHARES, help="how often each priority is drawn, likewise"
    )
    streams: tuple[Stream, ...] = declared(
        (),
        list_of(STREAM, empty=True),
        help="streams of requests, each with its own process, rate, mix and deadline, see below; "
        "left out: one, from the keys above",
    )
    requests: int | None = declared(
        None,
        optional(whole(1, _MOST_REQUESTS)),
        unit="requests",
        help="requests that count in a long run, in place of workloads of `num_tasks`; with "
        "`streams` 10 000 if left out",
    )
    warmup: int | None = declared(
        None,
        optional(whole(0, _MOST_REQUESTS)),
        unit="requests",
        help="requests before those that count; left out: a tenth of `requests`",
    )
    drop: str = declared(
        "never",
        one_of("drop", DROPS),
        help='requests that leave unserved when the scheduler wakes: `"never"`, `"late"` (past '
        'their deadline) or `"hopeless"` (that cannot meet it any more)',
    )
    queue_limit: int | None = declared(
        None,
        optional(whole(0, _MOST_TASKS)),
        unit="requests",
        help="requests that may wait beside the one that runs; who finds so many is rejected",
    )
    lengths: tuple[LengthModel, ...] = declared(
        (),
        list_of(LENGTHS, empty=True),
        help="sequence lengths of recurrent networks, in place of their defaults, see below",
    )
    sla_factor: float = declared(
        8.0,
        positive(_MOST_MS),
        unit="×",
        help="a task's deadline is its arrival + this × its *estimated* isolated time",
        source="inside the paper's targets of 2 to 20: eight tasks that share the machine equally "
        "all finish within 8 × their isolated time, so a fair schedule of the paper's workload can "
        "meet it (C)",
    )
    slo_ms: float | None = declared(
        None,
        optional(positive(_MOST_MS)),
        unit="ms",
        help="a task's deadline is its arrival + this, in place of `sla_factor`",
    )
    quantum_ms: float = declared(
        0.25,
        positive(_MOST_MS),
        unit="ms",
        help="the scheduler wakes at least this often while a task waits",
        source="the paper's (R)",
    )
    hardware: NPUConfig = declared(
        factory=NPUConfig,
        constraint=MACHINE,
        help="the machine, see below",
    )

    def __post_init__(self) -> None:
        with located(f"scenario {self.name!r}"):
            if self.num_tasks is None:
                object.__setattr__(self, "num_tasks", _EPISODE if self.streams else _TASKS)
            check_fields(self)
            take_from_streams(self)
            for rule in (
                check_shares,
                check_trace,
                check_one_way,
                check_closed,
                check_lengths,
                check_times,
            ):
                rule(self)

    @property
    def window_cycles(self) -> int | None:
        """Length of the arrival window [cycles]; None where `load` says it with the costs."""
        if self.load is not None:
            return None
        if self.rate_per_s is not None:
            return self.hardware.cycles(1e3 * self.num_tasks / self.rate_per_s)
        return self.hardware.cycles(self.window_ms)

    @property
    def quantum_cycles(self) -> int:
        """Scheduling quantum [cycles]: 175 000 at 700 MHz, 250 000 at 1 GHz by default."""
        return self.hardware.cycles(self.quantum_ms)

    @property
    def is_stream(self) -> bool:
        """Whether it is played as long runs, not as workloads of ``num_tasks``."""
        return self.requests is not None or bool(self.streams)

    @property
    def is_closed(self) -> bool:
        """Whether every stream is a closed loop, so that there is no load to be set."""
        return bool(self.streams) and all(stream.is_closed for stream in self.streams)

    @property
    def num_requests(self) -> int:
        """Requests that count in a long run."""
        return _REQUESTS if self.requests is None else self.requests

    @property
    def num_warmup(self) -> int:
        """Requests of a long run before those that count."""
        return self.num_requests // 10 if self.warmup is None else self.warmup

    def length_model(self, network: str) -> LengthModel | None:
        """Sequence lengths of a network here: this scenario's, else the default, else None.

        None means that the network has no sequence (an image network).
        """
        for model in self.lengths:
            if model.network == network:
                return model
        return default_lengths(network)

    def to_dict(self) -> dict[str, Any]:
        """Every field as plain data, None left out: what `from_dict`, JSON and TOML take."""
        return plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str = "scenario") -> Scenario:
        """Build a scenario from named values; absent fields keep their defaults.

        Args:
            data: Values by field name; ``hardware`` and each of ``lengths`` may be nested mappings
                or the objects themselves. A nested ``lengths`` entry needs only ``network`` and
                what differs from that network's default.
            where: What the values came from, for the message.

        Raises:
            UnknownNameError: A key is no field; the message names the nearest one.
            ConfigError: A value is not allowed.
        """
        return read_record(cls, data, where)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Scenario:
        """Read a scenario from a TOML file with the fields' names as keys.

        A relative ``trace``, or network that is a file (also one of ``[trace.networks]``), is
        looked for from the folder of the TOML file.

        Raises:
            UnknownNameError: A key is no field.
            ConfigError: The file cannot be read, is not TOML, or holds a value not allowed.
        """
        data = read_toml(path)
        folder = os.path.dirname(path)
        for table in (data, *_tables(data.get("streams"))):
            if isinstance(table.get("networks"), list):
                table["networks"] = [
                    os.path.join(folder, name) if registry.is_file(name) else name
                    for name in table["networks"]
                ]
            if "trace" in table:
                table["trace"] = joined(folder, table["trace"])
        return cls.from_dict(data, where=os.fspath(path))

    def to_toml(self, path: str | os.PathLike[str]) -> None:
        """Write every field to a TOML file that `from_toml` reads back equal.

        Raises:
            ConfigError: The file cannot be written; nothing is left behind.
        """
        write_toml(path, self.to_dict())


def _tables(given: object) -> list[dict[str, Any]]:
    """The tables of a list; what is none is refused where it is read."""
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
