# SPDX-License-Identifier: Apache-2.0
"""What people use VRT groups with: openstack commands, SDK, novaclient.

Everything here runs on a laptop: nothing imports Nova or nova_groupext.
"""
