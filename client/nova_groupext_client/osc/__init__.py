# SPDX-License-Identifier: Apache-2.0
"""``openstack vrt``: a plugin of openstackclient.

``openstack --help`` loads every command of every plugin, so nothing here
imports at the top what openstackclient has not loaded by then.
"""
