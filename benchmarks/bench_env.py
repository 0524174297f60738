"""How many environment steps a second? Prints tables; nothing is asserted.

Run: python -m benchmarks env, or python -m benchmarks.bench_env [--seconds 1.5] [--rounds 5]

What is timed is ``env.step`` alone, with all it returns: observation, action mask, reward, info and
the resets of copies that ended. Random legal actions are drawn outside the timing. Copies are first
stepped for one episode, so that their ends are spread as in training. Other environments are
measured in the same run, with random actions of their own.

Each rate is given by the clock, the best of the rounds, and by the CPU time that the process used
in all rounds: where other work shares the machine only the second says what one core does.

Wanted on one core: ≥ 3 M steps/s at 1 024 copies with 8 slots, ≥ 4 × EnvPool's CartPole; the cost
of a step from 64 to 8 192 copies within 2 ×; two threads ≥ 1.6 × one; one environment through
``gymnasium.make`` ≥ 60 000 steps/s; ``get_state`` and ``set_state`` < 20 µs; 4 096 copies in less
than 300 MB.

EnvPool is measured where it is installed (``pip install envpool``: some 700 MB, so no extra of this
package asks for it).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

COPIES = (64, 256, 1024, 4096, 8192)
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

    clock: float  # the best round
    cpu: float  # all rounds, by CPU time

    def __str__(self) -> str:
        return f"{self.clock / 1e6:6.2f} ({self.cpu / 1e6:5.2f})"

    def over(self, other: Rate) -> str:
        """How many times as fast, both ways."""
        return f"{self.clock / other.clock:5.1f} × ({self.cpu / other.cpu:4.1f} ×)"


def rate(
    step: Callable[[Any], Any],
    draw: Draw,
    info: object,
    *,
    copies: int,
    seconds: float,
    rounds: int,
    warm_up: int = 0,
) -> Rate:
    """Steps a second of ``step``.

    Args:
        step: Takes actions, returns the next info.
        draw: Makes actions from an info, outside the timing.
        info: The first one.
        copies: Environment steps in one call.
        seconds: Time to be measured in each round.
        rounds: How many.
        warm_up: Calls before the first round.
    """
    for _ in range(warm_up):
        info = step(draw(info))
    best, all_calls, cpu = 0.0, 0, 0.0
    for _ in range(rounds):
        spent, calls = 0.0, 0
        while spent < seconds / rounds:
            actions = draw(info)
            start, cpu_start = time.perf_counter(), time.process_time()
            info = step(actions)
            cpu += time.process_time() - cpu_start
            spent += time.perf_counter() - start
            calls += 1
        best = max(best, calls * copies / spent)
        all_calls += calls
    return Rate(best, all_calls * copies / cpu)


def native(copies: int, timing: dict[str, Any], **arguments: object) -> Rate:
    """Rate of the native vector."""
    arguments.setdefault("slots", SLOTS)
    envs = gymnasium.make_vec("prema_gym:PremaNPU-v0", num_envs=copies, **arguments)
    _, infos = envs.reset(seed=0)
    draw = legal(np.random.default_rng(0))
    found = rate(
        lambda actions: envs.step(actions)[4],
        draw,
        infos,
        copies=copies,
        warm_up=EPISODE,
        **timing,
    )
    envs.close()
    return found


def engine_alone(copies: int, timing: dict[str, Any]) -> Rate:
    """Rate of the compiled engine under the same play, without anything of the environment."""
    envs = gymnasium.make_vec("prema_gym:PremaNPU-v0", num_envs=copies, slots=SLOTS).unwrapped
    envs.reset(seed=0)
    episodes = envs._episodes
    simulator = episodes.simulator
    draw = legal(np.random.default_rng(0))

    def view() -> dict[str, Any]:
        done = np.flatnonzero(simulator.done)
        if done.size:
            episodes.reset(done)
        return {"action_mask": simulator.mask}

    return rate(
        lambda actions: simulator.step_range(actions, 0, copies),
        lambda _: draw(view()),
        None,
        copies=copies,
        warm_up=EPISODE,
        **timing,
    )


def vector_of(envs: gymnasium.vector.VectorEnv, timing: dict[str, Any]) -> Rate:
    """Rate of another vector environment, with random actions."""
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    count = int(envs.single_action_space.n)
    found = rate(
        lambda actions: envs.step(actions) and None,
        lambda _: rng.integers(0, count, envs.num_envs),
        None,
        copies=envs.num_envs,
        **timing,
    )
    envs.close()
    return found


def envpool_cartpole(timing: dict[str, Any]) -> Rate | str:
    """Rate of EnvPool's CartPole on one thread, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import envpool

            envs = envpool.make_gymnasium("CartPole-v1", num_envs=COMPARED, num_threads=1)
            envs.reset()
    except (ImportError, OSError) as error:
        return f"not measured: {type(error).__name__}: {error}"
    rng = np.random.default_rng(0)
    return rate(
        lambda actions: envs.step(actions) and None,
        lambda _: rng.integers(0, 2, COMPARED),
        None,
        copies=COMPARED,
        **timing,
    )


