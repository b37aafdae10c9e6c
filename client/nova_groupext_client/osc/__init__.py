# SPDX-License-Identifier: Apache-2.0
"""Plugin of openstackclient with the commands ``openstack vrt``.

``openstack --help`` loads every command of every plugin. So modules here
import at the top only what openstackclient has loaded by then.
"""
