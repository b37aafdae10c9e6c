# SPDX-License-Identifier: Apache-2.0
"""Numbers that were tuned.

Beside each number stands its measurement: what changes with half the value and
with double. ``tox -e bench-tuning`` measured it, on a few problems for each
number; run it again, and mend the comment, when the number or the code that
reads it changes.

Times are processor seconds, of which a tenth is chance, and costs are soft
costs of the plans. In a search that its time limit ends, another value means
another random sequence, so some of the costs are chance, too. "No difference"
may mean that no search came near the limit.
"""

# -- arrays
# Largest number of steps in the bitmap of reachable sums of a resource.
# No difference at half or double.
MAX_BITMAP_STEPS = 200_000

# -- bounds/checks
# Largest number of different host sets to compare.
# No difference at half or double.
MAX_HOST_SETS = 200

# -- proofs/quick_proofs
# Share of its capacity from which a member set is solved as a subproblem.
# Half: 1.2 times the time; double: no difference.
TIGHT_SHARE = 0.25

# Limit on subproblems, and on pairs of policies.
# Half: 3 of 6 decided, not 4; double: 6, in half the time.
MAX_SUSPECTS = 12

# Seconds for a subproblem and for a capacity relaxation, at most; and the
# share of the remaining time that either may use.
# No difference at half or double; at 0.1, half the time.
SUSPECT_SECONDS = 1.0
# No difference at half or double; at 0.1, one proof of two is missing.
CONTRADICTION_SECONDS = 5.0
# No difference at half or double; at 0.01, 0.7 times the time.
SUSPECT_SHARE = 0.1

# Limit on members for a capacity relaxation.
# Half: 1 of 4 decided, not 2; double: 3, in 0.7 times the time.
MAX_CONTRADICTION_MEMBERS = 50

# -- proofs/suspects
# Growth factor of the number of member sets.
# No difference at 1.25 or 3.
SUSPECT_GROWTH = 1.5

# -- construct/capacity_matrices
# Number of member classes whose lost capacity counts: the scarcest ones.
# No difference at half or double; at 6, 1.2 times the time, costs -6 %.
MAX_SCARCEST = 24

# Limit of the cache of host states: iterations return to the same states.
# No difference at 100, 1000 or 10,000.
MAX_CACHED_STATES = 100_000

# Size of one array while the opportunity costs of many hosts are computed at
# once: as many numbers as a processor's cache holds.
# Half: 1.1 times the time; double: no difference.
BATCH_SIZE = 1 << 16

# -- construct/iteration
# Domains considered for the same members.
# No difference at half or double.
MAX_DOMAINS = 12

# Orders in which the same members are assigned in the same domain.
# Half: costs +1 %; double: 1.1 times the time.
MAX_ORDERS = 4

# Domains tried, with all backtracking, for one colocation group.
# No difference at half or double.
MAX_TRIES = 200

# -- construct/squeaky_wheel
# Perturbation of costs and priorities after the first iteration.
# Half: 0.8 times the time, costs +31 %; double: 0.7 times, costs +36 %.
PERTURBATION = 0.3

# -- construct/candidate_list
# With at least this many domains, members that share one get the hosts of
# more than one.
# Half: costs +1 %, first plans in 0.4 times the time; double: costs -17 %.
MIN_MANY_DOMAINS = 10

# Candidates of a part: capacity of the hosts over what the members need; the
# tightest domains, further ones, and large ones.
# Of 15 parts at (1000, 500), scarce, 90 and 95 % full, 2 have a plan within a
# second; with (1, 1, 0) none has a plan, with (2, 2, 0) none within 2.5 s,
# with (1.5, 3, 1) 3 have one within a second.
PART_CAPACITY = 1.0
PART_DOMAINS = 2
PART_RANDOM_DOMAINS = 1
PART_LARGE_DOMAINS = 1

# -- exact/feasibility
# Seconds per variable that a program takes to be written and presolved.
# Parts with a plan find it within 1.7e-4 s; of 8 s for 44,000 variables,
# presolve takes 7.
SECONDS_PER_VARIABLE = 2e-4

# -- exact/milp
# Columns from which presolve and the feasibility jump pay: the latter takes a
# fixed 5 ms, more than the whole solution of a small program.
# No difference at half or double.
LARGE_PROGRAM = 500

# Share of the remaining time in which a proof is tried without presolve.
# Half, double: no difference. With presolve first, six contradictions at
# (1000, 100) were refused after 8.1 s, not 0.8 s.
UNPRESOLVED_SHARE = 1 / 3

