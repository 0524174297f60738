"""How many environment steps a second? Prints tables; nothing is asserted.

Run: python -m benchmarks env, or python -m benchmarks.bench_env [--seconds 2] [--rounds 10]

What is timed is ``env.step`` alone, with all it returns: observation, action mask, reward, info and
the resets of those that ended. Random legal actions are drawn outside the timing. All are first
stepped for one episode, so that their ends are spread as in training. Other environments are
measured in the same run, with random actions of their own.

Each rate is given by the clock, the best of the rounds, and by the CPU time that the process used
in all rounds: where other work shares the machine only the second says what one core does. What is
compared is measured in turns, and its ratio is the median over the turns.

Wanted on one core: ≥ 3 M steps/s with 1 024 sub-environments of 8 slots, ≥ 4 × EnvPool's CartPole;
the cost of a step from 64 to 8 192 of them within 2 ×; two threads ≥ 1.6 × one; one environment
through ``gymnasium.make`` ≥ 60 000 steps/s; ``get_state`` and ``set_state`` < 20 µs; 4 096 in less
than 300 MB.

EnvPool is measured where it is installed (``pip install envpool``: some 700 MB, so no extra of this
package asks for it).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

SIZES = (64, 256, 1024, 4096, 8192)
SLOTS = 8
COMPARED = 1024
EPISODE = 700  # decisions that random play takes for the paper's workload

Draw = Callable[[Any], Any]  # info → actions


def legal(rng: np.random.Generator) -> Draw:
    """Random legal actions from ``info["action_mask"]``."""

    def draw(info: dict[str, Any]) -> NDArray[np.intp]:
        mask = info["action_mask"]
        return np.asarray((rng.random(mask.shape) * mask).argmax(axis=-1))

    return draw


class Rate(NamedTuple):
    """Steps a second."""

    rounds: tuple[float, ...]  # by the clock
    cpu: float  # all rounds, by CPU time

    @property
    def clock(self) -> float:
        """The best round."""
        return max(self.rounds)

    def __str__(self) -> str:
        return f"{self.clock / 1e6:6.2f} ({self.cpu / 1e6:5.2f})"

    def over(self, other: Rate) -> str:
        """How many times as fast as one measured in turns with it, both ways."""
        pairs = zip(self.rounds, other.rounds, strict=True)
        clock = statistics.median(own / theirs for own, theirs in pairs)
        return f"{clock:5.2f} × ({self.cpu / other.cpu:4.2f} ×)"


@dataclass
class Runner:
    """Something that steps.

    Attributes:
        step: Takes actions, returns the next info.
        draw: Makes actions from an info, outside the timing.
        info: The info to go on from.
        num_envs: Environment steps in one call.
        warm_up: Calls before the first round.
    """

    step: Callable[[Any], Any]
    draw: Draw
    info: Any
    num_envs: int
    warm_up: int = 0

    def calls(self, seconds: float) -> tuple[int, float, float]:
        """Step for so long; return the calls, and their time by the clock and by CPU."""
        calls, spent, cpu = 0, 0.0, 0.0
        while spent < seconds:
            actions = self.draw(self.info)
            start, cpu_start = time.perf_counter(), time.process_time()
            self.info = self.step(actions)
            cpu += time.process_time() - cpu_start
            spent += time.perf_counter() - start
            calls += 1
        return calls, spent, cpu


def rates(runners: Sequence[Runner], *, seconds: float, rounds: int) -> list[Rate]:
    """Measure in turns, so that what else the machine does meets all alike.

    Args:
        runners: Who.
        seconds: Time to be measured of each.
        rounds: Turns it is split into.
    """
    for runner in runners:
        for _ in range(runner.warm_up):
            runner.info = runner.step(runner.draw(runner.info))
    took = [[runner.calls(seconds / rounds) for runner in runners] for _ in range(rounds)]
    found = []
    for runner, turns in zip(runners, zip(*took, strict=True), strict=True):
        by_clock = tuple(calls * runner.num_envs / spent for calls, spent, _ in turns)
        all_calls = sum(calls for calls, _, _ in turns)
        found.append(Rate(by_clock, all_calls * runner.num_envs / sum(cpu for _, _, cpu in turns)))
    return found


def native(num_envs: int, **arguments: Any) -> Runner:  # noqa: ANN401 - as for `make_vec`
    """The native vector."""
    arguments.setdefault("slots", SLOTS)
    envs = gymnasium.make_vec("prema_gym:PremaNPU-v0", num_envs=num_envs, **arguments)
    _, infos = envs.reset(seed=0)
    draw = legal(np.random.default_rng(0))
    return Runner(lambda actions: envs.step(actions)[4], draw, infos, num_envs, warm_up=EPISODE)


def engine_alone(num_envs: int) -> Runner:
    """The compiled engine under the same play, without anything of the environment."""
    envs: Any = gymnasium.make_vec(
        "prema_gym:PremaNPU-v0", num_envs=num_envs, slots=SLOTS
    ).unwrapped
    envs.reset(seed=0)
    episodes = envs._episodes
    simulator = episodes.simulator
    draw = legal(np.random.default_rng(0))

    def view() -> dict[str, Any]:
        done = np.flatnonzero(simulator.done)
        if done.size:
            episodes.reset(done)
        return {"action_mask": simulator.mask}

    return Runner(
        lambda actions: simulator.step_range(actions, 0, num_envs),
        lambda _: draw(view()),
        None,
        num_envs,
        warm_up=EPISODE,
    )


def vector_of(envs: Any) -> Runner:  # noqa: ANN401 - any vector environment with whole actions
    """Another vector environment, with random actions."""
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    count = int(envs.single_action_space.n)
    return Runner(
        lambda actions: envs.step(actions) and None,
        lambda _: rng.integers(0, count, envs.num_envs),
        None,
        envs.num_envs,
    )


def envpool_cartpole() -> Runner | str:
    """EnvPool's CartPole on one thread, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import envpool

            envs = envpool.make_gymnasium("CartPole-v1", num_envs=COMPARED, num_threads=1)
            envs.reset()
    except (ImportError, OSError) as error:
        return f"not measured: {type(error).__name__}: {error}"
    rng = np.random.default_rng(0)
    return Runner(
        lambda actions: envs.step(actions) and None,
        lambda _: rng.integers(0, 2, COMPARED),
        None,
        COMPARED,
    )


