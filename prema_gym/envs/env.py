"""What does `gymnasium.make("PremaNPU-v0")` return? One episode at a time, spelled out."""

from __future__ import annotations

import operator
from copy import deepcopy
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from prema_gym.envs.ended import EndedEpisodes
from prema_gym.envs.episodes import Episodes
from prema_gym.envs.infos import EPISODE_METRICS, REWARD_TERMS, TASKS, metrics_of, standing
from prema_gym.envs.render import Renderer
from prema_gym.envs.settings import RENDER_MODES, EnvSettings
from prema_gym.envs.snapshots import EpisodesState
from prema_gym.envs.spaces import action_space
from prema_gym.envs.step import Transition
from prema_gym.errors import IllegalActionError
from prema_gym.metrics import IntArray
from prema_gym.simulator import Simulator

Observation = NDArray[np.float32]
Action = int | np.integer[Any]

_OUT_OF_RANGE = -1  # an action that no mask allows, in place of whole numbers beyond 64 bits


class PremaNPUEnv(gymnasium.Env[Observation, Action]):
    """Choose which DNN task a preemptible NPU runs next.

    ## Description

    Inference tasks (a network, a batch size, a priority) arrive at one NPU, which runs one task at
    a time and can preempt it between tiles. The scheduler is asked when a task arrives, a task
    completes or the quantum (0.25 ms) ends, if at least two tasks are in the table; time then runs
    on to the next such moment. The machine, the workload and the token bookkeeping follow PREMA
    (HPCA 2020); exactly what happens is in ``docs/simulator.md``, what is and is not modelled in
    ``docs/fidelity.md``.

    ## Action space

    ``Discrete(slots · number of mechanisms)``: ``action = mechanism_index · slots + slot``. With
    the default ``mechanisms=("checkpoint",)`` action *i* runs the task in slot *i*.

    | action | meaning | legal when |
    |---|---|---|
    | slot, first mechanism | run the slot's task; go on if it runs | the slot holds a task |
    | slot, a later mechanism | run it, preempting by that mechanism | and another task runs |

    The running task finishes its tile; then "checkpoint" saves its context, which is restored when
    it runs again, and "kill" throws its progress away. "drain" lets it go on: no question comes
    before it has ended and the named task has started (with ``sticky_drain=False`` the question
    comes again at the next wake-up).

    An illegal action goes on with the running task, else runs the task that arrived first; it is
    counted in ``info["illegal_actions"]``. With ``strict=True`` it raises `IllegalActionError`. The
    mask is ``info["action_mask"]`` and ``action_masks()``; it is never empty: where nothing is left
    to decide, action 0 is legal and does nothing.

    ## Observation space

    ``Box`` float32 (slots, columns): one row a slot of the context table, all zero where the slot
    is empty. Natural units: scaling is the policy's. ``prema_gym.observation_columns()`` gives this
    list; of the space, ``order`` is at most ``slots`` − 1.

    <!-- columns: generated -->
    | column | unit | range | meaning |
    | --- | --- | --- | --- |
    | present | 0/1 | [0, 1] | the slot holds a task |
    | running | 0/1 | [0, 1] | the task occupies the NPU |
    | priority | weight | [0, inf) | priority weight (paper: 1, 3, 9) |
    | order | rank | [0, inf) | rank by arrival among the tasks in the table, from 0 |
    | age_ms | ms | [0, inf) | time since arrival |
    | waited_ms | ms | [0, inf) | time in the system and not running |
    | since_run_ms | ms | [0, inf) | time since it last ran (since arrival if never) |
    | estimated_ms | ms | [0, inf) | estimated isolated time, as `estimate` says |
    | executed_ms | ms | [0, inf) | useful work done |
    | remaining_ms | ms | [0, inf) | estimated work left, not below 0 |
    | next_layer_ms | ms | [0, inf) | estimated time of the layer it goes on with |
    | token | tokens | [0, inf) | tokens (Algorithm 2) |
    | slack_ms | ms | (-inf, inf) | deadline − now − remaining |
    | preempt_ms | ms | [0, inf) | running: time to free the NPU by a checkpoint now |
    | restore_ms | ms | [0, inf) | waiting: time to bring its context back |
    | context_bytes | bytes | [0, inf) | context to save (running) or saved (waiting) |
    | batch_size | inputs | [0, inf) | inputs in the task's batch |
    | preemptions | count | [0, inf) | times checkpointed or killed |
    | quantum_left_ms | ms | [0, inf) | running: time until the quantum ends |
    <!-- columns: end -->

    ## Reward

    ``reward`` names a term, or gives weights by term; the rewards of an episode add up to the
    weighted terms. NTT is turnaround over isolated time. "Dense" terms are paid as time passes,
    "end" terms in the last step. What happens before the first decision is part of the first step.

    <!-- terms: generated -->
    | term | an episode's rewards add up to | paid | a task unfinished at truncation counts |
    | --- | --- | --- | --- |
    | antt | −mean NTT (−ANTT) | dense | its slowdown so far; divided by all tasks |
    | priority_antt | −Σ π·NTT / Σ π | dense | its slowdown so far; divided by all priorities |
    | stp | Σ 1/NTT | dense | 0 |
    | sla | −share of tasks past their deadline | dense | a miss if the deadline has passed |
    | sla_curve | −share of tasks with NTT > n, mean over n = 2 … 20 | dense | the targets passed |
    | fairness | min PP / max PP, PP = (1/NTT) / (π/Σ π) | end | fairness 0 |
    | tail | −95th percentile of NTT of highest-priority tasks (0 if none) | end | slowdown so far |
    | energy | −energy [mJ] | dense | the energy spent |
    | balanced | antt/8 + stp/8 + fairness + sla_curve |  |  |
    <!-- terms: end -->

    ``info["reward_terms"]`` gives each named term, unweighted; a term of weight 0 is given there
    and not paid: ``{"antt": 1, "sla": 0}``. A function ``f(simulator) -> float64 (num_envs,)`` may
    stand in place of a name: the total earned by now, whose rise is the reward (docs/rewards.md).

    ## Starting state

    ``reset(seed=s)`` draws the workload that ``prema_gym.workloads.sample`` draws from
    ``numpy.random.default_rng(s)``; without a seed the next one of the same generator follows. Time
    is at the first decision. ``reset(options=…)`` changes that episode alone: ``{"workload": …}``
    replays a `Workload` or file; ``num_tasks``, ``arrival``, ``window_ms``, ``load``,
    ``rate_per_s``, ``burst_size``, ``trace``, ``trace_speed``, ``network_shares``,
    ``batch_shares``, ``priorities``, ``priority_shares``, ``sla_factor`` and ``slo_ms`` replace the
    scenario's. Where the scenario has ``[[streams]]`` an episode is ``num_tasks`` requests of them,
    from a random point on, and begins with an idle machine; reset then takes ``num_tasks``,
    ``load``, ``rate_per_s``, ``sla_factor`` and ``slo_ms``.

    ## Episode end

    ``terminated``: every task has finished. ``truncated``: a decision is due, but ``max_decisions``
    have been taken or ``horizon_ms`` has passed. Never both. An episode cut from ``[[streams]]`` is
    always truncated, at the first decision after its last arrival or when all are done before:
    the stream goes on, and the last table is what to bootstrap from. A workload that needs no
    decision (one task, say) still has one step: any action ends the episode. A step after the end
    changes nothing and has reward 0.

    ## Info

    <!-- info: generated -->
    | key | type | in | meaning |
    | --- | --- | --- | --- |
    | action_mask | bool (actions,) | reset, step | legal actions |
    | now_ms | float | reset, step | time in the episode [ms] |
    | illegal_actions | int | reset, step | illegal actions so far in the episode |
    | reward_terms | dict of float | step | rise of each term of the reward, unweighted |
    | episode_metrics | dict of float | last step | as `prema-gym evaluate`: `prema_gym.metrics` |
    | tasks | dict of int64 (tasks,) | last step | what came and what became of it, in cycles |
    <!-- info: end -->

    A metric that is undefined (the 95th percentile of no task) is NaN. ``tasks`` is as long as the
    longest workload, and at least as the table, with zeros behind the last task. ``info="mask"``
    leaves the first three keys.

    ## Arguments

    | name | type | default | effect |
    |---|---|---|---|
    | scenario | name, TOML file, dict, Scenario | "paper" | what is drawn, and the machine |
    | slots | int | 16 | tasks a policy can choose from; more wait in a queue |
    | reward | name, dict of weights, function | "antt" | see above |
    | mechanisms | names | ("checkpoint",) | "checkpoint", "kill", "drain", in this order |
    | estimate | "algorithm1", "calibrated", "oracle" | "algorithm1" | isolated times shown |
    | oracle | bool | False | the same as ``estimate="oracle"`` |
    | workload | Workload, file, batch of one | None | replay exactly this in every episode |
    | max_decisions | int or None | 10 000 | truncate after so many decisions |
    | horizon_ms | float or None [ms] | None | truncate at the first decision from this time on |
    | strict | bool | False | raise on illegal actions |
    | token_wait | "since_wakeup", "total", "since_run" | "since_wakeup" | which wait earns tokens |
    | sticky_drain | bool | True | a drain holds until the running task has ended |
    | record_timeline | bool | False | keep who ran when, for ``timeline()``; on when rendering |
    | observation | "table" or "features" | "table" | what is seen: the table, or scaled features |
    | slot_order | "slot", "arrival", "remaining" | "slot" | by what tasks are sorted into rows |
    | info | "all" or "mask" | "all" | "mask": only the keys that every reset and step has, flat |
    | render_mode | "ansi", "rgb_array", "human" | None | a table and a Gantt chart, or a picture |

    ## Version history

    * v0: first release.

    ## References

    Choi and Rhu, "PREMA: A Predictive Multi-task Scheduling Algorithm For Preemptible Neural
    Processing Units", HPCA 2020: context table and Algorithm 2 (tokens), Algorithm 1 (estimates),
    preemption mechanisms. Metrics: Eyerman and Eeckhout, IEEE Micro 28(3), 2008.

    Raises:
        ConfigError: On construction, a value that is not allowed.
        UnknownNameError: On construction, an unknown argument, scenario, reward or mechanism.
    """

    # Gymnasium declares it as an attribute of instances; it is only read.
    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 10}  # noqa: RUF012

    def __init__(self, **arguments: object) -> None:
        settings = EnvSettings.of(f"{type(self).__name__}.__init__", arguments)
        self.settings = settings
        self.render_mode = settings.render_mode
        self.observation_space = cast(
            "spaces.Space[Observation]", settings.seen.space(settings.slots)
        )
        self.action_space = cast(
            "spaces.Space[Action]", action_space(settings.slots, len(settings.mechanisms))
        )
        self._episodes = Episodes(settings, num_envs=1)
        self._renderer = Renderer(settings.render_mode, self.metadata["render_fps"])
        self._action = np.zeros(1, np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode and play to its first decision; see the class.

        Args:
            seed: Seed of the generator; None: go on with the one there is.
            options: A workload or scenario fields for this episode alone.

        Raises:
            ConfigError: Options that are not allowed.
            WorkloadError: A workload that does not belong to the scenario.
        """
        episodes = self._episodes
        source = episodes.source(options)
        super().reset(seed=seed)
        episodes.rngs = [self.np_random]
        episodes.reset(episodes.everyone, source)
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info()

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one decision and play to the next; see the class.

        Raises:
            IllegalActionError: ``action`` is no whole number, or illegal and ``strict`` is set.
            gymnasium.error.ResetNeeded: There was no reset.
        """
        episodes = self._episodes
        if not episodes.started:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        self._action[0] = self._checked(action)
        transition, _, _, ended = episodes.step(self._action, restart=False)
        info = self._info()
        if self.settings.info == "all":
            self._tell(info, transition, ended)
        if self.render_mode == "human":
            self.render()
        return (
            self._observation(),
            float(transition.reward[0]),
            bool(transition.terminated[0]),
            bool(transition.truncated[0]),
            info,
        )

    def _tell(
        self, info: dict[str, Any], transition: Transition, ended: EndedEpisodes | None
    ) -> None:
        """Add to ``info`` what a step gives, and the last one of an episode."""
        rises = transition.rise[:, 0].tolist()
        info[REWARD_TERMS] = dict(zip(self._episodes.ledger.names, rises, strict=True))
        if ended is not None:
            info[EPISODE_METRICS] = metrics_of(ended.metrics(), 0)
            # As long for all that a vector environment of Gymnasium's may put beside each other.
            width = max(self.settings.slots, self._episodes.most_tasks)
            info[TASKS] = {name: value[0] for name, value in ended.task_arrays(width).items()}

    @property
    def simulator(self) -> Simulator:
        """The simulation, a batch of one, to read from; its arrays are the engine's own memory."""
        return self._episodes.simulator

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions, bool (actions,): the same as ``info["action_mask"]``."""
        return np.array(self._episodes.masks()[0])

    def timeline(self) -> IntArray:
        """Return who ran when in this episode so far: int64 (slices, 4).

        Columns: task (−1: none), kind (`simulator.state.SLICE_KINDS`), start, end [cycles].

        Raises:
            ConfigError: The environment was made without ``record_timeline``.
        """
        return self._episodes.simulator.timeline(0)

    def get_state(self) -> EpisodesState:
        """Return a copy of everything that moves, for :meth:`set_state`; some 10 µs."""
        self._take_generator()
        return self._episodes.get_state()

    def set_state(self, state: EpisodesState) -> None:
        """Continue from a state of an environment with the same arguments, generator included.

        Raises:
            ConfigError: The state is of an environment with other sizes.
        """
        self._take_generator()
        self._episodes.set_state(state, [self.np_random])

    def render(self) -> str | NDArray[np.uint8] | None:
        """Show the episode so far, in the way that ``render_mode`` says.

        Returns:
            A text ("ansi"), an image uint8 (height, width, 3) ("rgb_array"), or None ("human": it
            is drawn in a window, also by ``reset`` and ``step``).

        Raises:
            ConfigError: No window can be opened.
            MissingExtraError: Matplotlib is not installed.
            gymnasium.error.ResetNeeded: There was no reset.
        """
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() does nothing: make the environment with render_mode="
                + " or ".join(map(repr, RENDER_MODES))
            )
            return None
        if not self._episodes.started:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        return self._renderer.render(self._episodes.simulator, 0)

    def __copy__(self) -> PremaNPUEnv:
        # Two environments on one simulation would play each other's episodes.
        return deepcopy(self)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    def _take_generator(self) -> None:
        """Go on with the generator that a user may have put in place of ours."""
        if self._episodes.rngs and self._episodes.rngs[0] is not self.np_random:
            self._episodes.rngs = [self.np_random]

    def _checked(self, action: Action) -> int:
        try:
            number = operator.index(action)
        except TypeError:
            raise IllegalActionError(f"an action must be a whole number, got {action!r}") from None
        if abs(number) < 2**63:
            return number
        if self.settings.strict and not self._episodes.over[0]:
            raise IllegalActionError(
                f"an action of {number.bit_length()} bits is illegal: none has more than 63"
            )
        return _OUT_OF_RANGE

    def _observation(self) -> Observation:
        return np.array(self._episodes.observations()[0])

    def _info(self) -> dict[str, Any]:
        record = self._episodes.simulator.env[0]
        now_ms = float(record["now_cycles"] * self._episodes.ms_per_cycle)
        return standing(self.action_masks(), now_ms, int(record["illegal_actions"]))
