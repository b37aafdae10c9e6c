# SPDX-License-Identifier: Apache-2.0
"""Members that need nearly all the places there are for their like.

Where graphics cards are short, those who need one go wherever there is one,
and who else wants these hosts has to do with what they leave.
"""

from nova_groupext.planner.greedy import guards

# Share of the places that has to be asked for.
_SHARE = 0.9


def find(setting, wanted):
    """Units of captives, which share no domain with anybody.

    :param setting: greedy.setting.Setting in which nobody has a seat
    :param wanted: unit -> how many members need one
    :returns: list of units.Unit
    """
    board = setting.board
    free = [unit for unit in setting.units if not _is_bound(setting, unit)]
    unit_of = {board.class_of[unit]: unit for unit in free}
    captive = set()
    for one in unit_of.values():
        takes = {unit: times(board, unit, one) for unit in free}
        places = board.places(board.need_of(one)) * board.may(one)
        asked = sum(wanted[unit] * n for unit, n in takes.items())
        if asked >= _SHARE * places.sum():
            captive.update(board.class_of[u] for u, n in takes.items() if n)
    return [unit for unit in free if board.class_of[unit] in captive]


def times(board, unit, other):
    """How many members of another unit would fit where one of a unit sits.

    :returns: number, 0 too if not each of its seats is one for the others
    """
    if (board.may(unit) & ~board.may(other)).any():
        return 0
    need = board.need_of(other)
    asked = need > 0
    fits = board.need_of(unit)[asked] // need[asked]
    return int(fits.min()) if asked.any() else 1


def _is_bound(setting, unit):
    return any(guards.waits(guard) for guard in setting.strict[unit])
