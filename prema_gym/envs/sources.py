"""Where does the workload of an episode come from? Drawn from a scenario, or given.

A source fills the arrays for some sub-environments of a batch. All randomness of an episode is
drawn from the generator of its own sub-environment: here, or for those that start anew in a step by
the compiled code that takes it, where drawing costs less than calling Python for it. A given
workload draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from prema_gym.checks import check_keys
from prema_gym.compiled.bit_generator import Generators
from prema_gym.compiled.jit import COMPILED, direct
from prema_gym.envs.step import Restarts
from prema_gym.errors import ConfigError, WorkloadError
from prema_gym.metrics import IntArray
from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.cuts import cut, traffic_to_cut
from prema_gym.workloads.generate import Drawing, draw_uniforms, generate, new_draft
from prema_gym.workloads.scenario_rules import NO_TRACE
from prema_gym.workloads.storage import WorkloadLike, as_batch
from prema_gym.workloads.workload import WorkloadArrays, WorkloadBatch, empty_arrays

OVERRIDES = (
    "num_tasks",
    "arrival",
    "window_ms",
    "load",
    "rate_per_s",
    "burst_size",
    "trace",
    "trace_speed",
    "trace_from",
    "trace_limit",
    "network_shares",
    "batch_shares",
    "priorities",
    "priority_shares",
    "sla_factor",
    "slo_ms",
)
"""Fields of a scenario that ``reset(options=…)`` may change: how workloads are drawn. The networks
and the machine are what the environment was made with."""

STREAM_OVERRIDES = ("num_tasks", "load", "rate_per_s", "sla_factor", "slo_ms")
"""Those of them that streams heed; the rest each stream says itself."""

_NO_GENERATORS: IntArray = np.empty(0, np.int64)


class WorkloadSource(Protocol):
    """Fills workload arrays."""

    @property
    def max_tasks(self) -> int:
        """Most tasks a workload has."""
        ...

    @property
    def is_cut(self) -> bool:
        """Whether they are cut from streams, which go on where an episode ends."""
        ...

    @property
    def options(self) -> Mapping[str, Any] | None:
        """The reset options that asked for it; None: it is the environment's own."""
        ...

    def workloads(self, rows: IntArray, generators: Generators) -> WorkloadArrays:
        """Return the next workload of each of ``rows``, in the first K rows of arrays."""
        ...

    def restarts(self, rows: IntArray, generators: Generators) -> Restarts:
        """Return what a step needs to start ``rows`` anew.

        Args:
            rows: int64 (K,), distinct.
            generators: Of all sub-environments (B).
        """
        ...


class DrawnWorkloads:
    """Workloads drawn from a scenario, as ``prema_gym.workloads.sample`` draws them.

    Args:
        catalog: The compiled scenario.
        num_envs: Sub-environments (B): room is made once, for all of them.
        options: See :class:`WorkloadSource`.
    """

    is_cut = False

    def __init__(
        self, catalog: Catalog, num_envs: int, options: Mapping[str, Any] | None = None
    ) -> None:
        self.options = options
        self.max_tasks = catalog.scenario.num_tasks
        self._catalog = catalog.arrays
        self._draft = new_draft(num_envs, self.max_tasks)
        self._arrays = empty_arrays(num_envs, self.max_tasks)
        self._generate = direct(generate, self._catalog, self._draft, 0, self._arrays)

    def workloads(self, rows: IntArray, generators: Generators) -> WorkloadArrays:
        """Draw for each from its own generator, which alone advances."""
        for k, row in enumerate(rows.tolist()):
            draw_uniforms(generators.rngs[row], self.max_tasks, out=self._draft.uniforms[k])
        self._generate(self._catalog, self._draft, rows.size, self._arrays)
        return self._arrays

    def restarts(self, rows: IntArray, generators: Generators) -> Restarts:
        """Leave the drawing to the step, or draw now where nothing is compiled."""
        if COMPILED:
            drawing = Drawing(self._catalog, self._draft, generators.addresses)
            return Restarts(rows, self._arrays, drawing)
        drawing = Drawing(self._catalog, self._draft, _NO_GENERATORS)
        return Restarts(rows, self.workloads(rows, generators), drawing)