# Rows and columns added between two checks of the time budget.
# No difference at half or double.
CHECK_INTERVAL = 100

# -- exact/tie_breaking
#: Largest product of members and columns: tie-breaking solves a program or two
#: for each member.
# Half: 0.65 times the time, 1 of 6 plans differs; double: 1.1 times, 1
# differs.
MAX_TIE_BREAKING = 10_000

# -- search/feasible
# Constructions at first, and in each round.
# Half: 7 of 8 decided, not 8, in 1.3 times the time, costs +38 %; double:
# costs +26 %.
CONSTRUCTIONS = 4

# Share of the remaining time for one construction, and the seconds that it may
# take in any case.
# No difference at half or double.
CONSTRUCTION_SHARE = 0.3
# Half: no difference; double: 2 of 3 decided, not 1.
MIN_CONSTRUCTION_SECONDS = 0.5

# Number of variables up to which a construction is faster than bounds.
# Half, double: first plans in 0.8 and 0.7 times the time, costs -1 %.
MAX_FAST_VARIABLES = 20_000

# Number of variables up to which a construction can respect soft policies.
# No difference at half or double.
MAX_SOFT_VARIABLES = 100_000

# Number of variables of a small problem: the integer program over all hosts is
# mostly fast; its seconds before anything else.
# Half: 0.8 times the time, 1.5 times to first plans, costs -1 %, scores +6 %;
# double: 1.1 times the time.
SMALL_VARIABLES = 3_000
QUICK_SECONDS = 0.5

# Number of variables up to which that program is as fast as constructions.
# At 0: 1.6 times to first plans; half, double: no difference.
TINY_VARIABLES = 1_000

# Number of variables up to which every second program is over all hosts; with
# more, one of so many.
MAX_TURN_VARIABLES = 10_000
RARE_TURN = 8

# Seconds of the program over some hosts and over all, at first.
PART_SECONDS = 0.5
ALL_SECONDS = 6.0

# Seconds of the first repair, and their growth: it goes on where it stopped.
REPAIR_SECONDS = 4.0
REPAIR_GROWTH = 1.5

# Shares of the remaining time to insert members into a current plan, and for
# the programs that keep members there; widths of these.
# Three hosts fail: first plans take 0.1 s at (1000, 100), 0.6 to 0.9 s at
# (1000, 500), 80 and 95 %. Of 1000 processes on 100 machines of which one
# fails, with a third of the share, two of six instances stay undecided.
CURRENT_SHARE = 0.3
KEEPING_SHARE = 0.3
KEEPING_WIDTHS = 1.0, 2.0, 4.0

# Seconds to find the domains where members that share one fit.
# 23 groups take 0.15 s at 1000 hosts, 60 take 1.6 s at 10,000.
FITTING_SECONDS = 0.5

# Size of a wide part over the least one, its number of variables, and growth.
# At (1000, 500), scarce, 95 %, 2 of 3 with the size 6.5 have a plan within
# 2 s, none of 3 with 2.5.
WIDE = 6.5
MAX_PART_VARIABLES = 30_000
PART_GROWTH = 1.25

# Share of all variables from which a part is not worth it.
MAX_PART_SHARE = 0.95

# -- search/rack_neighbourhood
# Number of racks that are decided anew, at first; its change after a proof or
# the end of time; seconds for one program.
INITIAL_RACKS = 2
RACKS_GROWTH = 1.5
RACKS_SECONDS = 2.0

# Passes over all racks without improvement, after which the search ends.
MAX_IDLE_PASSES = 2

# -- search/improve
# Share of the remaining time in which more members are placed.
MOST_MEMBERS_SHARE = 0.6

# Limit on further constructions.
# No difference at half or double.
MORE_CONSTRUCTIONS = 40

# Share of the time for the integer program of a small problem, before all
# else.
# Half: no difference; 0.95: 1.1 times the time, costs +3 %.
SMALL_EXACT_SHARE = 0.5

# Share of the remaining time for constructions.
# Half: no difference; double: costs -37 %.
MORE_CONSTRUCTIONS_SHARE = 0.1

# Share of the remaining time for neighbourhoods.
# Half: 0.8 times the time, costs +44 %; 0.95: 1.3 times, costs +2 %.
NEIGHBOURHOOD_SHARE = 0.6

# Number of variables up to which the integer program over all hosts runs: a
# larger one would need too much memory.
# At 500: costs the same, scores +2 %. Programs of half and double size take
# longer than a measurement.
MAX_EXACT_VARIABLES = 100_000

