"""How good can any schedule be? Clairvoyant optima and lower bounds for a set of tasks.

Everything here takes plain arrays: the arrival r and the *true* isolated time P of each task, in
integer cycles, and where asked for a weight w or a deadline d. The machine is one NPU (or m equal
ones) on which switching is free, possible at any cycle, and every arrival is known beforehand.
Tile boundaries, checkpoints, kills, restores, quanta, wrong estimates and non-preemption only
delay tasks, and no objective here improves with delay: what is optimal here bounds *every* policy
on the real machine, from below where less is better and from above for STP.

- :func:`optimum`, :func:`optimum_batch`: the exact optimum of one objective, up to
  :data:`MAX_TASKS` tasks, with a priority order that attains it.
- :func:`lp_bound`, :func:`antt_bound`, :func:`stp_cap`: quick bounds for any number of tasks.
- :func:`srpt_completions`, :func:`wspt_completions`, :func:`fewest_misses`,
  :func:`least_worst_ntt`: special cases with a simpler exact method.
- :func:`decode`: the schedule a priority order stands for; :func:`regret`: distance to the optimum.

- :func:`fairness_bound`, :func:`antt_fairness_front`, :func:`mean_front`: how fair a schedule can
  be that idles only while nothing waits (idling can raise fairness at will), and what it costs.
"""

from prema_gym.bounds.exact import MAX_TASKS, Optimum, OptimumBatch, optimum, optimum_batch
from prema_gym.bounds.fairness import (
    Front,
    antt_fairness_front,
    fairness_bound,
    fronts,
    mean_front,
)
from prema_gym.bounds.objectives import OBJECTIVES, Objective, regret
from prema_gym.bounds.relaxation import antt_bound, lp_bound, stp_cap
from prema_gym.bounds.schedules import decode
from prema_gym.bounds.special import (
    fewest_misses,
    least_worst_ntt,
    srpt_completions,
    wspt_completions,
)

__all__ = [
    "MAX_TASKS",
    "OBJECTIVES",
    "Front",
    "Objective",
    "Optimum",
    "OptimumBatch",
    "antt_bound",
    "antt_fairness_front",
    "decode",
    "fairness_bound",
    "fewest_misses",
    "fronts",
    "least_worst_ntt",
    "lp_bound",
    "mean_front",
    "optimum",
    "optimum_batch",
    "regret",
    "srpt_completions",
    "stp_cap",
    "wspt_completions",
]
