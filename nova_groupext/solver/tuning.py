# SPDX-License-Identifier: Apache-2.0
"""Numbers that were tuned."""

# -- bounds/capacity
# Largest number of steps in the bitmap of reachable sums of a resource.
MAX_BITMAP_STEPS = 200_000

# -- bounds/checks
# Largest number of different host sets to compare.
MAX_HOST_SETS = 200

# -- proofs/quick_proofs
# Share of its capacity from which a member set is solved as a subproblem.
TIGHT_SHARE = 0.25

# Limit on subproblems, and on pairs of policies.
MAX_SUSPECTS = 12

# Seconds for a subproblem and for a capacity relaxation, at most; and the
# share of the remaining time that either may use.
SUSPECT_SECONDS = 1.0
CONTRADICTION_SECONDS = 5.0
SUSPECT_SHARE = 0.1

# Limit on members for a capacity relaxation.
MAX_CONTRADICTION_MEMBERS = 50

# -- proofs/suspects
# Growth factor of the number of member sets.
SUSPECT_GROWTH = 1.5

# -- construct/capacity_matrices
# Number of member classes whose lost capacity counts: the scarcest ones.
MAX_SCARCEST = 24

# Limit of the cache of host states: iterations return to the same states.
MAX_CACHED_STATES = 100_000

# Size of one array while the opportunity costs of many hosts are computed at
# once: as many numbers as a processor's cache holds.
BATCH_SIZE = 1 << 16

# -- construct/iteration
# Domains considered for the same members.
MAX_DOMAINS = 12

# Orders in which the same members are assigned in the same domain.
MAX_ORDERS = 4

# Domains tried, with all backtracking, for one colocation group.
MAX_TRIES = 200

# -- construct/squeaky_wheel
# Perturbation of costs and priorities after the first iteration.
PERTURBATION = 0.3

# -- construct/candidate_list
# With at least this many domains, members that share one get the hosts of
# more than one.
MIN_MANY_DOMAINS = 10

# -- exact/feasibility
# Seconds that one assignment variable takes to be added to a program.
SECONDS_PER_ASSIGNMENT = 3e-4

# -- exact/milp
# Columns from which presolve and the feasibility jump pay: the latter takes a
# fixed 5 ms, more than the whole solution of a small program.
LARGE_PROGRAM = 500

# Rows and columns added between two checks of the time budget.
CHECK_INTERVAL = 100

# -- exact/tie_breaking
#: Largest product of members and columns: tie-breaking solves a program or two
#: for each member.
MAX_TIE_BREAKING = 10_000

# -- search/feasible
# Constructions at first, and in each round.
CONSTRUCTIONS = 4

# Share of the remaining time for one construction, and the seconds that it may
# take in any case.
CONSTRUCTION_SHARE = 0.3
MIN_CONSTRUCTION_SECONDS = 0.5

# Numbers of variables up to which a construction is faster than a search for
# proofs, and up to which it can respect soft policies.
MAX_FAST_VARIABLES = 20_000
MAX_SOFT_VARIABLES = 100_000

# Number of variables up to which the integer program over all hosts runs
# before the rounds; its seconds.
SMALL_VARIABLES = 3_000
QUICK_SECONDS = 0.5

# Share of the time for the rounds, if the rest is enough for the integer
# program over all hosts.
ALTERNATION_SHARE = 0.7

# Rounds that run the integer program over all hosts, and its share of the
# remaining time; and the seconds of other rounds, over some hosts.
ALL_HOSTS_ROUNDS = (2, 8)
ALL_HOSTS_SHARE = 0.2
SAMPLE_SECONDS = 2.0

# Capacity of sampled hosts over capacity needed, at first and at most.
INITIAL_RATIO = 2.0
MAX_RATIO = 8.0

# -- search/improve
# Limit on further constructions.
MORE_CONSTRUCTIONS = 40

# Share of the time for the integer program of a small problem, before all
# else.
SMALL_EXACT_SHARE = 0.5

# Share of the remaining time for constructions.
MORE_CONSTRUCTIONS_SHARE = 0.1

# Share of the remaining time for neighbourhoods.
NEIGHBOURHOOD_SHARE = 0.6

# Number of variables up to which the integer program over all hosts runs: a
# larger one would need too much memory.
MAX_EXACT_VARIABLES = 100_000

# -- search/neighbourhood
# Number of equivalence classes to free: at first, at least, at most.
INITIAL_CLASSES = 6
MIN_CLASSES = 2
MAX_CLASSES = 60

# Members per freed class from which on only some are freed.
MEMBERS_PER_CLASS = 5

# Seconds for one integer program.
NEIGHBOURHOOD_SECONDS = 2.0

# Neighbourhoods in a row without improvement, after which the search ends.
MAX_IDLE_STEPS = 40

# Capacity of sampled hosts over capacity needed.
NEIGHBOURHOOD_RATIO = 2.0

# Limit on target domains, into which the members of a policy may move.
MAX_TARGET_DOMAINS = 3

# Probability that all domains may be targets, not only those in use.
ALL_DOMAINS_PROBABILITY = 0.5

# Target hosts offered to each equivalence class. Members on target hosts are
# freed only if there are few target hosts.
TARGET_HOSTS = 40

# Hosts with the best scores offered to each equivalence class.
PREFERRED_HOSTS = 12

# -- explain/__init__
# Share of the time for the conflict and its reason, before relaxations.
CONFLICT_SHARE = 0.6

# Seconds for relaxations: fixed, per member, per pair of member and host.
RELAXATION_SECONDS = 1.5, 6e-3, 3e-7

# -- explain/feasibility_oracle
# Share of the remaining time that one query may use.
QUERY_SHARE = 1 / 3

# -- explain/relax
# Limits on further conflicts, and on combinations of softened policies.
MAX_CONFLICTS = 8
MAX_COMBINATIONS = 12

# Limit on member sets of a conflict that are relaxed one by one.
MAX_MEMBER_SETS = 20

# -- explain/relaxed_plans
# Share of the remaining time for the plan without the conflict, and for each
# attempt to adapt a plan.
BASE_SHARE = 1 / 2
ATTEMPT_SHARE = 1 / 10

# Limit on members that move out of the way.
MAX_OTHERS = 100

# -- moves/move_check
# Limit of end states to enumerate; beyond it, the worst case is unknown.
MAX_END_STATES = 64

# -- verify/refused
# Share of the remaining time for one check.
CHECK_SHARE = 1 / 2
