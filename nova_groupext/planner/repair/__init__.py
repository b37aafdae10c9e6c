# SPDX-License-Identifier: Apache-2.0
"""Room for those that an attempt left out.

One after the other they are put back, where the exact programme finds room
for them together with those who sit on the same hosts, while all others stay
where they are. Where it finds none they are seated all the same, and who has
lost a seat by that is put back in turn::

    repairs   who is put back, until nobody waits any more
    allot     domains anew for all bundles of members, by an integer programme
    limits    no more is asked of a domain than there is, captives included
    bundles   members that share a domain, and who gets on in which
    captives  who needs nearly all the places there are
    crowds    seats for all bundles of some domains, by the exact programme
    eject     a seat for others where those go who are easier to seat
"""
