"""What kind of workload is drawn, and on which machine?

A scenario is plain data: it can be written to a TOML file, sent to another process, compared and
used as a key. `prema_gym.workloads.generate` draws from it; `prema_gym.workloads.catalog` works out
once what its networks cost.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from prema_gym import networks as registry
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.files import read_toml, write_toml
from prema_gym.hardware.config import NPUConfig
from prema_gym.workloads.lengths import LengthModel, default_lengths

# How arrivals are drawn; a name's position is the code that compiled code reads.
ARRIVALS: tuple[str, ...] = ("uniform", "poisson", "periodic", "burst", "trace")
UNIFORM, POISSON, PERIODIC, BURST, TRACE = range(len(ARRIVALS))

# Upper limits, far above any experiment, that keep every time within 64-bit integers: tasks times
# window cycles (3.5 hours at 700 MHz) is the largest product.
_MOST_WINDOW_CYCLES = 9 * 10**12
_MOST_TASKS = 1_000_000
_MOST_MS = 1e9
_MOST_PRIORITY = 1_000_000
_MOST_BATCH = 65_536
_MOST_SHARE = 10_000  # percent of percent; tables of draws hold their sum

SHARES = {
    "network_shares": "networks",
    "batch_shares": "batch_sizes",
    "priority_shares": "priorities",
}
"""Fields that say how often each value of another field is drawn."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A distribution over workloads, and the machine they run on.

    Attributes:
        name: What tables and files call it.
        networks: Networks of the zoo or registered (`prema_gym.networks.register`), or files
            (``….csv``, ``….onnx``). Default: the paper's eight (R).
        network_shares: How often each network is drawn, as whole numbers in their order: ``(3, 1)``
            is three tasks in four. None (default): equally likely, as the paper's (R).
        batch_sizes: Batch sizes [inputs]. Default: the paper's (R).
        batch_shares: How often each is drawn, likewise.
        num_tasks: Tasks in one workload. Default: the paper's eight (r).
        arrival: How arrivals are drawn. "uniform" (default, the paper's, r): each task uniform in
            the window. "poisson": gaps from an exponential distribution with mean
            window / num_tasks, so the same rate without an end. "periodic": one task every
            window / num_tasks, the first at 0. "burst": groups of ``burst_size`` tasks at one
            instant, the instants uniform in the window. "trace": consecutive requests of a recorded
            trace, from a start that is any of the possible ones with the same chance, the first of
            them at 0.
        window_ms: Length of the arrival window [ms]; 0 lets every task arrive at 0. Default 10: a
            choice (fidelity.md: C), the window is not public. A trace is stretched or shrunk as a
            whole, so that its mean gap is window / num_tasks.
        burst_size: Tasks in one group of "burst" arrivals. Default 4: two groups in a workload
            of eight, as when one application asks for several inferences at once (ours).
        trace: File of a recorded trace (`prema_gym.workloads.traces.read_trace` has the formats),
            kept as its absolute path; a relative one is taken from the current folder, in a TOML
            file from that file's folder. Read when the scenario is compiled. For "trace" arrivals,
            and only for them.
        trace_speed: Play the trace in real time, so many times as fast; ``window_ms`` then changes
            nothing. None (default): scale it to the window.
        priorities: Priority weights. Default: the paper's three (R).
        priority_shares: How often each is drawn, likewise.
        lengths: Sequence lengths that replace a recurrent network's default; needed for a
            recurrent network of your own, which has none.
        sla_factor: A task's deadline is its arrival + this × its *estimated* isolated time, so a
            deadline tells a scheduler nothing that it could not know. Default 8, inside the
            paper's targets of 2 to 20: eight tasks that share the machine equally all finish within
            8 × their isolated time, so a fair schedule of the paper's workload can meet it (C).
        quantum_ms: Scheduling quantum [ms]. Default 0.25 (R).
        hardware: The machine.

    Raises:
        ConfigError: On construction, a value that is not allowed.
        UnknownNameError: On construction, an unknown network or arrival process.
    """

    name: str = "custom"
    networks: tuple[str, ...] = (
        "alexnet",
        "googlenet",
        "vgg-16",
        "mobilenet-v1",
        "rnn-sa",
        "rnn-mt1",
        "rnn-mt2",
        "rnn-asr",
    )
    network_shares: tuple[int, ...] | None = None
    batch_sizes: tuple[int, ...] = (1, 4, 16)
    batch_shares: tuple[int, ...] | None = None
    num_tasks: int = 8
    arrival: str = "uniform"
    window_ms: float = 10.0
    burst_size: int = 4
    trace: str | None = None
    trace_speed: float | None = None
    priorities: tuple[int, ...] = (1, 3, 9)
    priority_shares: tuple[int, ...] | None = None
    lengths: tuple[LengthModel, ...] = ()
    sla_factor: float = 8.0
    quantum_ms: float = 0.25
    hardware: NPUConfig = field(default_factory=NPUConfig)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(f"a scenario's name must be a non-empty text, got {self.name!r}")
        self._check_networks()
        if self.arrival not in ARRIVALS:
            raise UnknownNameError("arrival process", str(self.arrival), ARRIVALS, self._where)
        self._check_trace()
        self._set_integers("batch_sizes", _MOST_BATCH)
        self._set_integers("priorities", _MOST_PRIORITY)
        for name, of in SHARES.items():
            self._check_shares(name, of)
        for name in ("num_tasks", "burst_size"):
            self._set(name, self._integer(name, getattr(self, name), _MOST_TASKS))
        for name, low in (("window_ms", 0.0), ("sla_factor", 0.0), ("quantum_ms", 0.0)):
            self._set(name, self._number(name, getattr(self, name), low))
        if not isinstance(self.hardware, NPUConfig):
            raise ConfigError(
                f"hardware of {self._where} must be an NPUConfig or a table, got {self.hardware!r}"
            )
        if self.window_cycles > _MOST_WINDOW_CYCLES:
            raise ConfigError(
                f"window_ms of {self._where} is {self.window_cycles} cycles: at most "
                f"{_MOST_WINDOW_CYCLES} are allowed"
            )
        if self.sla_factor == 0:
            raise ConfigError(f"sla_factor of {self._where} must be above 0, got 0")
        if self.quantum_cycles < 1:
            raise ConfigError(
                f"quantum_ms of {self._where} must be at least one cycle at "
                f"{self.hardware.clock_hz} Hz, got {self.quantum_ms}"
            )

    @property
    def window_cycles(self) -> int:
        """Length of the arrival window [cycles]."""
        return self.hardware.cycles(self.window_ms)

    @property
    def quantum_cycles(self) -> int:
        """Scheduling quantum [cycles]: 175 000 at 700 MHz, 250 000 at 1 GHz by default."""
        return self.hardware.cycles(self.quantum_ms)

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
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        data: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
        for name in ("networks", "batch_sizes", "priorities", *SHARES):
            if name in data:
                data[name] = list(data[name])
        data["lengths"] = [model.to_dict() for model in self.lengths]
        data["hardware"] = self.hardware.to_dict()
        return data

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
        known = [f.name for f in fields(cls)]
        for key in data:
            if key not in known:
                raise UnknownNameError("field", str(key), known, where)
        values = dict(data)
        hardware = values.get("hardware")
        if isinstance(hardware, Mapping):
            values["hardware"] = NPUConfig.from_dict(hardware, where=f"{where}, hardware")
        entries = values.get("lengths", ())
        if not isinstance(entries, list | tuple):
            raise ConfigError(f"lengths in {where} must be a list, got {entries!r}")
        values["lengths"] = tuple(
            LengthModel.from_dict(entry, where=f"{where}, lengths")
            if isinstance(entry, Mapping)
            else entry
            for entry in entries
        )
        try:
            return cls(**values)
        except ConfigError as error:
            error.args = (f"{where}: {error}",)  # the same error, with the file it came from
            raise

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Scenario:
        """Read a scenario from a TOML file with the fields' names as keys.

        A relative ``trace``, or network that is a file, is looked for from the folder of the TOML
        file.

        Raises:
            UnknownNameError: A key is no field.
            ConfigError: The file cannot be read, is not TOML, or holds a value not allowed.
        """
        data = read_toml(path)
        folder = os.path.dirname(path)
        if isinstance(data.get("trace"), str):
            data["trace"] = os.path.join(folder, data["trace"])
        if isinstance(data.get("networks"), list):
            data["networks"] = [
                os.path.join(folder, name) if registry.is_file(name) else name
                for name in data["networks"]
            ]
        return cls.from_dict(data, where=os.fspath(path))

    def to_toml(self, path: str | os.PathLike[str]) -> None:
        """Write every field to a TOML file that `from_toml` reads back equal.

        Raises:
            ConfigError: The file cannot be written; nothing is left behind.
        """
        write_toml(path, self.to_dict())

    @property
    def _where(self) -> str:
        return f"scenario {self.name!r}"

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_networks(self) -> None:
        """Known names, none twice, and lengths only where there is a sequence."""
        given = self._tuple("networks", self.networks)
        for name in given:
            registry.get(name, where=self._where)
        names = tuple(map(registry.full_name, given))
        self._set("networks", self._tuple("networks", names))
        self._set("lengths", self._tuple("lengths", self.lengths, empty=True))
        for model in self.lengths:
            if not isinstance(model, LengthModel):
                raise ConfigError(f"lengths of {self._where} must be LengthModels, got {model!r}")
            if model.network not in names:
                raise UnknownNameError("network", model.network, names, f"{self._where}, lengths")
        if len({model.network for model in self.lengths}) < len(self.lengths):
            raise ConfigError(f"{self._where} gives lengths for one network twice")
        for name in names:
            self._check_length_model(name)

    def _check_trace(self) -> None:
        """A file and perhaps a speed where arrivals are replayed, and nowhere else."""
        if self.arrival != "trace":
            for name in ("trace", "trace_speed"):
                if getattr(self, name) is not None:
                    raise ConfigError(
                        f"{name} of {self._where} is for arrival 'trace' only, not "
                        f"{self.arrival!r}: leave it out, or change the arrival"
                    )
            return
        path = os.fspath(self.trace) if isinstance(self.trace, str | os.PathLike) else ""
        if not path or "\0" in path:  # which no system takes in a name
            raise ConfigError(
                f"arrival 'trace' of {self._where} needs the name of a file as trace, got "
                f"{self.trace!r}"
            )
        self._set("trace", os.path.realpath(path))
        if self.trace_speed is not None:
            speed = self.trace_speed
            if isinstance(speed, int | float) and speed <= 0:
                raise ConfigError(f"trace_speed of {self._where} must be above 0, got {speed!r}")
            self._set("trace_speed", self._number("trace_speed", speed, 0.0))

    def _check_length_model(self, name: str) -> None:
        """A network with a sequence has lengths, one with output steps also a ratio."""
        network, model = registry.get(name), self.length_model(name)
        if network.is_recurrent != (model is not None):
            needs = "give its lengths" if network.is_recurrent else "no lengths may be given"
            raise ConfigError(f"{self._where}: {name!r} has {network.input_unit} inputs: {needs}")
        if model is not None and network.has_output_steps != (model.ratio_median is not None):
            needs = "needs a" if network.has_output_steps else "has no output steps, so no"
            raise ConfigError(f"{self._where}: {name!r} {needs} ratio_median in its lengths")

    def _set_integers(self, name: str, most: int) -> None:
        """Replace a field by a tuple of distinct whole numbers from 1 to ``most``."""
        values = self._tuple(name, getattr(self, name))
        self._set(name, tuple(self._integer(name, value, most) for value in values))

    def _check_shares(self, name: str, of: str) -> None:
        """As many whole numbers as there are to choose from, or none at all."""
        given, choices = getattr(self, name), getattr(self, of)
        if given is None:
            return
        if not isinstance(given, list | tuple) or len(given) != len(choices):
            raise ConfigError(
                f"{name} of {self._where} must be {len(choices)} whole numbers, one for each of "
                f"its {of}, got {given!r}"
            )
        shares = tuple(self._integer(name, share, _MOST_SHARE) for share in given)
        self._set(name, shares)

    def _tuple(self, name: str, values: object, *, empty: bool = False) -> tuple[Any, ...]:
        """A list or tuple without repeats, as a tuple."""
        if not isinstance(values, list | tuple) or not (values or empty):
            raise ConfigError(f"{name} of {self._where} must be a non-empty list, got {values!r}")
        if any(value in values[:i] for i, value in enumerate(values)):
            raise ConfigError(f"{name} of {self._where} names one value twice: {list(values)}")
        return tuple(values)

    def _integer(self, name: str, value: object, most: int) -> int:
        """A whole number from 1 to ``most``."""
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            number = 0
        if isinstance(value, bool) or not 1 <= number <= most:
            raise ConfigError(
                f"{name} of {self._where}: {value!r} is not a whole number from 1 to {most}"
            )
        return number

    def _number(self, name: str, value: object, low: float) -> float:
        """A finite number from ``low`` to the largest time allowed."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{name} of {self._where} must be a number, got {value!r}")
        if not (math.isfinite(value) and low <= value <= _MOST_MS):
            raise ConfigError(
                f"{name} of {self._where} must be from {low:g} to {_MOST_MS:g}, got {value!r}"
            )
        return float(value)