class CutWorkloads:
    """Workloads cut from the streams of a scenario, as ``prema_gym.workloads.sample`` cuts them.

    Args:
        catalog: The compiled scenario.
        num_envs: Sub-environments (B).
        options: See :class:`WorkloadSource`.
    """

    is_cut = True

    def __init__(
        self, catalog: Catalog, num_envs: int, options: Mapping[str, Any] | None = None
    ) -> None:
        traffic_to_cut(catalog)
        self.options = options
        self.max_tasks = catalog.scenario.num_tasks
        self._catalog = catalog
        self._arrays = empty_arrays(num_envs, self.max_tasks)

    def workloads(self, rows: IntArray, generators: Generators) -> WorkloadArrays:
        """Cut for each with its own generator, which alone advances."""
        return cut(self._catalog, (generators.rngs[row] for row in rows.tolist()), self._arrays)

    def restarts(self, rows: IntArray, generators: Generators) -> Restarts:
        """Cut now: streams are drawn in Python."""
        return _restarts_with(self.workloads(rows, generators), rows, self._catalog)


def drawn_source(
    catalog: Catalog, num_envs: int, options: Mapping[str, Any] | None = None
) -> DrawnWorkloads | CutWorkloads:
    """Return a source of what a scenario describes: workloads, or cuts from its streams.

    Raises:
        ConfigError: One of its streams is a closed loop.
    """
    kind = CutWorkloads if catalog.scenario.streams else DrawnWorkloads
    return kind(catalog, num_envs, options)


def _restarts_with(workloads: WorkloadArrays, rows: IntArray, catalog: Catalog) -> Restarts:
    """Restarts for which nothing is left to draw."""
    return Restarts(rows, workloads, Drawing(catalog.arrays, new_draft(0, 0), _NO_GENERATORS))


@dataclass(frozen=True)
class GivenWorkloads:
    """The same workloads in every episode: one row for all sub-environments, or one for each."""

    batch: WorkloadBatch
    catalog: Catalog
    options: Mapping[str, Any] | None = None
    is_cut: bool = False

    @property
    def max_tasks(self) -> int:
        """Tasks of the longest workload."""
        return int(self.batch.num_tasks.max())

    def workloads(self, rows: IntArray, generators: Generators) -> WorkloadArrays:
        """Copy the rows asked for; no generator is used."""
        chosen = rows if len(self.batch) > 1 else np.zeros_like(rows)
        return WorkloadArrays._make(array[chosen] for array in self.batch.arrays)

    def restarts(self, rows: IntArray, generators: Generators) -> Restarts:
        """Copy the rows asked for."""
        return _restarts_with(self.workloads(rows, generators), rows, self.catalog)


def given_source(workload: WorkloadLike, catalog: Catalog, num_envs: int) -> GivenWorkloads:
    """Return a source for a workload that a user hands over.

    Raises:
        WorkloadError: It does not belong to the scenario, or is a batch with another number of rows
            than there are sub-environments.
        ConfigError: It is no workload, or a file that cannot be read.
    """
    batch = as_batch(workload, catalog)
    if len(batch) not in (1, num_envs):
        raise WorkloadError(
            f"workload must be one, or one for each of {num_envs} sub-environments, got a batch of "
            f"{len(batch)} workloads"
        )
    return GivenWorkloads(batch, catalog)


def source_from_options(
    options: Mapping[str, Any], catalog: Catalog, num_envs: int, own: WorkloadSource
) -> WorkloadSource:
    """Return the source that ``reset(options=…)`` asks for.

    Args:
        options: ``{"workload": …}``, or fields of the scenario to change (:data:`OVERRIDES`).
        catalog: The environment's.
        num_envs: Sub-environments.
        own: The environment's, which draws or holds what it was made with.

    Raises:
        UnknownNameError: Another key.
        ConfigError: A value that is not allowed, or a workload together with scenario fields.
        WorkloadError: A workload that does not fit.
    """
    check_keys(options, ("workload", *OVERRIDES), "", kind="reset option")
    if "workload" not in options:
        if isinstance(own, GivenWorkloads):
            raise ConfigError(
                f"the environment was made with a workload: reset cannot draw one by "
                f"{', '.join(map(str, options))}"
            )
        changed = dict(options)
        if catalog.scenario.streams:
            check_keys(options, STREAM_OVERRIDES, "of a scenario with streams", kind="reset option")
        if "priorities" in changed:
            # The scenario's own shares are of other priorities.
            changed = {"priority_shares": None} | changed
        if changed.get("arrival", "trace") != "trace":
            # The scenario's own trace rests while arrivals are drawn; a scenario would refuse it.
            changed = NO_TRACE | changed
        changed_catalog = compile_scenario(replace(catalog.scenario, **changed))
        return drawn_source(changed_catalog, num_envs, options)
    if len(options) > 1:
        others = ", ".join(key for key in options if key != "workload")
        raise ConfigError(f"a workload is drawn or given, not both: leave out {others}")
    return replace(given_source(options["workload"], catalog, num_envs), options=options)
