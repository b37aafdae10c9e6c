# SPDX-License-Identifier: Apache-2.0
"""Room for those that an attempt left out.

One after the other they are put back, where the exact programme finds room
for them together with those who sit on the same hosts, while all others stay
where they are. Where it finds none they are seated all the same, and who has
lost a seat by that is put back in turn::

    repairs   who is put back, until nobody waits any more
    allot     domains anew for all bundles of members, by an integer programme
    eject     a seat for others where those go who are easier to seat
"""
