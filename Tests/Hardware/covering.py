# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairwise tables: rows in which every pair of values occurs that some possible row has.

A row is a tuple with one value of each dimension. Which rows are possible, a rule says; it is asked about whole rows
only. Everything depends on the seed and on nothing else."""

import itertools
import random


def pairs_of(row):
    """The pairs of a row: (dimension, value, dimension, value)."""
    return {(i, row[i], k, row[k]) for i, k in itertools.combinations(range(len(row)), 2)}


def possible_pairs(dimensions, is_possible, ruled):
    """Every pair that some possible row has. `ruled` are the indices of the dimensions that the rule looks at: the
    others go with every value of each other and of those."""
    found, ruled = set(), sorted(ruled)
    free = [i for i in range(len(dimensions)) if i not in ruled]
    used = {i: set() for i in ruled}
    for values in itertools.product(*(dimensions[i] for i in ruled)):
        row = [dimension[0] for dimension in dimensions]
        for i, value in zip(ruled, values):
            row[i] = value
        if not is_possible(tuple(row)):
            continue
        found |= {(i, row[i], k, row[k]) for i, k in itertools.combinations(ruled, 2)}
        for i in ruled:
            used[i].add(row[i])
    used.update((i, set(dimensions[i])) for i in free)
    for i, k in itertools.combinations(range(len(dimensions)), 2):
        if i in free or k in free:
            found |= {(i, one, k, other) for one in used[i] for other in used[k]}
    return found


def complete(dimensions, is_possible, fixed, chance, attempts=2000):
    """A possible row with the fixed values (by index) and others by chance; None when none was found."""
    for _ in range(attempts):
        row = tuple(fixed.get(i, chance.choice(dimension)) for i, dimension in enumerate(dimensions))
        if is_possible(row):
            return row
    return None


def covering(dimensions, is_possible, ruled, seed, candidates=40, cost=lambda row: 0):
    """Rows that have every possible pair. Greedy: of some candidates with a pair that is missing, the one that brings
    most new pairs; the cheapest of those that bring as many."""
    chance = random.Random(seed)
    missing = possible_pairs(dimensions, is_possible, ruled)
    rows = []
    while missing:
        i, one, k, other = chance.choice(sorted(missing, key=repr))
        found = [complete(dimensions, is_possible, {i: one, k: other}, chance) for _ in range(candidates)]
        found = [row for row in found if row]
        if not found:
            raise AssertionError(f"no row was found with {one!r} and {other!r}, which is said to be possible")
        best = max(found, key=lambda row: (len(pairs_of(row) & missing), -cost(row)))
        missing -= pairs_of(best)
        rows.append(best)
    return rows


def uncovered(rows, dimensions, is_possible):
    """What a table lacks, found by another way: every row there is, one after the other."""
    covered = set().union(*map(pairs_of, rows)) if rows else set()
    lacking = set()
    for row in itertools.product(*dimensions):
        if not is_possible(row):
            continue
        for i, k in itertools.combinations(range(len(row)), 2):
            pair = (i, row[i], k, row[k])
            if pair not in covered:
                lacking.add(pair)
    return lacking
