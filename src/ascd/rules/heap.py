"""A max-heap of coordinates by key, with the place of each coordinate known, so that one key can be changed.

``heap`` holds coordinates, ``place`` the position of each in ``heap``; both int32, ``key`` float64.
"""

from __future__ import annotations

from ascd._checks import Array
from ascd._jit import helper


@helper
def restore(heap: Array, place: Array, key: Array, j: int) -> None:
    """Move coordinate j to where its changed key belongs."""
    position = int(place[j])
    while position > 0:
        parent = (position - 1) // 2
        if key[heap[parent]] >= key[j]:
            break
        heap[position] = heap[parent]
        place[heap[position]] = position
        position = parent
    while True:
        child = 2 * position + 1
        if child >= heap.size:
            break
        if child + 1 < heap.size and key[heap[child + 1]] > key[heap[child]]:
            child += 1
        if key[heap[child]] <= key[j]:
            break
        heap[position] = heap[child]
        place[heap[position]] = position
        position = child
    heap[position] = j
    place[j] = position


@helper
def build(heap: Array, place: Array, key: Array) -> None:
    """Order all coordinates by their keys, O(n)."""
    for j in range(heap.size):
        heap[j] = j
        place[j] = j
    for position in range(heap.size // 2 - 1, -1, -1):
        restore(heap, place, key, int(heap[position]))