# -- search/neighbourhood
# Number of equivalence classes to free: at first, at least, at most.
# Half: scores -7 %; double: costs +37 %.
INITIAL_CLASSES = 6
# No difference at half or double.
MIN_CLASSES = 2
# Half: no difference; double: scores -5 %.
MAX_CLASSES = 60

# Members per freed class from which on only some are freed.
# Half: costs -37 %; double: costs -28 %.
MEMBERS_PER_CLASS = 5

# Seconds for one integer program.
# Half: scores -3 %; double: no difference.
NEIGHBOURHOOD_SECONDS = 2.0

# Neighbourhoods in a row without improvement, after which the search ends.
# No difference at 5 or 10: time ends these searches before.
MAX_IDLE_STEPS = 40

# Capacity of sampled hosts over capacity needed.
# Half: scores -4 %; double: costs +64 %.
NEIGHBOURHOOD_RATIO = 2.0

# Limit on target domains, into which the members of a policy may move.
# At 2: scores -2 %; double: costs -31 %.
MAX_TARGET_DOMAINS = 3

# Probability that all domains may be targets, not only those in use.
# Half: costs -28 %; 0.95: no difference.
ALL_DOMAINS_PROBABILITY = 0.5

# Target hosts offered to each equivalence class. Members on target hosts are
# freed only if there are few target hosts.
# Half: scores -2 %; double: scores -4 %.
TARGET_HOSTS = 40

# Hosts with the best scores offered to each equivalence class.
# Half: scores +9 %; double: scores +13 %, costs +83 %.
PREFERRED_HOSTS = 12

# -- solve/stages
# Share of the time for a plan of all members, where some may be left out.
ALL_MEMBERS_SHARE = 1 / 3

# -- search/policy_bounds
# Share of the remaining time for bounds of the soft cost. Of ten policies with
# a cost at (1000, 100) six take up to 0.5 s, three 2.4 to 3.9 s; one has no
# bound after 5 s.
BOUNDS_SHARE = 0.4

# -- explain/__init__
# Share of the time for the conflict and its reason, before relaxations.
# No difference at half or 0.95.
CONFLICT_SHARE = 0.6

# Seconds for relaxations: fixed, per member, per pair of member and host.
# First: half takes 0.7 times the time, double 1.3 times; second: 0.9 and 1.3
# times; third: no difference. The relaxations are as many.
RELAXATION_SECONDS = 1.5, 6e-3, 3e-7

# -- explain/minimal_conflict
# Number of assumptions up to which a conflict is made minimal, and of parts
# that are left out of larger ones.
# 240 competing member sets at (5000, 10000) take 47 s one by one.
MAX_CERTIFIED = 40
CONFLICT_PARTS = 20

# -- explain/feasibility_oracle
# Share of the remaining time that one query may use.
# No difference at half or double.
QUERY_SHARE = 1 / 3

# -- explain/relax
# Limits on further conflicts, and on combinations of softened policies.
# Half: 5 relaxations, not 31, in 0.4 times the time; double: 57, in 1.8 times.
MAX_CONFLICTS = 8
# Half: 26 relaxations, not 40, in 0.8 times the time; double: 56, in 1.3
# times.
MAX_COMBINATIONS = 12

# Limit on member sets of a conflict that are relaxed one by one.
# Half: 28 relaxations, not 43, in 0.8 times the time; double: 53.
MAX_MEMBER_SETS = 20

# -- explain/minimums
# Number of member sets of a relaxation up to which each minimum rises by
# itself; of more, those of one change rise together.
# Of 2000 members in 100 sets, 660 in 33 sets of each of three classes, the
# relaxation takes 6 s; each by itself takes 14 s and reads "and 51 more".
MAX_RAISED_SETS = 10

# -- explain/relaxed_plans
# Share of the remaining time for the plan without the conflict, and for each
# attempt to adapt a plan.
# No difference at half or 0.95.
BASE_SHARE = 1 / 2
# No difference at half or double.
ATTEMPT_SHARE = 1 / 10

# Limit on members that move out of the way.
# No difference at half or double.
MAX_OTHERS = 100

# -- moves/move_check
# Limit of end states to enumerate; beyond it, the worst case is unknown.
# Half: 2 of 4 moves decided, not 3, in half the time; double: 4, in twice.
MAX_END_STATES = 64

# -- verify/refused
# Share of the remaining time for one check.
# Half: 1 of 3 answers verified, as now, in 0.9 times the time; 0.95: 3, in 1.2
# times.
CHECK_SHARE = 1 / 2
