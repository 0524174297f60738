"""Does another version give the same, to the byte, and is it as fast? Two checkouts in one run.

Run: python -m benchmarks.against OTHER [--only results|speed] [--rounds 5] [--allow NAME …]

OTHER is a checkout with its packages installed in ``.venv`` (``make install``). Everything goes
through public faces, so that versions whose insides differ can be compared: commands, ``train.py``,
``gymnasium.make``. Speeds are taken in turns, and the ratio is the median over the turns; other
work on the machine moves both.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parents[1]

COMMANDS = {
    "all policies": "evaluate --policies all --workloads 60 --bounds --format json",
    "the default table": "evaluate --workloads 40",
    "heavy, oracle, 4 slots": "evaluate --policies all --scenario heavy --workloads 20 --oracle "
    "--slots 4 --format csv",
    "light, each workload": "evaluate --scenario light --workloads 20 --per-workload --format csv",
    "cut off": "evaluate --policies np-fcfs,dynamic-prema,random --workloads 20 --max-decisions 60 "
    "--format json",
    "learned": "evaluate --policies learned,learned-ppo,dynamic-prema --relative-to dynamic-prema "
    "--workloads 200 --seed 3000000 --format json",
    "claims": "reproduce --workloads 40 --format json",
    "networks": "networks --format csv",
    "networks from files": "networks tests/networks/data/onnx/resnet18.onnx "
    "tests/networks/data/scalesim/mlperf_AlphaGoZero.csv --format csv",
    "policies": "policies --format json",
    "scenarios": "scenarios --format json",
    "preemption": "preemption --format csv",
}

EPISODES = """
import hashlib, json
import gymnasium, numpy as np
digest = hashlib.sha256()
def see(*things):
    for thing in things:
        digest.update(np.ascontiguousarray(thing).tobytes())
for reward in ("antt", "balanced", {"tail": 1.0, "energy": 0.01, "sla": 0.0}):
    for mechanisms in (("checkpoint",), ("drain", "kill", "checkpoint")):
        arguments = {"reward": reward, "mechanisms": mechanisms, "scenario": "heavy"}
        env = gymnasium.make("prema_gym:PremaNPU-v0", **arguments)
        many = gymnasium.make_vec("prema_gym:PremaNPU-v0", 6, vectorization_mode=
            "vector_entry_point", **arguments)
        rng = np.random.default_rng(5)
        observation, info = env.reset(seed=11)
        tables, infos = many.reset(seed=12)
        for _ in range(400):
            legal = np.flatnonzero(info["action_mask"])
            observation, reward_, over, cut, info = env.step(int(rng.choice(legal)))
            see(observation, reward_, over, cut, info["action_mask"])
            if over or cut:
                digest.update(json.dumps(dict(info["episode_metrics"]), default=float).encode())
                observation, info = env.reset()
            masks = infos["action_mask"]
            choice = (rng.random(masks.shape) * masks).argmax(axis=1)
            tables, rewards, overs, cuts, infos = many.step(choice)
            see(tables, rewards, overs, cuts, infos["action_mask"])
print(digest.hexdigest())
"""

WEIGHTS = """
import hashlib, sys
import numpy as np
digest = hashlib.sha256()
for path in sorted(__import__("pathlib").Path(sys.argv[1]).rglob("*.npz")):
    with np.load(path, allow_pickle=False) as file:
        for name in sorted(file.files):
            if file[name].dtype.kind == "f":
                digest.update(name.encode() + file[name].tobytes())
print(digest.hexdigest())
"""

TRAINING = {
    "trained, es": "--algo es --timesteps 400000 --num-envs 40 --eval-workloads 12 --seed 3",
    "trained, maskable-ppo": "--algo maskable-ppo --timesteps 6000 --num-envs 8 "
    "--eval-workloads 8 --seed 3",
}

IMPORT = "import time; t = time.perf_counter(); import prema_gym; print(time.perf_counter() - t)"

STEPS = """
import sys, time
import gymnasium, numpy as np
num_envs = int(sys.argv[1])
env = gymnasium.make_vec("prema_gym:PremaNPU-v0", num_envs, vectorization_mode="vector_entry_point",
    slots=8)
