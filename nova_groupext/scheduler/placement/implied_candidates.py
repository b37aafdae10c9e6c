# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates of a request, worked out from provider queries.

Placement may truncate its answers about candidates, but never its answers
about providers. The number of requests depends on the resource classes and
traits that are requested and on the number of sharing providers with capacity,
but not on the number of hosts.

A candidate is a frozenset of (provider, resource class).
"""

import collections
import functools
import itertools

from nova_groupext.scheduler.placement import queries

SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE'


class ProviderQueries:
    """Queries about providers, each of them sent once.

    :param client: PlacementClient
    :ivar check_deadline: called before each request; raises OutOfTime
    """

    def __init__(self, context, client, check_deadline):
        self._context = context
        self._client = client
        self.check_deadline = check_deadline
        self._answers = {}

    def roots(self, *filters):
        """Return {provider: the root of its tree} of some providers.

        :param filters: (name, value) pairs of Placement's query
        """
        if filters not in self._answers:
            self.check_deadline()
            self._answers[filters] = self._client.roots(self._context, filters)
        return self._answers[filters]

    def with_traits(self, traits):
        """Return the set of providers that meet all traits."""
        return self._meeting(queries.traits_filter(traits))

    def in_aggregates(self, values):
        """Return the set of providers that meet all values of member_of."""
        return self._meeting(queries.aggregates_filter(values))

    def _meeting(self, filters):
        return self.roots(*filters).keys() if filters else _EVERY_PROVIDER

    def sharing_hosts(self, provider):
        """Return the hosts that can use a sharing provider."""
        if provider not in self._answers:
            self.check_deadline()
            aggregates = self._client.aggregates(self._context, provider)
            members = f'in:{",".join(aggregates)}'
            self._answers[provider] = (
                {*self.roots(('member_of', members)).values()}
                if aggregates
                else set()
            )
        return self._answers[provider]


class ImpliedCandidates:
    """Allocation candidates of one request.

    :param providers: ProviderQueries
    :param query: queries.CandidateQuery
    """

    def __init__(self, providers, query):
        self._providers = providers
        self._query = query
        self._roots = providers.with_traits(query.root_required)
        self._permitted = providers.with_traits(query.forbidden)
        self._inside = providers.in_aggregates(query.member_of)
        self._outside = providers.in_aggregates(query.not_member_of)
        # Of each required trait, the providers that have it.
        self._holders = [
            providers.with_traits([trait]) for trait in query.required
        ]

    def of_host(self, host, freed=()):
        """Yield the candidates of a host, always in the same order.

        :param host: uuid of a root provider
        :param freed: (provider of the host's tree, resource class) pairs with
            enough capacity besides those that have it now
        :raises: OutOfTime
        """
        choices = []
        for name, providers in self._with_capacity.items():
            pairs = {(provider, name) for provider in providers[host]}
            pairs |= {pair for pair in freed if pair[1] == name}
            choices.append(
                [
                    pair
                    for pair in sorted(pairs)
                    if self._is_usable(pair[0], host)
                ]
            )
        for combination in itertools.product(*choices):
            # Hosts with many providers have very many combinations.
            self._providers.check_deadline()
            candidate = frozenset(combination)
            if self._has_required_traits(candidate):
                yield candidate

    def roots(self, candidate, host):
        """Return the root providers of a candidate of a host.

        They are not only the host if the candidate uses a sharing provider.
        """
        return {
            self._root_of.get(provider, host) for provider, _name in candidate
        }

    @functools.cached_property
    def _roots_by_class(self):
        """Mapping of resource class to {provider with capacity: its root}."""
        return {
            name: self._providers.roots(('resources', f'{name}:{amount}'))
            for name, amount in self._query.amounts.items()
        }

    @functools.cached_property
    def _root_of(self):
        """Mapping of each provider with capacity to its root."""
        return dict(collections.ChainMap(*self._roots_by_class.values()))

    @functools.cached_property
    def _with_capacity(self):
        """Mapping of resource class to {host: providers with capacity}."""
        return {
            name: self._by_host(roots)
            for name, roots in self._roots_by_class.items()
        }

    def _by_host(self, roots):
        """Return {host: those of some providers that it can use}."""
        found = collections.defaultdict(set)
        sharing = self._providers.with_traits([SHARING_TRAIT])
        for provider, root in roots.items():
            found[root].add(provider)
            # Aggregates of the hosts do not count for a sharing provider.
            if provider in sharing and provider in self._inside:
                for host in self._providers.sharing_hosts(provider):
                    found[host].add(provider)
        return found

    def _has_required_traits(self, candidate):
        """Check whether each required trait is one of some provider's."""
        providers = {provider for provider, _name in candidate}
        return all(providers & holders for holders in self._holders)

    def _is_usable(self, provider, host):
        """Check whether a provider meets all conditions but required traits.

        The aggregates of a host are those of its child providers, too.
        """
        return (
            host in self._roots
            and provider in self._permitted
            and (provider in self._inside or host in self._inside)
            and provider in self._outside
            and host in self._outside
        )


class _EveryProvider:
    """Set that contains every provider."""

    def __contains__(self, _provider):
        return True


_EVERY_PROVIDER = _EveryProvider()


def key(request):
    """Return the candidate that an allocation request stands for."""
    return frozenset(
        (provider, name)
        for provider, allocation in request['allocations'].items()
        for name in allocation['resources']
    )


def request(candidate, amounts):
    """Return the allocation request of a candidate, as Placement would.

    :param amounts: {resource class: amount}
    """
    allocations = {}
    for provider, name in sorted(candidate):
        resources = allocations.setdefault(provider, {'resources': {}})
        resources['resources'][name] = amounts[name]
    return {'allocations': allocations, 'mappings': {'': [*allocations]}}
