"""Writes tests/scipy.json: cases, and what scipy and numpy say of them, for the test in src/scipy.rs.

    python3 -m venv target/scipy && target/scipy/bin/pip install scipy numpy
    target/scipy/bin/python crates/stats/tests/scipy_fixture.py crates/stats/tests/scipy.json

`cargo lab trust statistics` does that. What scipy does not have (Holm, Hodges-Lehmann with its exact interval) is
worked out here in another way than in the program: by whole numbers, and by writing out all quotients.
"""

import json
import math
import sys
from fractions import Fraction

import numpy
import scipy
from scipy import stats

random = numpy.random.default_rng(20261121)
cases = []


def add(method, **fields):
    cases.append({"method": method, **fields})


def numbers(values):
    return [float(value) for value in values]


def drawn(count, shift=0.0):
    """Log-normal values, six digits each, so that the file stays readable; ties are out of the question."""
    values = numpy.exp(0.1 * random.standard_normal(count) + shift)
    return numpy.round(values, 12)


def mann_whitney():
    for n, m, shift in [(4, 4, 0.1), (5, 7, 0.0), (10, 10, 0.05), (3, 12, 0.2), (20, 20, 0.08), (30, 25, 0.0),
                        (50, 50, 0.06), (50, 50, 0.3), (100, 100, 0.02), (1, 40, 0.1)]:
        a, b = drawn(n), drawn(m, shift)
        found = stats.mannwhitneyu(a, b, alternative="two-sided", method="exact")
        add("mann-whitney, exact", a=numbers(a), b=numbers(b), statistic=float(found.statistic), p=float(found.pvalue))
    for n, m, shift in [(6, 6, 0.1), (10, 12, 0.05), (30, 30, 0.0), (30, 30, 0.1), (60, 50, 0.02)]:
        a, b = numpy.round(drawn(n), 1), numpy.round(drawn(m, shift), 1)
        found = stats.mannwhitneyu(a, b, alternative="two-sided", method="asymptotic")
        add("mann-whitney, approximate", a=numbers(a), b=numbers(b), statistic=float(found.statistic),
            p=float(found.pvalue))
    a, b = drawn(120), drawn(110, 0.02)
    found = stats.mannwhitneyu(a, b, alternative="two-sided", method="asymptotic")
    add("mann-whitney, approximate", a=numbers(a), b=numbers(b), statistic=float(found.statistic),
        p=float(found.pvalue))


def signed_rank():
    for n, lean in [(6, 0.5), (8, 0.0), (10, 1.0), (17, 0.3), (25, 0.2), (40, 0.5), (50, 0.1), (50, 0.9)]:
        values = numpy.round(random.standard_normal(n) + lean, 12)
        found = stats.wilcoxon(values, zero_method="wilcox", method="exact")
        add("signed rank, exact", values=numbers(values), statistic=float(found.statistic), p=float(found.pvalue))
    for n, lean, digits in [(10, 0.5, 0), (20, 0.3, 1), (40, 0.2, 0), (80, 0.2, 12), (200, 0.05, 1)]:
        values = numpy.round(random.standard_normal(n) + lean, digits)
        found = stats.wilcoxon(values, zero_method="wilcox", correction=True, method="asymptotic")
        add("signed rank, approximate", values=numbers(values), statistic=float(found.statistic),
            p=float(found.pvalue))


def mann_kendall():
    for n, slope in [(4, 1.0), (6, 0.5), (8, 0.0), (12, 0.2), (20, 0.1), (30, 0.0), (50, 0.02), (50, 0.2)]:
        values = numpy.round(random.standard_normal(n) + slope * numpy.arange(n), 12)
        found = stats.kendalltau(numpy.arange(n), values, method="exact")
        add("mann-kendall, exact", values=numbers(values), statistic=float(found.statistic) * n * (n - 1) / 2,
            p=float(found.pvalue))