_, info = env.reset(seed=0)
rng = np.random.default_rng(0)
spent, steps = 0.0, 0
for step in range(700 + 300):
    mask = info["action_mask"]
    actions = (rng.random(mask.shape) * mask).argmax(axis=-1)
    start = time.perf_counter()
    _, _, _, _, info = env.step(actions)
    if step >= 700:
        spent += time.perf_counter() - start
        steps += num_envs
print(spent / steps)
"""

ENGINE = """
import time
import numpy as np
from prema_gym.simulator.simulator import Simulator
from prema_gym.workloads import compile_scenario, sample_batch, scenarios
catalog = compile_scenario(scenarios.get("paper"))
simulator = Simulator(catalog, num_envs=1024, slots=8)
batch = sample_batch(catalog, range(1024))
rng = np.random.default_rng(0)
times = []
for _ in range(6):
    simulator.load(batch)
    for step in range(60):
        actions = (rng.random(simulator.mask.shape) * simulator.mask).argmax(axis=1)
        start = time.perf_counter()
        simulator.step(actions)
        if step >= 10:
            times.append(time.perf_counter() - start)
print(float(np.median(times)) / 1024)
"""

SPEEDS = {
    "import prema_gym": (IMPORT,),
    "engine, 1 024 side by side": (ENGINE,),
    "vector step, 64": (STEPS, "64"),
    "vector step, 1 024": (STEPS, "1024"),
    "vector step, 8 192": (STEPS, "8192"),
}


class Checkout(NamedTuple):
    """A version, with its own interpreter."""

    root: Path

    def run(self, arguments: Sequence[str | Path]) -> str:
        """Standard output of a program of its ``.venv``, run in its root."""
        program, *rest = map(str, arguments)
        done = subprocess.run(
            [str(self.root / ".venv" / "bin" / program), *rest],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            sys.exit(f"{self.root}: {' '.join(map(str, arguments))[:200]}\n{done.stderr}")
        # Where the checkout lies is no difference.
        return done.stdout.replace(str(self.root), "ROOT")

    def result(self, name: str) -> str:
        """What one of the compared things gives here."""
        if name in COMMANDS:
            return self.run(["prema-gym", *COMMANDS[name].split()])
        if name in TRAINING:
            with tempfile.TemporaryDirectory() as folder:
                run = Path(folder) / "run"
                self.run(["python", "train.py", *TRAINING[name].split(), "--output", run])
                return self.run(["python", "-c", WEIGHTS, run])
        return self.run(["python", "-c", EPISODES])


def compare_results(here: Checkout, other: Checkout) -> list[str]:
    """Print whether each result is the same; return the names of those that differ."""
    differing = []
    for name in (*COMMANDS, "episodes", *TRAINING):
        own, others = here.result(name), other.result(name)
        same = own == others
        digest = hashlib.sha256(own.encode()).hexdigest()[:12]
        print(f"{'same  ' if same else 'DIFFER'}  {name:24s} {digest} {len(own):8d} B", flush=True)
        if not same:
            differing.append(name)
    return differing


def compare_speeds(here: Checkout, other: Checkout, rounds: int) -> None:
    """Print the time of each thing here over the time there, in turns."""
    for name, (code, *arguments) in SPEEDS.items():
        ratios, own_times = [], []
        for turn in range(rounds + 1):
            both = [0.0, 0.0]
            order = (0, 1) if turn % 2 else (1, 0)
            for which in order:
                checkout = (here, other)[which]
                both[which] = float(checkout.run(["python", "-c", code, *arguments]))
            if turn:  # the first compiles
                ratios.append(both[0] / both[1])
                own_times.append(both[0])
        print(
            f"{name:28s} here/other {statistics.median(ratios):.3f} "
            f"({min(ratios):.3f} … {max(ratios):.3f}); here {min(own_times):.3g} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("other", type=Path)
    parser.add_argument("--only", choices=("results", "speed"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    here, other = Checkout(HERE), Checkout(options.other.resolve())
    differing = [] if options.only == "speed" else compare_results(here, other)
    if options.only != "results":
        compare_speeds(here, other, options.rounds)
    if differing:
        sys.exit(f"{len(differing)} differ: {', '.join(differing)}")


if __name__ == "__main__":
    main()
