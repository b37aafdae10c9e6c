# SPDX-License-Identifier: Apache-2.0
"""All that changes in a state while members sit down, to compare."""


def of(state):
    """A value that is equal for settings that are in the same state."""
    matrices = state.matrices
    arrays = (matrices.free, matrices.room, matrices.loss)
    return [array.tolist() for array in arrays], [
        (
            propagator.counts.tolist(),
            propagator.is_open,
            getattr(propagator, 'home', None),
            getattr(propagator, 'others', propagator.counts).tolist(),
            [
                counts.tolist()
                for _, counts in getattr(propagator, '_wider', ())
            ],
        )
        for propagator in state.propagators
    ]
