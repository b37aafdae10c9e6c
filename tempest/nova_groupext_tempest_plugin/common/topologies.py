# SPDX-License-Identifier: Apache-2.0
"""Topologies of groups, with the flavor and image of ``[compute]``."""

from tempest import config

CONF = config.CONF

APART = {'type': 'anti-affinity', 'scope': 'host'}
TOGETHER = {'type': 'affinity', 'scope': 'host'}


def member(**more):
    """Return the definition of a member."""
    return {
        'flavor': CONF.compute.flavor_ref,
        'image': CONF.compute.image_ref,
        **more,
    }


def some(count=2, policies=(), **more):
    """Return a topology of equal members ``a-0``, ``a-1`` and so on."""
    topology = {'members': {'a': member(count=count, **more)}}
    return {**topology, 'policies': list(policies)} if policies else topology


def nested():
    """Return a topology with a subgroup: members ``a`` and ``sub/b-0``."""
    return {
        'members': {'a': member()},
        'groups': {'sub': {'members': {'b': member(count=1)}}},
    }


def impossible(*subgroups):
    """Return a topology that no cloud can place.

    :param subgroups: names of subgroups with contradictory policies
    """
    torn = some(2, [TOGETHER, APART])
    return {
        'members': {'alone': member()},
        'groups': dict.fromkeys(subgroups, torn),
    }
