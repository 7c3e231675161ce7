"""Which pixels an outline holds or touches, exactly, in pixel coordinates.

Edges are (n, 4) floats: column and row of their two ends, in cells, counted from any pixel corner. All edges of
an outline are given together, shells and holes alike. A block is (column, row, width, height) in whole cells.
"""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

Edges = NDArray[np.float64]
Mask = NDArray[np.bool_]
Block = tuple[int, int, int, int]

DECIMALS = 6
"""Pixel coordinates are known to a millionth of a cell: rounding errors of a projection never add a row or column."""


def edges_of(geometry: object) -> Edges:
    """All edges of a polygonal geometry, in its own coordinates."""
    rings = shapely.get_rings(shapely.get_parts(geometry))
    points, ring = shapely.get_coordinates(rings, return_index=True)
    edges: Edges = np.hstack([points[:-1], points[1:]])
    same: Mask = ring[:-1] == ring[1:]
    return edges[same]


def extent(edges: Edges) -> Block:
    """The smallest block of whole cells that holds all edges."""
    low, high = edges.min(axis=0), edges.max(axis=0)
    col, row = (int(edge) for edge in np.floor(np.minimum(low[:2], low[2:])))
    right, bottom = (int(edge) for edge in np.ceil(np.maximum(high[:2], high[2:])))
    return col, row, max(right - col, 1), max(bottom - row, 1)


def centres_inside(edges: Edges, block: Block) -> Mask:
    """(height, width) of the block: whether each pixel's centre lies inside.

    A row of centres changes sides where an edge crosses it, so only crossings are computed. A centre on the
    outline belongs to the side with the greater column, else the greater row: of two plots that share an
    edge exactly one gets it.
    """
    col, row, width, height = block
    down = np.where((edges[:, 1] <= edges[:, 3])[:, None], edges, edges[:, [2, 3, 0, 1]])
    first = np.clip(np.ceil(down[:, 1] - 0.5) - row, 0, height).astype(np.intp)
    beyond = np.clip(np.ceil(down[:, 3] - 0.5) - row, 0, height).astype(np.intp)
    crossed = beyond - first
    u1, v1, u2, v2 = np.repeat(down, crossed, axis=0).T
    rows = np.repeat(first - np.cumsum(crossed) + crossed, crossed) + np.arange(crossed.sum())
    at = u1 + (rows + row + 0.5 - v1) / (v2 - v1) * (u2 - u1)
    cols = np.maximum(np.ceil(at.round(DECIMALS) - 0.5) - col, 0).astype(np.intp)
    switches = np.zeros((height, width), np.uint8)
    meets = cols < width
    np.bitwise_xor.at(switches, (rows[meets], cols[meets]), 1)
    return np.bitwise_xor.accumulate(switches, axis=1, out=switches).view(np.bool_)


def cells_touched(edges: Edges, block: Block) -> Mask:
    """(height, width) of the block: whether each cell shares any area with the inside.

    A cell that no edge enters lies on one side as a whole, its centre tells which.
    """
    col, row, width, height = block
    touched = centres_inside(edges, block)
    hair = 10.0**-DECIMALS
    cols, rows = np.meshgrid(np.arange(col, col + width), np.arange(row, row + height))
    cells = shapely.box(cols + hair, rows + hair, cols + 1 - hair, rows + 1 - hair).ravel()
    entered, _ = shapely.STRtree(shapely.linestrings(edges.reshape(-1, 2, 2))).query(cells, "intersects")
    touched.reshape(-1)[entered] = True
    return touched
