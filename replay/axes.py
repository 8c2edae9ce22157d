"""Where pictures are drawn: on the axes one has, on new ones of a notebook, or on a bare figure that goes to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hodograph.core import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_axes(width_in: float = 9.0, height_in: float = 4.0) -> Axes:
    """Axes of a new figure of pyplot, so that a notebook shows it; nothing here calls `show`."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("a plot", "matplotlib", "plot") from error
    axes: Axes = pyplot.subplots(figsize=(width_in, height_in), layout="constrained")[1]
    return axes


def bare_figure(width_in: float, height_in: float, *, constrained: bool = True) -> Figure:
    """A figure without pyplot: it saves with Agg, opens no window and is forgotten with its last user."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("a plot", "matplotlib", "plot") from error
    return Figure(figsize=(width_in, height_in), layout="constrained" if constrained else None)


def figure_of(axes: Axes) -> Figure:
    """The figure that axes stand in, also those of a part of it."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("these axes stand in no figure")
    return figure
