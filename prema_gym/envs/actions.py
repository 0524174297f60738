"""Are these actions for a batch? Their form, and whether they are legal."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.errors import IllegalActionError
from prema_gym.metrics import IntArray

BoolArray = NDArray[np.bool_]

_INT64 = np.dtype(np.int64)


def checked_actions(actions: ArrayLike, num_envs: int) -> IntArray:
    """Return actions as int64 (num_envs,), contiguous.

    Raises:
        IllegalActionError: Another shape, or no whole numbers.
    """
    array = np.asarray(actions)
    if array.shape == (num_envs,) and array.dtype is _INT64 and array.flags.c_contiguous:
        return array  # as nearly always
    if array.shape != (num_envs,) or array.dtype.kind not in "iu":
        raise IllegalActionError(
            f"actions must be whole numbers of shape ({num_envs},), got {array.dtype} of "
            f"shape {array.shape}"
        )
    return np.ascontiguousarray(array, np.int64)


def refuse_illegal(actions: IntArray, mask: BoolArray, over: BoolArray) -> None:
    """Refuse actions that are illegal where an episode is not over.

    Args:
        actions: int64 (B,).
        mask: Legal ones, bool (B, actions).
        over: Whose episode is over, bool (B,).

    Raises:
        IllegalActionError: There is one; the message has the legal ones.
    """
    inside = (actions >= 0) & (actions < mask.shape[1])
    legal = inside & mask[np.arange(len(mask)), np.where(inside, actions, 0)]
    wrong = np.flatnonzero(~(legal | over))
    if wrong.size:
        row = int(wrong[0])
        allowed = np.flatnonzero(mask[row]).tolist()
        raise IllegalActionError(
            f"action {int(actions[row])} is illegal in sub-environment {row}; legal now: {allowed}"
        )