def several(vectorization_mode: str, copies: int, timing: dict[str, Any]) -> Rate:
    """Rate of Gymnasium's own vectors of single environments."""
    kwargs: dict[str, Any] = {"vectorization_mode": vectorization_mode}
    envs = gymnasium.make_vec("prema_gym:PremaNPU-v0", num_envs=copies, slots=SLOTS, **kwargs)
    _, infos = envs.reset(seed=0)
    draw = legal(np.random.default_rng(0))
    found = rate(
        lambda actions: envs.step(actions)[4], draw, infos, copies=copies, warm_up=50, **timing
    )
    envs.close()
    return found


def single(timing: dict[str, Any]) -> Rate:
    """Rate of one environment through ``gymnasium.make``, resets included."""
    env = gymnasium.make("prema_gym:PremaNPU-v0")
    _, info = env.reset(seed=0)
    draw = legal(np.random.default_rng(0))

    def step(action: int) -> dict[str, Any]:
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            _, info = env.reset()
        return info

    return rate(step, lambda i: int(draw(i)), info, copies=1, warm_up=EPISODE, **timing)


def microseconds(call: Callable[[], object], calls: int = 1000, rounds: int = 9) -> float:
    """Time of one call [µs]: the best of some rounds."""
    spent = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        spent.append((time.perf_counter() - start) / calls)
    return 1e6 * min(spent)


def memory_mb(copies: int) -> float:
    """Largest memory of a process that steps ``copies`` copies [MB]; NaN where /proc is missing."""
    if not Path("/proc/self/status").exists():
        return float("nan")
    code = (
        "import re, gymnasium, numpy as np\n"
        f"envs = gymnasium.make_vec('prema_gym:PremaNPU-v0', num_envs={copies})\n"
        "envs.reset(seed=0)\n"
        f"for _ in range(20): envs.step(np.zeros({copies}, int))\n"
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


def main(seconds: float = 1.5, rounds: int = 5) -> None:
    timing = {"seconds": seconds, "rounds": rounds}
    print("M steps/s by the clock (by CPU time)\n")
    print(f"native vector, {SLOTS} slots, one thread")
    print(f"{'copies':>7} {'engine alone':>16} {'environment':>16} {'copy=False':>16}")
    rates = {}
    for copies in COPIES:
        engine = engine_alone(copies, timing)
        rates[copies] = native(copies, timing)
        views = native(copies, timing, copy=False)
        print(f"{copies:7} {engine!s:>16} {rates[copies]!s:>16} {views!s:>16}", flush=True)
    by_cpu = [found.cpu for found in rates.values()]
    print(f"cost of a step, slowest over fastest: {max(by_cpu) / min(by_cpu):.2f} by CPU time\n")

    print("two threads over one, by the clock")
    for copies in (COMPARED, 4096, 8192):
        two = native(copies, timing, threads=2)
        print(f"{copies:7} {two!s:>16} {two.clock / rates[copies].clock:8.2f} ×", flush=True)

    ours = rates[COMPARED]
    print(f"\nbeside it, {COMPARED} copies, one thread")
    print(f"  PremaNPU-v0, native       {ours}")
    other = envpool_cartpole(timing)
    print(f"  EnvPool CartPole-v1       {other}", end="")
    print(f", ours is {ours.over(other)}" if isinstance(other, Rate) else "")
    cartpole = gymnasium.make_vec(
        "CartPole-v1", num_envs=COMPARED, vectorization_mode="vector_entry_point"
    )
    theirs = vector_of(cartpole, timing)
    print(f"  Gymnasium CartPole vector {theirs}, ours is {ours.over(theirs)}")

    print("\nfew copies: steps/s by the clock (by CPU time, without that of other processes)")
    few: list[tuple[str, Rate]] = [
        ("one, gymnasium.make, 16 slots", single(timing)),
        ("sync × 16", several("sync", 16, timing)),
        ("processes × 16", several("async", 16, timing)),
        ("native × 16", native(16, timing)),
        ("native × 128", native(128, timing)),
    ]
    for name, found in few:
        print(f"  {name:30} {found.clock:10,.0f} ({found.cpu:10,.0f})")

    env = gymnasium.make("prema_gym:PremaNPU-v0").unwrapped
    env.reset(seed=0)
    state = env.get_state()
    envs = gymnasium.make_vec("prema_gym:PremaNPU-v0", num_envs=COMPARED, slots=SLOTS).unwrapped
    envs.reset(seed=0)
    masks = microseconds(envs.action_masks)
    print(f"\nget_state {microseconds(env.get_state):.1f} µs, ", end="")
    print(f"set_state {microseconds(lambda: env.set_state(state)):.1f} µs")
    print(f"action_masks of {COMPARED} copies {masks:.1f} µs, ", end="")
    print(f"{masks * 1e-6 * ours.cpu / COMPARED:.1%} of a step")
    one, many = memory_mb(1), memory_mb(4096)
    print(f"memory of a process: {one:.0f} MB with one copy, {many:.0f} MB with 4 096 (16 slots)")
    print(f"from starting Python to the first step, code cached: {first_step_seconds():.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.5, help="measured time of each figure")
    parser.add_argument("--rounds", type=int, default=5, help="the best of so many rounds counts")
    main(**vars(parser.parse_args()))
