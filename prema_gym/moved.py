"""Where is a class that a pickle of an older version names? One table, read when one is loaded.

A pickle names a class by its module. For a module that is gone another stands in, which knows the
classes that pickles can hold, and nothing else.
"""

from __future__ import annotations

import sys
from pkgutil import resolve_name
from types import ModuleType

MOVED: dict[str, dict[str, str]] = {
    "prema_gym.envs.ledger": {"LedgerState": "prema_gym.envs.rewards.ledger:LedgerState"},
    "prema_gym.results": {
        "Estimate": "prema_gym.evaluation.results:MetricValue",
        "Evaluation": "prema_gym.evaluation.results:Evaluation",
        "PolicyResult": "prema_gym.evaluation.results:PolicyResult",
    },
}
"""Old module → old name of a class → new module and name.

What once lay in ``agents`` and ``baselines`` is not here: at the top those names are not ours."""


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> object:
        home = MOVED[self.__name__].get(name)
        if home is None:
            raise AttributeError(f"module {self.__name__!r} is gone, and {name!r} with it")
        return resolve_name(home)


def stand_in() -> None:
    """Let pickles find the modules that are gone."""
    for name in MOVED:
        sys.modules.setdefault(name, _StandIn(name))
