# SPDX-License-Identifier: Apache-2.0
"""Comparable snapshots of search states."""


def of(state):
    """Return a value that is equal for equal search states."""
    matrices = state.matrices
    arrays = (matrices.free, matrices.capacity, matrices.opportunity_cost)
    return [array.tolist() for array in arrays], [
        (
            propagator.counts.tolist(),
            propagator.is_open,
            getattr(propagator, 'fixed_domain', None),
            getattr(
                propagator, 'uncovered_counts', propagator.counts
            ).tolist(),
            [
                counts.tolist()
                for _, counts in getattr(propagator, '_wider', ())
            ],
        )
        for propagator in state.propagators
    ]
