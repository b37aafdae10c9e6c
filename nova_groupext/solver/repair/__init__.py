# SPDX-License-Identifier: Apache-2.0
"""Reinsertion of members that construction left out.

The integer program inserts them one after the other; it may also reassign the
members on the same hosts, while all others keep their hosts. If it finds no
plan, ejection search inserts them all the same, and reinsertion continues with
the members that it ejects::

    reinsertion         the loop over the members that have no host
    master_problem      domains for colocation groups, by an integer program
    capacity_rows       its rows: no domain has more demand than capacity
    colocation_groups   members that share a domain, and which domains fit
    bottlenecks         members that need nearly all of their capacity
    joint_reinsertion   hosts for all groups of some domains together
    ejection            insertion at the expense of other members
"""
