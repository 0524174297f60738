"""What does the network look like in torch, where gradients are needed or a file is exported?

The same network as ``compiled.py`` (names, shapes and formulas; a test holds the two equal), and
a critic of the same build for the algorithms that estimate returns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from prema_gym.agents.scorer.shape import ScorerShape, Weights
from prema_gym.simulator import observation as col
from prema_gym.simulator.features import NUM_FEATURES
from prema_gym.simulator.features import features as formulas

NEVER = -1e8
"""Score of an action that is not legal. Finite, unlike the compiled network's −∞, because the
entropy of a distribution multiplies it by its probability of 0."""


def features(table: Tensor) -> Tensor:
    """Features of every row, (B, S, NUM_FEATURES); the compiled twin is in ``compiled.py``.

    Args:
        table: Observation tables float32 (B, S, C). Rows without a task give finite numbers that
            mean nothing.
    """
    seen: Tensor = formulas(table, torch)
    return seen


def _pool(encoding: Tensor, present: Tensor) -> Tensor:
    """Mean and maximum over present rows and the log of their count: (B, 2 H + 1)."""
    here = present.unsqueeze(-1)
    count = present.sum(dim=-1, keepdim=True).clamp(min=1).to(encoding.dtype)
    mean = (encoding * here).sum(dim=-2) / count
    # −1 is below every value of softsign.
    highest = torch.where(here, encoding, torch.full_like(encoding, -1.0)).amax(dim=-2)
    return torch.cat((mean, highest, torch.log(count)), dim=-1)


def legal_actions(table: Tensor, mechanisms: int) -> Tensor:
    """The simulator's mask, read off the table: bool (B, mechanisms · S)."""
    present = table[..., col.PRESENT] > 0
    running = table[..., col.RUNNING] > 0
    others = present & ~running & running.any(dim=-1, keepdim=True)
    legal = torch.cat([present] + [others] * (mechanisms - 1), dim=-1)
    # Without a task nothing is asked, and action 0 is the one that does nothing.
    first = torch.arange(legal.shape[-1], device=legal.device) == 0
    return legal | (first & ~present.any(dim=-1, keepdim=True))


class SlotScorer(nn.Module):
    """One score per task and mechanism; see ``compiled.py`` for the formulas."""

    line: Tensor
    encode: Tensor
    encode_bias: Tensor
    read: Tensor
    read_bias: Tensor
    score: Tensor

    def __init__(self, shape: ScorerShape, seed: int = 0) -> None:
        """Build with random encoders and scores of zero."""
        super().__init__()
        self.shape = shape
        for name, array in shape.initial(np.random.default_rng(seed))._asdict().items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(array.copy())))

    def forward(self, table: Tensor, seen: Tensor | None = None) -> Tensor:
        """Scores (B, mechanisms · S); ``NEVER`` where an action is not legal.

        Args:
            table: Observation tables float32 (B, S, C).
            seen: Their features, where they have been worked out already.
        """
        hidden = self.shape.hidden
        present = table[..., col.PRESENT] > 0
        seen = features(table) if seen is None else seen
        encoding = functional.softsign(seen @ self.encode + self.encode_bias)
        context = _pool(encoding, present) @ self.read[hidden:] + self.read_bias
        reader = functional.softsign(encoding @ self.read[:hidden] + context.unsqueeze(-2))
        scores = seen @ self.line + reader @ self.score  # (B, S, M)
        flat = scores.transpose(-1, -2).flatten(start_dim=-2)
        flat = torch.where(present.any(dim=-1, keepdim=True), flat, torch.zeros_like(flat))
        legal = legal_actions(table, self.shape.mechanisms)
        return torch.where(legal, flat, torch.full_like(flat, NEVER))

    def load(self, weights: Weights) -> None:
        """Take over the arrays of a compiled network of the same shape."""
        tensors = {name: torch.from_numpy(array) for name, array in weights._asdict().items()}
        self.load_state_dict(tensors)

    @property
    def weights(self) -> Weights:
        """The parameters as arrays for the compiled network."""
        named = dict(self.named_parameters())
        return Weights(
            *(
                np.ascontiguousarray(named[name].detach().cpu().numpy(), dtype=np.float32).copy()
                for name in Weights._fields
            )
        )


class SlotCritic(nn.Module):
    """A description of the whole table, for estimates of the return: (B, ``width``)."""

    def __init__(self, width: int) -> None:
        """Build with torch's own initialisation."""
        super().__init__()
        self.encode = nn.Linear(NUM_FEATURES, width)
        self.read = nn.Linear(3 * width + 1, width)  # mean, maximum, count, sum

    def forward(self, table: Tensor, seen: Tensor | None = None) -> Tensor:
        """Latent of the return, (B, width); arguments as for :class:`SlotScorer`."""
        present = table[..., col.PRESENT] > 0
        seen = features(table) if seen is None else seen
        encoding = functional.softsign(self.encode(seen))
        # Beside mean and maximum, the sum: returns add up over tasks.
        total = (encoding * present.unsqueeze(-1)).sum(dim=-2)
        return functional.softsign(self.read(torch.cat((_pool(encoding, present), total), dim=-1)))


Schedule = Callable[[float], float]
"""Learning rate as a function of the share of training that is left, as SB3 calls it."""
