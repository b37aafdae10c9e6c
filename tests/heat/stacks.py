# SPDX-License-Identifier: Apache-2.0
"""Stacks of one Heat: create, update, delete, and what they have made."""

from keystoneauth1 import adapter

from tests.functional import base
from tests.heat import hot

ENDED = ('COMPLETE', 'FAILED')


def _of_rollback(request):
    """Return how to wait for what a request to Heat does."""
    return {'is_rolled_back': not request.get('disable_rollback', True)}


class Stacks:
    """A mixin before a test case with ``cloud``, ``api`` and ``eventually``.

    A test has one stack, which is named after it. Its ``left`` tells what is
    left of groups and servers.
    """

    @property
    def stack(self):
        return self.id().rpartition('.')[2].replace('_', '-')

    def orchestration(self):
        """Return the orchestration API; error answers are returned."""
        # A token of before the start of Heat has no endpoint of it.
        session = self.cloud.session('demo')
        session.invalidate()
        return adapter.Adapter(
            session, service_type='orchestration', raise_exc=False
        )

    def check_created(self, resources, *members, **more):
        """Create a stack, and check the members of its groups."""
        status = self.create_stack(resources, **more)

        self.assertEqual('CREATE_COMPLETE', status[0], status)
        self.assertEqual(dict.fromkeys(members, 'ACTIVE'), self.statuses())

    def create_stack(self, resources, **more):
        """Create a stack and wait; return how that ended.

        :returns: (status, reason)
        """
        self.start_stack(resources, **more)
        return self.wait_for_stack(**_of_rollback(more))

    def start_stack(self, resources, **more):
        """Create a stack without waiting; it is deleted after the test."""
        answer = self._post(resources, **more)
        self.assertEqual(201, answer.status_code, answer.text)
        self.addCleanup(self.delete_stack)

    def _post(self, resources, **more):
        body = {'stack_name': self.stack, 'timeout_mins': 5, **more}
        body['template'] = hot.template(resources)
        return self.orchestration().post('/stacks', json=body)

    def invalid(self, resources, **more):
        """Return the error of a stack that cannot be created."""
        answer = self._post(resources, **more)
        self.assertEqual(400, answer.status_code, answer.text)
        return answer.json()['error']['message']

    def update_stack(self, resources, **more):
        """Update the stack and wait; return how that ended."""
        body = {
            'template': hot.template(resources),
            'timeout_mins': 5,
            **more,
        }
        answer = self.orchestration().put(self._url(), json=body)
        self.assertEqual(202, answer.status_code, answer.text)
        return self.wait_for_stack(**_of_rollback(more))

    def delete_stack(self):
        """Delete the stack, if it exists, and wait until nothing is left."""
        if self._show().status_code == 200:
            url = self._url()
            self.orchestration().delete(url)
            self.eventually(
                lambda: self.orchestration().get(url).json(),
                lambda shown: (
                    shown.get('code') == 404
                    or shown['stack']['stack_status'] == 'DELETE_COMPLETE'
                ),
            )
        self.eventually(self.left, lambda left: not left)

    def _show(self):
        return self.orchestration().get(f'/stacks/{self.stack}')

    def _url(self):
        [link, *_others] = self._show().json()['stack']['links']
        return link['href']

    def wait_for_stack(self, *, is_rolled_back=False):
        """Wait until nothing happens to the stack.

        :param is_rolled_back: whether a rollback follows a failure
        :returns: (status, reason)
        """
        ends = ('COMPLETE', 'ROLLBACK_FAILED') if is_rolled_back else ENDED
        shown = self.eventually(
            lambda: self._show().json()['stack'],
            lambda now: now['stack_status'].endswith(ends),
        )
        return shown['stack_status'], shown['stack_status_reason']

    def the_group(self):
        """Return the only group of the project."""
        [group] = self.all_groups()
        return group

    def all_groups(self):
        return self.api().get(f'{base.GROUPS}/detail').json()['vrt_groups']

    def statuses(self):
        """Return {path: status} of all members of the project."""
        return {
            each['path']: each['status']
            for group in self.all_groups()
            for each in group['members']
        }

    def servers(self):
        """Return {id: server} of the project."""
        return {
            each.id: each for each in self.cloud.nova('demo').servers.list()
        }