def median_ranks():
    for n in [6, 7, 9, 10, 12, 15, 20, 30, 50, 99, 200, 1000]:
        # At 6 values P(X = 0) is 1/64: the first rank is allowed.
        low = max(k for k in range(1, n // 2 + 1) if 2 * stats.binom.cdf(k - 1, n, 0.5) <= 0.05)
        add("interval of the median", n=n, rank=low, p=float(1 - 2 * stats.binom.cdf(low - 1, n, 0.5)))


def holm():
    for count in [1, 2, 5, 40]:
        p = numpy.round(random.random(count) ** 3, 12)
        order = numpy.argsort(p)
        corrected = numpy.empty(count)
        corrected[order] = numpy.minimum(numpy.maximum.accumulate(p[order] * (count - numpy.arange(count))), 1)
        add("holm", values=numbers(p), expected=numbers(corrected))


def orders_by_u(n, m):
    """How many orders of n + m values have each U, as whole numbers, by the recurrence of Mann and Whitney."""
    table = {(0, k): [1] for k in range(m + 1)} | {(k, 0): [1] for k in range(n + 1)}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            counts = [0] * (i * j + 1)
            for u, count in enumerate(table[i - 1, j]):
                counts[u + j] += count
            for u, count in enumerate(table[i, j - 1]):
                counts[u] += count
            table[i, j] = counts
    return table[n, m]


def hodges_lehmann():
    for n, m, shift in [(4, 4, 0.1), (5, 7, 0.0), (9, 9, 0.05), (12, 20, -0.1), (30, 30, 0.02), (40, 25, 0.3)]:
        base, new = drawn(n), drawn(m, shift)
        quotients = numpy.sort((new[:, None] / base[None, :]).ravel())
        counts, orders = orders_by_u(n, m), math.comb(n + m, n)
        rank, missed, tail = 0, Fraction(0), Fraction(0)
        for count in counts:
            tail += Fraction(count, orders)
            if tail > Fraction(1, 40):
                break
            rank, missed = rank + 1, tail
        add("hodges-lehmann", base=numbers(base), new=numbers(new),
            ratio=float(numpy.exp(numpy.median(numpy.log(quotients)))),
            interval=[float(quotients[rank - 1]), float(quotients[-rank])], p=float(1 - 2 * missed))


def kruskal():
    for sizes, apart, digits in [((3, 3, 3), 0.1, 12), ((2, 3, 4), 0.0, 12), ((5, 5, 5, 5), 0.05, 12),
                                 ((10, 10, 10), 0.02, 1), ((3,) * 10, 0.1, 12)]:
        groups = [numpy.round(drawn(size, apart * k), digits) for k, size in enumerate(sizes)]
        found = stats.kruskal(*groups)
        exact = None
        if math.factorial(sum(sizes)) / math.prod(math.factorial(size) for size in sizes) <= 5000:
            exact = float(stats.permutation_test(
                groups, lambda *parts: stats.kruskal(*parts).statistic, permutation_type="independent",
                n_resamples=numpy.inf, alternative="greater").pvalue)
        add("kruskal-wallis", values=numbers(numpy.concatenate(groups)),
            groups=[k for k, size in enumerate(sizes) for _ in range(size)],
            statistic=float(found.statistic), p=float(found.pvalue), exact=exact)


def autocorrelation():
    for n in [8, 12, 30, 100]:
        values = numpy.round(numpy.cumsum(random.standard_normal(n)) * 0.3 + random.standard_normal(n), 12)
        ranks = stats.rankdata(values)
        ratio = numpy.sum(numpy.diff(ranks) ** 2) / numpy.sum((ranks - ranks.mean()) ** 2)
        variance = 4 * (n - 2) * (5 * n**2 - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
        shape = (4 / variance - 1) / 2
        tail = min(stats.beta.cdf(ratio / 4, shape, shape), stats.beta.sf(ratio / 4, shape, shape))
        add("autocorrelation", values=numbers(values), statistic=float(1 - ratio / 2), p=float(min(1, 2 * tail)))


def noise():
    for n in [4, 6, 12, 20]:
        medians = drawn(n)
        steps = numpy.diff(numpy.log(medians))
        count = len(steps)
        degrees = 2 * count**2 / (3 * count - 1)
        assert n < 7 or max(steps**2) < 16 * (sum(steps**2) - max(steps**2)) / (count - 1), "a step would be left out"
        add("noise between runs", values=numbers(medians),
            statistic=float(numpy.sqrt(numpy.mean(steps**2) / 2 * degrees / stats.chi2.ppf(0.2, degrees))))


def describe():
    for n in [2, 9, 30]:
        values = drawn(n)
        add("median, mean, deviation, percentile", values=numbers(values), expected=[
            float(numpy.median(values)), float(numpy.mean(values)), float(numpy.std(values, ddof=1)),
            float(stats.median_abs_deviation(values)), float(numpy.percentile(values, 90))])


def distributions():
    for z in [-2.0, 0.0, 0.3, 1.0, 1.959963984540054, 2.5, 3.0, 5.0, 10.0, 30.0]:
        add("normal tail", x=z, p=float(stats.norm.sf(z)))
    for degrees in [1, 2, 5, 9, 30, 200]:
        add("student quantile", degrees=degrees, x=float(stats.t.ppf(0.975, degrees)))
    for degrees in [1.0, 2.25, 5.0, 12.7, 30.0]:
        add("chi-square quantile", degrees=degrees, x=float(stats.chi2.ppf(0.2, degrees)))
        for x in [0.1, 3.0, 20.0, 80.0]:
            add("chi-square tail", degrees=degrees, x=x, p=float(stats.chi2.sf(x, degrees)))
    for upper, lower in [(2.0, 6.0), (3.0, 8.0), (9.0, 20.0), (6.0, 14.0)]:
        add("fisher quantile", upper=upper, lower=lower, x=float(stats.f.ppf(0.35, upper, lower)))
    for a, b, x in [(0.5, 0.5, 0.2), (2.0, 3.0, 0.4), (10.0, 10.0, 0.1), (60.0, 60.0, 0.55), (4.1, 4.1, 0.01)]:
        add("beta", a=a, b=b, x=x, p=float(stats.beta.cdf(x, a, b)))


for part in [mann_whitney, signed_rank, mann_kendall, median_ranks, holm, hodges_lehmann, kruskal, autocorrelation,
             noise, describe, distributions]:
    part()

with open(sys.argv[1], "w", encoding="utf-8") as file:
    lines = ",\n".join(json.dumps(case) for case in cases)
    file.write(f'{{"scipy": "{scipy.__version__}", "numpy": "{numpy.__version__}", "cases": [\n{lines}\n]}}\n')
