"""The filter with a network as one more sensor of sideslip: both hear the same, one loop moves them."""

from __future__ import annotations

from typing import NamedTuple

from hodograph.ann.kernels import SAID, STD, VALID, NetworkArrays, answer, forget, make_network_arrays, pass_node
from hodograph.ann.network import VsaNetwork
from hodograph.core.frames import Array
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import finite, tidy
from hodograph.numerics.verdicts import INVALID, USED
from hodograph.observers.filter import Filter
from hodograph.observers.loop import loop
from hodograph.observers.memory import Room
from hodograph.observers.sideslip.filter import (
    BEGUN,
    SideslipArrays,
    correct_beta,
    make_sideslip,
    predict_node,
    renew_state,
    take,
    tell,
)
from hodograph.observers.tables import LOST, Core, Events, Output


class HybridArrays(NamedTuple):
    """Filter and network; they share their senses."""

    filter: SideslipArrays
    network: NetworkArrays


def make_hybrid(filter: SideslipArrays, network: VsaNetwork, room: Room) -> Filter:
    """Both for the loop; what the filter says is the answer. The filter comes first in the room."""
    senses = filter.senses
    arrays = make_network_arrays(network, senses.weights, (0.0, 0.0), room)._replace(senses=senses)
    alone = make_sideslip(filter)
    return Filter(
        HybridArrays(filter, arrays), run_hybrid, x=alone.x, P=alone.P, F=alone.F, counts=alone.counts,
        vital=alone.vital, traced=False, trust=alone.trust,
    )  # fmt: skip


@inner
def agree(a: HybridArrays, t_s: float) -> None:
    """What the filter says, valid where the network is, too."""
    if not finite(a.network.after):
        forget(a.network)
    tell(a.filter, t_s)
    a.filter.trust[0] *= a.network.answer[VALID]


@merged
def predict_hybrid(a: HybridArrays, t_s: float, h: float) -> bool:
    """From the node at t to the next, both."""
    predict_node(a.filter, t_s, h)
    pass_node(a.network, t_s + h)
    agree(a, t_s + h)
    return True


@merged
def correct_hybrid(a: HybridArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """One reading from row `first` on; with yaw rate or ay the network speaks."""
    verdict = take(a.filter, first, values, var, tau, t_s)
    spoken = verdict not in (INVALID, LOST) and answer(a.network, t_s) == USED
    if spoken and a.network.answer[VALID] > 0.0 and a.filter.book[BEGUN] == 1.0:
        std = a.network.answer[STD]
        correct_beta(a.filter, a.network.answer[SAID], std * std, t_s)
        if not (finite(a.filter.x) and tidy(a.filter.P, a.filter.T, a.filter.counts)):
            verdict = LOST
    agree(a, t_s)
    return verdict


@merged
def renew_hybrid(a: HybridArrays, t_s: float, lost: int) -> bool:
    """The loop has changed the covariance. `lost`: both begin anew."""
    if lost == 1 or lost == 3:
        forget(a.network)
    renew_state(a.filter, t_s, lost)
    return True


@njit
def run_hybrid(a: HybridArrays, core: Core, events: Events, out: Output, until: int) -> int:
    """The loop over readings, with these three."""
    return loop(a, predict_hybrid, correct_hybrid, renew_hybrid, core, events, out, until)
