# SPDX-License-Identifier: Apache-2.0
"""Policies and relationships, with the tenant's definitions."""

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext.db import models
from nova_groupext.objects import base


@ovo.VersionedObjectRegistry.register
class VRTPolicy(base.VRTObject):
    """A policy on a node of the topology or on a relationship."""

    VERSION = '1.0'
    MODEL = models.Policy

    fields = {
        # Path of the node; '' is the group itself.
        'at': fields.StringField(),
        'type': fields.StringField(),
        'definition': base.JsonField(),
    }


@ovo.VersionedObjectRegistry.register
class VRTRelationship(base.VRTObject):
    """A relationship between two parts of the topology."""

    VERSION = '1.0'
    MODEL = models.Relationship

    fields = {
        'at': fields.StringField(),
        # name, between, bandwidth: all but the policies
        'definition': base.JsonField(),
        'policies': fields.ListOfObjectsField('VRTPolicy'),
    }
