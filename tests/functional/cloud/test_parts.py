# SPDX-License-Identifier: Apache-2.0
"""Components of a try-out cloud: filters, configuration and services."""

import nova.conf
from oslo_service import service

from nova_groupext.cloud import components
from nova_groupext.cloud import hosts
from tests.functional.cloud import base


class Mark:
    """A filter whose response header names the project of the request."""

    def __init__(self, application):
        self.application = application

    def __call__(self, environ, start_response):
        project = environ['nova.context'].project_id

        def marked(status, headers, *failure):
            return start_response(
                status, [*headers, ('X-Mark', project)], *failure
            )

        return self.application(environ, marked)

    @classmethod
    def factory(cls, global_conf, **local_conf):
        return cls


class Extra(service.Service):
    """A service that records the host on which it was started."""

    started = []

    def __init__(self, host):
        super().__init__()
        self.host = host

    def start(self):
        self.started.append(self.host)


class TestParts(base.CloudTestCase):
    """A cloud with one component of each kind."""

    HOSTS = (hosts.Host('cmp-1'),)
    PARTS = components.Parts(
        filters=(('mark', f'{__name__}:Mark.factory'),),
        config='[filter_scheduler]\nenabled_filters = ComputeFilter\n',
        services=(f'{__name__}.Extra',),
    )

    def test_filter_gets_the_context_of_the_request(self):
        demo = self.cloud.sdk('demo')

        answer = demo.compute.get('/servers')

        self.assertEqual(demo.current_project_id, answer.headers['X-Mark'])

    def test_config_is_appended(self):
        filters = nova.conf.CONF.filter_scheduler.enabled_filters

        self.assertEqual(['ComputeFilter'], filters)

    def test_service_is_started_on_its_host(self):
        self.assertEqual([nova.conf.CONF.host], Extra.started)
