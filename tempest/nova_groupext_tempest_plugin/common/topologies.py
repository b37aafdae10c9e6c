# SPDX-License-Identifier: Apache-2.0
"""Topologies of groups, with the flavor and image of ``[compute]``."""

from tempest import config

CONF = config.CONF

HOST_ANTI_AFFINITY = {'type': 'anti-affinity', 'scope': 'host'}
HOST_AFFINITY = {'type': 'affinity', 'scope': 'host'}


def member(**more):
    """Return the definition of a member."""
    return {
        'flavor': CONF.compute.flavor_ref,
        'image': CONF.compute.image_ref,
        **more,
    }


def equal_members(count=2, policies=(), **more):
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
    contradictory = equal_members(2, [HOST_AFFINITY, HOST_ANTI_AFFINITY])
    return {
        'members': {'alone': member()},
        'groups': dict.fromkeys(subgroups, contradictory),
    }