def several(vectorization_mode: str, num_envs: int, timing: dict[str, Any]) -> Rate:
    """Rate of Gymnasium's own vectors of single environments."""
    kwargs: dict[str, Any] = {"vectorization_mode": vectorization_mode}
    envs = gymnasium.make_vec("prema_gym:PremaNPU-v0", num_envs=num_envs, slots=SLOTS, **kwargs)
    _, infos = envs.reset(seed=0)
    draw = legal(np.random.default_rng(0))
    runner = Runner(lambda actions: envs.step(actions)[4], draw, infos, num_envs, warm_up=50)
    (found,) = rates([runner], **timing)
    envs.close()
    return found


def single() -> Runner:
    """One environment through ``gymnasium.make``, resets included."""
    env = gymnasium.make("prema_gym:PremaNPU-v0")
    _, info = env.reset(seed=0)
    draw = legal(np.random.default_rng(0))

    def step(action: int) -> dict[str, Any]:
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            _, info = env.reset()
        return info

    return Runner(step, lambda i: int(draw(i)), info, num_envs=1, warm_up=EPISODE)


def microseconds(call: Callable[[], object], calls: int = 1000, rounds: int = 9) -> float:
    """Time of one call [µs]: the best of some rounds."""
    spent = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        spent.append((time.perf_counter() - start) / calls)
    return 1e6 * min(spent)


