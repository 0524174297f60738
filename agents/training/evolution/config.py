"""What can be chosen about an evolution strategy? The sizes of network and search, and its aims."""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.agents.scorer.balancer_shape import BalancerShape
from prema_gym.agents.scorer.shape import WIDTH, ScorerShape
from prema_gym.checks import check_fields, declared, infinite, number, one_of, positive, whole
from prema_gym.errors import ConfigError

NETWORKS = ("scorer", "balancer")
COURSES = ("algorithm1", "both")


@dataclass(frozen=True, kw_only=True)
class EvolutionConfig:
    """What the search is made of.

    Attributes:
        network: "scorer", which remembers nothing, or "balancer", which knows how those fared that
            are done.
        course: "algorithm1": workloads with Algorithm 1's estimates; "both": with calibrated ones
            as well, and those of batches that come at once.
        hidden: See :class:`.ScorerShape`. Default 4: with 6, nearly twice the
            weights, the search climbed more slowly.
        readers: The same.
        population: Candidates in a generation.
        sigma: First spread of the search, in units of the weights, which are of order one.
        quantum_ms: Quantum during training [ms]. Default 2: eight times the paper's asks a sixth of
            the questions, and few answers change within two milliseconds. Validation and
            evaluation use the scenario's own; what is learnt carries over.
        floor: Gain (a logarithm) that every metric of every leg should have at least. Default
            2 %: about what a batch of this size can tell from nothing.
        refine_at: Decisions after which the floor is ``refine_floor``; 0: never. The search first
            gains, then makes sure that nothing is lost anywhere.
        refine_floor: The floor from then on.
        floor_weight: How much more a gain below the floor counts than one above: large enough that
            no metric is sold for another.
        ceiling: Gain beyond which more earns nothing. SLA violations fall to a third where load is
            light; without a ceiling that alone would steer the search.
    """

    network: str = declared(
        "scorer", one_of("network", NETWORKS), help=f"what is bred: {', '.join(NETWORKS)}"
    )
    course: str = declared(
        "algorithm1", one_of("course", COURSES), help=f"estimates shown: {', '.join(COURSES)}"
    )
    hidden: int = declared(4, WIDTH, help="width of a task's encoding")
    readers: int = declared(4, WIDTH, help="width of the layer that reads a task")
    population: int = declared(14, whole(4), help="candidates of a generation")
    sigma: float = declared(0.2, positive(), help="first spread of the search")
    quantum_ms: float = declared(2.0, positive(unit="ms"), unit="ms", help="quantum in training")
    floor: float = declared(0.02, number(0.0), help="gain that every metric should have at least")
    refine_at: int = declared(
        0, whole(0), help="decisions after which the floor is refine_floor; 0: never"
    )
    refine_floor: float = declared(0.06, number(0.0), help="the floor from then on")
    floor_weight: float = declared(4.0, number(0.0), help="how much a gain below the floor counts")
    ceiling: float = declared(0.5, infinite(positive()), help="gain beyond which more is nothing")

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("floor", "refine_floor"):
            if not getattr(self, name) < self.ceiling:
                raise ConfigError(
                    f"{name} must be below the ceiling of {self.ceiling!r}, got "
                    f"{getattr(self, name)!r}"
                )

    @property
    def shape(self) -> ScorerShape | BalancerShape:
        """Sizes of the network."""
        if self.network == "balancer":
            return BalancerShape(hidden=self.hidden, readers=self.readers)
        return ScorerShape(hidden=self.hidden, readers=self.readers)
