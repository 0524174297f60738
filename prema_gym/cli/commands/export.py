"""`prema-gym export`: a trained network as a file for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prema_gym.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from prema_gym.evaluation.policy import Decider

ENDINGS = {"onnx": ".onnx", "torchscript": ".pt"}
"""Ending of a file by its format."""

Policy = Annotated[
    str, typer.Argument(help="A shipped policy's name, or path:FOLDER of a training run.")
]
ExportFormat = Annotated[
    str | None,
    typer.Option(help="onnx or torchscript; default: by the ending of --output, else onnx."),
]
Output = Annotated[
    Path | None, typer.Option(help="File; default: NAME.onnx or NAME.pt in this folder.")
]


def export(policy: Policy, format: ExportFormat = None, output: Output = None) -> None:
    """Write a trained network as ONNX or TorchScript, and say how long its decisions take."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError("export", "torch", "train") from None
    from prema_gym import agents, baselines
    from prema_gym.agents.policies.export import QUANTUM_US, latencies_us
    from prema_gym.agents.policies.export import export as write
    from prema_gym.agents.policies.learned import LearnedPolicy

    trained = agents.load(policy.removeprefix("path:"))
    if not isinstance(trained, LearnedPolicy):
        raise ConfigError(
            f"{policy} cannot be exported: only the scorer network can, which remembers nothing "
            "(`prema-gym policies` says which)"
        )
    chosen = _format(format, output)
    path = Path(trained.name + ENDINGS.get(chosen, "")) if output is None else output
    write(trained, path, chosen)
    print(f"wrote {path} ({chosen})")
    print("deciding without the exported file, one thread, batch of 1:")
    deciders: dict[str, Decider] = {trained.name: trained}
    deciders[baselines.PREMA] = baselines.make(baselines.PREMA)
    for name, microseconds in latencies_us(deciders).items():
        print(f"one decision of {name}: {microseconds:.0f} µs (quantum: {QUANTUM_US:.0f} µs)")


def _format(given: str | None, output: Path | None) -> str:
    """The format asked for, or the one that a file's ending says."""
    by_ending = {ending: name for name, ending in ENDINGS.items()}
    ending = "" if output is None else output.suffix
    if given is None:
        if output is not None and ending not in by_ending:
            raise ConfigError(
                f"{output} does not say its format: end it in .onnx or .pt, or give --format"
            )
        return by_ending.get(ending, "onnx")
    if by_ending.get(ending, given) != given and given in ENDINGS:
        raise ConfigError(f"--format {given} and --output {output} disagree: leave one out")
    return given