def memory_mb(num_envs: int) -> float:
    """Largest memory of a process that steps so many [MB]; NaN where /proc is missing."""
    if not Path("/proc/self/status").exists():
        return float("nan")
    code = (
        "import re, gymnasium, numpy as np\n"
        f"envs = gymnasium.make_vec('prema_gym:PremaNPU-v0', num_envs={num_envs})\n"
        "envs.reset(seed=0)\n"
        f"for _ in range(20): envs.step(np.zeros({num_envs}, int))\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout) / 1024


def first_step_seconds() -> float:
    """Time from starting a process to its first step, compiled code already cached."""
    code = (
        "import gymnasium; env = gymnasium.make('prema_gym:PremaNPU-v0');"
        "env.reset(seed=0); env.step(0)"
    )
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def main(seconds: float = 2.0, rounds: int = 10) -> None:
    timing: dict[str, Any] = {"seconds": seconds, "rounds": rounds}
    print("M steps/s by the clock (by CPU time)\n")
    batches(timing)
    two_threads(timing)
    ours = beside_others(timing)
    few_at_once(timing)
    single_calls(ours)
    single_mb, many_mb = memory_mb(1), memory_mb(4096)
    print(f"memory of a process: {single_mb:.0f} MB with one, ", end="")
    print(f"{many_mb:.0f} MB with 4 096 (16 slots)")
    print(f"from starting Python to the first step, code cached: {first_step_seconds():.1f} s")


def batches(timing: dict[str, Any]) -> None:
    print(f"native vector, {SLOTS} slots, one thread")
    print(f"{'envs':>7} {'engine alone':>16} {'environment':>16} {'copy=False':>16}")
    by_cpu = []
    for num_envs in SIZES:
        runners = [engine_alone(num_envs), native(num_envs), native(num_envs, copy=False)]
        found = rates(runners, **timing)
        by_cpu.append(found[1].cpu)
        print(f"{num_envs:7}" + "".join(f"{one!s:>17}" for one in found), flush=True)
    print(f"cost of a step, slowest over fastest: {max(by_cpu) / min(by_cpu):.2f} by CPU time\n")


def two_threads(timing: dict[str, Any]) -> None:
    print("two threads (by CPU time: both together); over one: the median turn, the best turns")
    for num_envs in (COMPARED, 4096, 8192):
        one, two = rates([native(num_envs), native(num_envs, threads=2)], **timing)
        # The median suffers twice where other work wants a core; the best turns had both.
        best = two.clock / one.clock
        print(f"{num_envs:7} {two!s:>16} {two.over(one)[:7]} {best:5.2f} ×", flush=True)


def beside_others(timing: dict[str, Any]) -> Rate:
    """Print ours beside other libraries' environments; return ours."""
    print(f"\nbeside it, {COMPARED} sub-environments, one thread")
    other = envpool_cartpole()
    cartpole = gymnasium.make_vec(
        "CartPole-v1", num_envs=COMPARED, vectorization_mode="vector_entry_point"
    )
    runners = [native(COMPARED), vector_of(cartpole)]
    if isinstance(other, Runner):
        runners.append(other)
    ours, *theirs = rates(runners, **timing)
    print(f"  PremaNPU-v0, native       {ours}")
    print(f"  Gymnasium CartPole vector {theirs[0]}, ours is {ours.over(theirs[0])}")
    envpool = f"{theirs[1]}, ours is {ours.over(theirs[1])}" if len(theirs) > 1 else other
    print(f"  EnvPool CartPole-v1       {envpool}")
    return ours


def few_at_once(timing: dict[str, Any]) -> None:
    print("\nfew at once: steps/s by the clock (by CPU time, without that of other processes)")
    few: list[tuple[str, Rate]] = [
        ("one, gymnasium.make, 16 slots", rates([single()], **timing)[0]),
        ("sync × 16", several("sync", 16, timing)),
        ("processes × 16", several("async", 16, timing)),
        ("native × 16", rates([native(16)], **timing)[0]),
        ("native × 128", rates([native(128)], **timing)[0]),
    ]
    for name, each in few:
        print(f"  {name:30} {each.clock:10,.0f} ({each.cpu:10,.0f})")


def single_calls(ours: Rate) -> None:
    """Print what calls beside a step cost; ``ours`` is the rate of steps to compare with."""
    env: Any = gymnasium.make("prema_gym:PremaNPU-v0").unwrapped
    env.reset(seed=0)
    state = env.get_state()
    envs: Any = gymnasium.make_vec(
        "prema_gym:PremaNPU-v0", num_envs=COMPARED, slots=SLOTS
    ).unwrapped
    envs.reset(seed=0)
    masks = microseconds(envs.action_masks)
    print(f"\nget_state {microseconds(env.get_state):.1f} µs, ", end="")
    print(f"set_state {microseconds(lambda: env.set_state(state)):.1f} µs")
    print(f"action_masks of {COMPARED} sub-environments {masks:.1f} µs, ", end="")
    print(f"{masks * 1e-6 * ours.cpu / COMPARED:.1%} of a step")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="measured time of each figure")
    parser.add_argument("--rounds", type=int, default=10, help="turns it is split into")
    main(**vars(parser.parse_args()))
