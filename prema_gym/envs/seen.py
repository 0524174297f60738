"""How is a table shown to a policy? As it is or as features, and its tasks in which order.

An order moves rows, so it moves actions too: :meth:`Seen.slots_of` turns an action on what was
shown into one on the table. Both follow from the table alone, so nothing has to be remembered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from prema_gym.envs.spaces import batched, observation_space
from prema_gym.metrics import IntArray
from prema_gym.simulator.features import BOUNDS, FEATURES, features
from prema_gym.simulator.observation import ORDER, PRESENT, REMAINING_MS

Tables = NDArray[np.float32]
BoolArray = NDArray[np.bool_]

OBSERVATIONS = ("table", "features")
SLOT_ORDERS = ("slot", "arrival", "remaining")


@dataclass(frozen=True)
class Seen:
    """What a policy sees of tables.

    Attributes:
        observation: "table", or "features": nine numbers a task (`simulator.features`), zero where
            there is none.
        slot_order: "slot": a task stays in its row; "arrival": the earliest first; "remaining": the
            one with least estimated work left first, ties by arrival. Empty rows are last.
    """

    observation: str
    slot_order: str

    @property
    def moves(self) -> bool:
        """Whether rows, and with them actions, are moved."""
        return self.slot_order != "slot"

    def space(self, slots: int) -> spaces.Box:
        """Space of what is seen of one table."""
        if self.observation == "table":
            return observation_space(slots)
        bounds = [BOUNDS.get(name, (-np.inf, np.inf)) for name, _ in FEATURES]
        low, high = np.array(bounds, np.float32).T
        return batched(spaces.Box(low, high, dtype=np.float32), slots)

    def tables(self, tables: Tables) -> Tables:
        """Return what is seen of tables (B, S, C): float32 (B, S, columns or features)."""
        shown = tables
        if self.observation == "features":
            shown = np.where(tables[..., PRESENT, np.newaxis] > 0, features(tables, np), 0.0)
            shown = shown.astype(np.float32, copy=False)
        if self.moves:
            shown = np.take_along_axis(shown, self._order(tables)[..., np.newaxis], axis=1)
        return shown

    def masks(self, masks: BoolArray, tables: Tables) -> BoolArray:
        """Return masks bool (B, mechanisms · S) as the rows are shown."""
        if not self.moves:
            return masks
        count, slots = tables.shape[:2]
        by_slot = masks.reshape(count, -1, slots)
        order = np.broadcast_to(self._order(tables)[:, np.newaxis], by_slot.shape)
        shown = np.take_along_axis(by_slot, order, axis=2).reshape(masks.shape)
        # Where nothing is left to decide action 0 is legal, in whichever order.
        nothing = ~(tables[..., PRESENT] > 0).any(axis=1)
        shown[nothing] = masks[nothing]
        return shown

    def slots_of(self, actions: IntArray, tables: Tables) -> IntArray:
        """Return actions (B,) on what was shown as actions on tables; others stay as they are."""
        if not self.moves:
            return actions
        slots = tables.shape[1]
        mechanism, row = np.divmod(actions, slots)
        chosen = np.take_along_axis(self._order(tables), row[:, np.newaxis], axis=1)[:, 0]
        return np.where(actions >= 0, mechanism * slots + chosen, actions)

    def _order(self, tables: Tables) -> IntArray:
        """Which slot is shown in each row: int64 (B, S)."""
        present = tables[..., PRESENT] > 0
        arrival = np.where(present, tables[..., ORDER], np.inf)
        if self.slot_order == "arrival":
            return arrival.argsort(axis=-1, kind="stable")
        remaining = np.where(present, tables[..., REMAINING_MS], np.inf)
        return np.lexsort((arrival, remaining), axis=-1)
