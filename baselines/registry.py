"""Which policies exist, and how is one made from its name?

One table of names. To add a rule: write its `Ordering` in a file of its
own and give it a line here for each way of preempting that makes sense with it. A rule that several
ways of preempting suit has the way in front of its name; a published scheduler that comes with its
own bears its plain name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import NamedTuple

from prema_gym.baselines.aurora import Aurora
from prema_gym.baselines.classic import (
    FirstComeFirstServed,
    HighestPriorityFirst,
    RoundRobin,
    ShortestJobFirst,
)
from prema_gym.baselines.deadline import EarliestDeadlineFirst, EdfAdmission, LeastSlackTime
from prema_gym.baselines.dream import Dream
from prema_gym.baselines.dysta import Dysta
from prema_gym.baselines.fair_share import CompletelyFair, Remembering, Stride
from prema_gym.baselines.lottery import Lottery
from prema_gym.baselines.moca import Moca
from prema_gym.baselines.multilevel import MultiLevelFeedback
from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.parameters import name_with, read_parameters
from prema_gym.baselines.planaria import Planaria
from prema_gym.baselines.policy import Policy
from prema_gym.baselines.preemption import Dynamic, Kill, NonPreemptive, Static
from prema_gym.baselines.prema import Prema, Token
from prema_gym.baselines.replan import Planner, Replan
from prema_gym.baselines.shortest import (
    HighestResponseRatioNext,
    LeastER,
    ShortestProcessingTime,
    ShortestRemainingProcessingTime,
)
from prema_gym.baselines.uniform import RandomPolicy, Uniform
from prema_gym.baselines.weighted import WeightedShortest, WeightedShortestRemaining
from prema_gym.errors import ConfigError, UnknownNameError

PREMA = "dynamic-prema"
"""PREMA as its paper compares it: Algorithm 2 with Algorithm 3. The policy to be beaten."""

POLICIES: dict[str, tuple[type[Policy], type[Ordering]]] = {
    "np-fcfs": (NonPreemptive, FirstComeFirstServed),
    "np-hpf": (NonPreemptive, HighestPriorityFirst),
    "np-sjf": (NonPreemptive, ShortestJobFirst),
    "np-token": (NonPreemptive, Token),
    "np-prema": (NonPreemptive, Prema),
    "static-rrb": (Static, RoundRobin),
    "static-hpf": (Static, HighestPriorityFirst),
    "static-sjf": (Static, ShortestJobFirst),
    "static-token": (Static, Token),
    "static-prema": (Static, Prema),
    "dynamic-hpf": (Dynamic, HighestPriorityFirst),
    "dynamic-sjf": (Dynamic, ShortestJobFirst),
    "dynamic-token": (Dynamic, Token),
    PREMA: (Dynamic, Prema),
    "kill-hpf": (Kill, HighestPriorityFirst),
    "kill-sjf": (Kill, ShortestJobFirst),
    "kill-token": (Kill, Token),
    "kill-prema": (Kill, Prema),
    "random": (RandomPolicy, Uniform),
    # Textbook rules beyond the paper's own comparison, each with the preemption it is known for.
    "np-edf": (NonPreemptive, EarliestDeadlineFirst),
    "np-hrrn": (NonPreemptive, HighestResponseRatioNext),
    "static-edf": (Static, EarliestDeadlineFirst),
    "static-lst": (Static, LeastSlackTime),
    "static-spt": (Static, ShortestProcessingTime),
    "static-srpt": (Static, ShortestRemainingProcessingTime),
    "static-wspt": (Static, WeightedShortest),
    "static-wsrpt": (Static, WeightedShortestRemaining),
    "static-least-er": (Static, LeastER),
    "static-mlfq": (Static, MultiLevelFeedback),
    "static-lottery": (Static, Lottery),
    "static-stride": (Remembering, Stride),
    "static-cfs": (Remembering, CompletelyFair),
    # Schedulers published after PREMA, reduced to one NPU.
    "dysta": (Static, Dysta),
    "dream": (Static, Dream),
    "moca": (NonPreemptive, Moca),
    "planaria": (Static, Planaria),
    "aurora": (NonPreemptive, Aurora),
    "np-edf-admission": (NonPreemptive, EdfAdmission),
    "static-edf-admission": (Static, EdfAdmission),
    # Ours.
    "replan": (Planner, Replan),
}

_FCFS_NEVER_PREEMPTS = "no later arrival ever comes before the running task, so it is np-fcfs"
LEFT_OUT: dict[str, str] = {
    "static-fcfs": _FCFS_NEVER_PREEMPTS,
    "dynamic-fcfs": _FCFS_NEVER_PREEMPTS,
    "kill-fcfs": _FCFS_NEVER_PREEMPTS,
    "np-rrb": "tasks that run to their end are served in order of arrival, so it is np-fcfs",
    "dynamic-rrb": "a turn is owed whatever its length, and a drained one would block those behind",
    "kill-rrb": "a task longer than one quantum would be killed at each turn and never finish",
    "np-srpt": "where nobody is displaced nobody waits half done, so it is np-sjf",
    "np-spt": "where nobody is displaced nobody waits half done, so it is np-sjf",
    "static-hrrn": "the ratio of a running task stands still, so tasks would swap at every wake-up",
}
"""Pairs of ordering and preemption that are not offered, and why."""


class PolicyInfo(NamedTuple):
    """One line of the listing."""

    name: str
    rule: str
    source: str
    mechanisms: tuple[str, ...]  # the natural ones
    parameters: dict[str, object]  # defaults


_WAYS = ("dynamic-", "static-", "kill-", "np-")
"""Ways of preempting, the one first that the short name of an ordering stands for."""


def meant_by(name: str) -> str:
    """Return the policy that a name stands for which is none: ``PREMA``, ``sjf``; "" if none."""
    plain = name.strip().lower().replace("_", "-")
    ways = ("", *_WAYS)
    return next((way + plain for way in ways if way + plain in POLICIES), "")


def names() -> tuple[str, ...]:
    """Names of all policies, in the order of the listing."""
    return tuple(POLICIES)


def describe() -> tuple[PolicyInfo, ...]:
    """Every policy with its rule in one sentence, source, mechanisms and parameter defaults."""
    return tuple(
        PolicyInfo(policy.name, policy.rule, policy.source, policy.mechanisms, policy.parameters)
        for policy in map(make, POLICIES)
    )


def make(name: str, *, mechanisms: Sequence[str] | None = None, **parameters: object) -> Policy:
    """Make a policy from its name.

    Args:
        name: One of :func:`names`, alone or with parameters: ``np-token:strict=true``,
            ``static-prema:levels=1/3/9,shortest_by=estimate``.
        mechanisms: The simulation's mechanisms, which actions index; default: the policy's own.
        **parameters: The same parameters as Python values (or text, as in the name).

    Returns:
        The policy.

    Raises:
        UnknownNameError: No such policy, parameter or mechanism; the message names the nearest.
        ConfigError: A value that is not allowed, a parameter given twice, a pair in
            :data:`LEFT_OUT`, or a mechanism the policy needs and the simulation lacks.
    """
    if not isinstance(name, str):
        raise ConfigError(f"a policy is made from its name, given {name!r}")
    base, _, text = name.partition(":")
    if base in LEFT_OUT:
        raise ConfigError(f"there is no policy {base!r}: {LEFT_OUT[base]}")
    if base not in POLICIES:
        note = "agents.load makes learned ones"
        raise UnknownNameError("policy", base, POLICIES, note=note, meant=meant_by(base))
    policy_class, ordering_class = POLICIES[base]
    where = f"policy {base!r}"
    changed = read_parameters(text, parameters, _defaults(ordering_class), where)
    return policy_class(name_with(base, changed), ordering_class(**changed), mechanisms)


def _defaults(ordering_class: type[Ordering]) -> dict[str, object]:
    """Default of each parameter, in the order of the fields."""
    defaults: dict[str, object] = {}
    for field in fields(ordering_class):
        assert field.default is not MISSING, f"{ordering_class.__name__}.{field.name}: no default"
        defaults[field.name] = field.default
    return defaults
