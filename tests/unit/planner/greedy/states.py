# SPDX-License-Identifier: Apache-2.0
"""All that changes in a setting while members sit down, to compare."""


def of(setting):
    """A value that is equal for settings that are in the same state."""
    board = setting.board
    arrays = (board.free, board.room, board.loss)
    return [array.tolist() for array in arrays], [
        (
            guard.counts.tolist(),
            guard.is_open,
            getattr(guard, 'home', None),
            getattr(guard, 'others', guard.counts).tolist(),
            [counts.tolist() for _, counts in getattr(guard, '_wider', ())],
        )
        for guard in setting.guards
    ]
