"""How much the memory of a client grows with data that stay on the workers: in a process of its own, by its peak."""

from __future__ import annotations

import resource

import numpy as np

import ascd

#: Samples and features; rows are in four chunks, so that one of them is more than the client may keep.
HEIGHT, WIDTH, PARTS = 25_000, 100, 4


def chunk(block_info=None):
    """A part of the data, made where it is needed."""
    made = block_info[None]
    return np.random.default_rng(made["chunk-location"]).standard_normal(made["chunk-shape"])


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fit_tall(address, answers):
    """Send the size of the data, and by how much a fit of them lets this process grow; it has fitted others before."""
    import dask.array as da
    from distributed import Client

    with Client(address):
        small = da.map_blocks(chunk, chunks=((500,) * 2, (8,)), dtype=float)
        ascd.Lasso(0.5).fit(small, np.arange(1000.0))
        before = peak()
        tall = da.map_blocks(chunk, chunks=((HEIGHT // PARTS,) * PARTS, (WIDTH,)), dtype=float)
        found = ascd.Lasso(0.1).fit(tall, tall[:, 0] - tall[:, 1])
        assert found.certificate_.converged
        answers.send((tall.nbytes, peak() - before))
