# SPDX-License-Identifier: Apache-2.0
"""Clients of VRT groups: openstack commands, SDK proxy, novaclient extension.

The package imports neither Nova nor nova_groupext.
"""
