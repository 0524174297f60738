"""Which RL library takes the environment as it is, and how fast beside its own CartPole?

``python -m benchmarks clients`` makes the environments that clients need (build/clients/, some
minutes the first time), runs each client's example small, measures it, and writes
docs/rl-libraries.json, of which ``python -m docs.generate`` makes the page's table.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import own_environments
from prema_gym.files import write_atomically

HERE = Path(__file__).resolve().parents[1]
STORED = HERE / "docs" / "rl-libraries.json"


class Client(NamedTuple):
    """A library, and how it is tried.

    Attributes:
        title: What it is called.
        package: What it is installed as.
        loop: What measures it (`benchmarks.client_loops`).
        example: Script of examples/, and options that make it small.
        takes: What it is given.
        own: Packages of an environment of its own; none: it lives in ours.
        alone: Those that are installed without what they ask for.
    """

    title: str
    package: str
    loop: str
    example: tuple[str, ...]
    takes: str
    own: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()


SMALL = ("--timesteps", "512", "--num-envs", "4")
CLIENTS = (
    Client("Stable-Baselines3", "sb3_contrib", "sb3", ("sb3_masked.py", *SMALL, "--workloads", "3"),
           "`make_sb3_env`, `MaskableSlotPolicy`"),
    Client("a loop in torch", "torch", "torch_loop", ("ppo_slots.py", *SMALL),
           "the native vector, `copy=False`"),
    Client("RLlib", "ray", "rllib", ("rllib_ppo.py", *SMALL),
           "the native vector, flat, `with_mask`", ("ray[rllib]==2.60.0",)),
    Client("TorchRL", "torchrl", "torchrl", ("torchrl_ppo.py", *SMALL),
           "the native vector, `with_mask`"),
    Client("skrl", "skrl", "skrl", ("skrl_ppo.py", *SMALL), "the native vector, `with_mask`"),
    Client("Tianshou", "tianshou", "tianshou",
           ("tianshou_dqn.py", "--timesteps", "512", "--num-envs", "2"),
           "single environments, `with_mask`",
           ("sensai-utils", "overrides", "deepdiff", "h5py", "pettingzoo"), ("tianshou==2.0.1",)),
    Client("Minari and d3rlpy", "d3rlpy", "minari",
           ("minari_d3rlpy.py", "--episodes", "2", "--steps", "20"), "`record_minari`",
           ("h5py", "structlog", "dataclasses-json", "gym", "scikit-learn"), ("d3rlpy==2.8.1",)),
    Client("MORL-Baselines", "morl-baselines", "morl",
           ("morl_pcn.py", "--timesteps", "1200", "--episodes", "2"), "`PremaNPU-MO-v0` as it is",
           ("mo-gymnasium", "fire", "wandb", "scikit-learn", "pymoo<0.6.1.6", "pygame", "imageio",
            "cvxpy"), ("morl-baselines==1.3.0",)),
)  # fmt: skip


def glue(script: str) -> int:
    """Lines of an example that are there for our sake: those marked ``# glue``."""
    lines = (HERE / "examples" / script).read_text(encoding="utf-8").splitlines()
    return sum(bool(re.search(r"# .*\bglue\b", line)) for line in lines)


def tried(client: Client) -> dict[str, Any]:
    """Run a client's example and its loop; what was found, or why nothing was."""
    row: dict[str, Any] = {"title": client.title, "takes": client.takes}
    row |= {"own": bool(client.own), "example": client.example[0], "glue": glue(client.example[0])}
    try:
        python = Path(sys.executable)
        if client.own:
            made = own_environments.make(client.loop, client.own, alone=client.alone)
            python = made.absolute()
        with tempfile.TemporaryDirectory() as folder:
            script = [str(HERE / "examples" / client.example[0]), *client.example[1:]]
            around = {**os.environ, "MINARI_DATASETS_PATH": folder}
            _run([str(python), *script], Path(folder), around)
            loop = ["-m", "benchmarks.client_loops", client.loop, client.package]
            said = _run([str(python), *loop], HERE, around)
        row |= json.loads(said.strip().splitlines()[-1])
    except subprocess.SubprocessError as error:
        said = str(getattr(error, "stderr", None) or error).strip()
        row["failed"] = said.splitlines()[-1]
    return row


def _run(command: list[str], folder: Path, around: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=around, capture_output=True, text=True, check=True, timeout=400
    )
    return done.stdout


def main() -> None:
    rows = []
    for client in CLIENTS:
        row = tried(client)
        rows.append(row)
        told = row.get("failed") or f"{row['ratio']:.2f} × its CartPole, {row['versions']}"
        print(f"{client.title:20} {told}", flush=True)
    text = json.dumps(rows, indent=1) + "\n"
    write_atomically(STORED, lambda beside: beside.write_text(text, encoding="utf-8"))
    print("now: python -m docs.generate")


if __name__ == "__main__":
    main()
