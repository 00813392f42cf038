"""Variances of areas and of their differences, on the same samples and over clusters, from joint tables.

**Single samples** (DeLong). With c twice the placement of a positive and the sums over positives

    Q = sum of (c_a - c_b)²        L = sum of c_a - c_b

and likewise of negatives, the variance of the difference of two areas is

    [(P·Q - L²) / (P - 1) of positives + (N·Q - L²) / (N - 1) of negatives] / (4·P²·N²)

Placements are those of coarse cells. Where a cell has several values of the grid, twice the placement of a
positive is off by at most the negatives e in its cell. A standard error is the length of a vector of
deviations from means, so that it is off by at most the length of the vector of what c_a and c_b are off by,

    [P / (P - 1)·sum of (e_a + e_b)² over positives + ... of negatives] / (4·P²·N²), and its root.

**Clusters** (N. A. Obuchowski, Nonparametric analysis of clustered ROC curve data, 1997). Of cluster i, let
X_i be the sum over its positives of c - C/P, with C the sum of c over all positives, and Y_i that over its
negatives of b - A/N. With I10, I01 and I clusters that have positives, negatives, and either, the covariance
of two areas is

    [I10/(I10 - 1)·S(X_a·X_b)/(P²·N²) + I01/(I01 - 1)·S(Y_a·Y_b)/(P²·N²)
                                      - I/(I - 1)·S(X_a·Y_b + Y_a·X_b)/(P²·N²)] / 4

where S adds up over clusters; the last sign is because c counts the pairs that a positive loses. Sums of
products over clusters follow from the matrix of G(x, y), over clusters the sum of products of counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppaurora.algorithms.joint_placements import (
    LIMB_BITS,
    Bilinear,
    Limbs,
    bilinear_sums,
    diagonal,
    doubled_placements,
    in_cells,
    margins,
    matrix,
    split,
)
from ppaurora.data.layout import ClusterBlock, JointBlock
from ppaurora.data.slices import Pair, Slice
from ppaurora.errors import MisuseError
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.extras.base import StudySecrets
from ppaurora.metrics.outputs import Ratio
from ppaurora.sharing.shares import RingShare, WideShare

MOST_CLUSTERED = 1 << 19  # samples, or their weights, for which nothing is beyond 2^254
_CLASSES = (1, 0)


@dataclass(frozen=True)
class PairedVariance:
    """The variance of a difference, and the square of how far its root may be off; both over one divisor."""

    variance: Ratio
    bound: Ratio | None  # None where every value of both grids has a cell of its own


def paired_variance(study: StudySecrets, pair: Pair, *, with_bound: bool) -> PairedVariance:
    """Compute the variance of the difference of two areas over single samples."""
    evidence = study.evidence(pair.a)
    quadratics: list[WideShare] = []
    bounds: list[WideShare] = []
    for label, size in ((1, evidence.positives), (0, evidence.negatives)):
        q, deviation, e = _paired_sums(study, pair, label, with_bound=with_bound)
        p_q, l_l, p_e = evidence.multiply([(size, q), (deviation, deviation), (size, e)])
        quadratics.append(p_q - l_l)
        bounds.append(p_e)
    return PairedVariance(
        _over_classes(evidence, quadratics), _over_classes(evidence, bounds) if with_bound else None
    )


def _over_classes(evidence: Evidence, sums: Sequence[WideShare]) -> Ratio:
    """[x / (P - 1) + y / (N - 1)] / (4·P²·N²)."""
    p, n, product = evidence.positives, evidence.negatives, evidence.class_product
    rest = product - evidence.samples + 1  # (P - 1)(N - 1)
    of_positives, of_negatives, square = evidence.multiply(
        [(n - 1, sums[0]), (p - 1, sums[1]), (product, product)]
    )
    (denominator,) = evidence.multiply([(square, rest)])
    above_zero = evidence.found.class_product - evidence.found.samples + 1
    return Ratio(of_positives + of_negatives, denominator * 4, positive=(above_zero,))


def _paired_sums(
    study: StudySecrets, pair: Pair, label: int, *, with_bound: bool
) -> tuple[WideShare, WideShare, WideShare]:
    """Return Q and L of one class, and the sum of (e_a + e_b)²; that is Q again where it is not wanted."""
    suite = study.suite
    joint, others = (_joint(study, pair, one, one) for one in (label, 1 - label))
    shape = _shape(study, pair)
    own_a, own_b = margins(joint, shape)
    tied_a, tied_b = margins(others, shape)
    c_a, c_b = (doubled_placements(tied, negated=study.negated) for tied in (tied_a, tied_b))
    layout = study.layout
    exact = [layout.tabulated and layout.cells_of(one.model).are_exact for one in (pair.a, pair.b)]
    vectors = [c_a, c_b]
    if with_bound:
        vectors += [tied * (0 if same else 1) for tied, same in zip((tied_a, tied_b), exact, strict=True)]
    limbs = split(suite, vectors)
    wanted = []
    for a, b in zip(limbs[::2], limbs[1::2], strict=True):
        wanted += [
            Bilinear(a, diagonal(suite, own_a), a),
            Bilinear(b, diagonal(suite, own_b), b),
            Bilinear(a, matrix(suite, joint, shape), b),
        ]
    sums = bilinear_sums(suite, wanted)
    begun = [suite.begin_dot([(own_a, c_a)]), suite.begin_dot([(own_b, c_b)])]
    linear = [finish() for finish in begun]
    *words, l_a, l_b = study.widen([word for some in sums for word in some] + linear)
    found = _from_limbs(words)
    q = found[0] + found[1] - found[2] * 2
    e = found[3] + found[4] + found[5] * 2 if with_bound else q
    return q, l_a - l_b, e


def _from_limbs(words: Sequence[WideShare]) -> list[WideShare]:
    """Put sums of products together from their words, three each: high, middle and low."""
    return [
        high * (1 << 2 * LIMB_BITS) + middle * (1 << LIMB_BITS) + low
        for high, middle, low in zip(words[::3], words[1::3], words[2::3], strict=True)
    ]


def _joint(study: StudySecrets, pair: Pair, first: int, second: int) -> RingShare:
    return study.pooled(study.block(JointBlock, pair=pair, first=first, second=second))


def _shape(study: StudySecrets, pair: Pair) -> tuple[int, int]:
    block = study.block(JointBlock, pair=pair)
    if not isinstance(block, JointBlock):
        raise MisuseError("these models were not counted jointly")
    return block.shape


# Clusters


@dataclass(frozen=True)
class _Placements:
    """The doubled placements of one model, by class in limbs, and their sum over the samples of a class."""

    limbs: dict[int, Limbs]
    totals: dict[int, RingShare]


def clustered_variance(study: StudySecrets, a: Slice, b: Slice | None = None) -> Ratio:
    """Compute the variance of an area over clusters, or that of the difference of two."""
    evidence = study.evidence(a)
    slices = [a] if b is None else [a, b]
    placements = {one: _placements(study, one) for one in slices}
    covariances = [_covariance(study, Pair(one, one), placements) for one in slices]
    numerator = covariances[0]
    if b is not None:
        numerator = covariances[0] + covariances[1] - _covariance(study, Pair(a, b), placements) * 2
    having_p, having_n, clusters = _clusters(study, a.outcome)
    i_p, i_n, i = study.widen([having_p, having_n, clusters])
    square, i_i = evidence.multiply([(evidence.class_product, evidence.class_product), (i_p - 1, i_n - 1)])
    fourth, i_i_i = evidence.multiply([(square, square), (i_i, i - 1)])
    (denominator,) = evidence.multiply([(fourth, i_i_i)])
    return Ratio(numerator, denominator * 4, positive=(having_p - 1, having_n - 1))


def _clusters(study: StudySecrets, outcome: str) -> tuple[RingShare, RingShare, RingShare]:
    counts = study.pooled(study.block(ClusterBlock, outcome=outcome, variable=""))
    return counts[0], counts[1], counts[2]


def _placements(study: StudySecrets, slice_: Slice) -> _Placements:
    suite, cells = study.suite, study.layout.cells_of(slice_.model)
    rows = study.parts[slice_].inputs.owner_tables.counts.rows()
    table = sum(rows[1:], rows[0])
    values = cells.grid.cells
    counts = {1: in_cells(table[:values], cells.of_value), 0: in_cells(table[values:], cells.of_value)}
    doubled = [doubled_placements(counts[1 - label], negated=study.negated) for label in _CLASSES]
    begun = [suite.begin_dot([(counts[label], c)]) for label, c in zip(_CLASSES, doubled, strict=True)]
    totals = {label: finish() for label, finish in zip(_CLASSES, begun, strict=True)}
    return _Placements(dict(zip(_CLASSES, split(suite, doubled), strict=True)), totals)


def _covariance(study: StudySecrets, pair: Pair, placements: dict[Slice, _Placements]) -> WideShare:
    """Return the numerator of a covariance over 4·P⁴·N⁴·(I10 - 1)·(I01 - 1)·(I - 1)."""
    evidence = study.evidence(pair.a)
    p, n = evidence.positives, evidence.negatives
    having_p, having_n, clusters = _clusters(study, pair.a.outcome)
    i_p, i_n, i = study.widen([having_p, having_n, clusters])
    within_p = _cluster_sum(study, pair, (1, 1), placements, (p, p), evidence)  # S(X·X)·P²
    within_n = _cluster_sum(study, pair, (0, 0), placements, (n, n), evidence)  # S(Y·Y)·N²
    between = _cluster_sum(study, pair, (1, 0), placements, (p, n), evidence)  # S(X·Y)·P·N
    if pair.a == pair.b:
        between = between * 2
    else:
        between = between + _cluster_sum(study, pair, (0, 1), placements, (n, p), evidence)
    n_n, p_p, p_n = evidence.multiply([(n, n), (p, p), (p, n)])
    lefts = evidence.multiply([(within_p, n_n), (within_n, p_p), (between, p_n)])
    rights = evidence.multiply([(i_n - 1, i - 1), (i_p - 1, i - 1), (i_p - 1, i_n - 1)])
    rights = evidence.multiply(list(zip([i_p, i_n, i], rights, strict=True)))
    x_x, y_y, x_y = evidence.multiply(list(zip(lefts, rights, strict=True)))
    return x_x + y_y - x_y


def _cluster_sum(
    study: StudySecrets,
    pair: Pair,
    classes: tuple[int, int],
    placements: dict[Slice, _Placements],
    sizes: tuple[WideShare, WideShare],
    evidence: Evidence,
) -> WideShare:
    """Return over clusters the sum of (u - m·U/M)·(v - k·V/K), times M·K.

    u is the sum of doubled placements of its m samples of the first class, U that of all M samples of that
    class; v, k, V and K are those of the other model and class. The sum is

        M·K·G(u, v) - M·V·G(u, k) - K·U·G(m, v) + U·V·G(m, k)
    """
    suite = study.suite
    u, v = (placements[one].limbs[label] for one, label in zip((pair.a, pair.b), classes, strict=True))
    totals = [placements[one].totals[label] for one, label in zip((pair.a, pair.b), classes, strict=True)]
    counts, shape = _joint(study, pair, *classes), _shape(study, pair)
    over_b, over_a = margins(counts, shape)
    sums = bilinear_sums(suite, [Bilinear(u, matrix(suite, counts, shape), v)])
    begun = [suite.begin_dot([(over_b, u.whole)]), suite.begin_dot([(over_a, v.whole)])]
    linear = [finish() for finish in begun]
    *words, g_uk, g_mv, g_mk, big_u, big_v = study.widen([*sums[0], *linear, counts.sum(), *totals])
    (g_uv,) = _from_limbs(words)
    m, k = sizes
    m_k, m_v, k_u, u_v = evidence.multiply([(m, k), (m, big_v), (k, big_u), (big_u, big_v)])
    a, b, c, d = evidence.multiply([(m_k, g_uv), (m_v, g_uk), (k_u, g_mv), (u_v, g_mk)])
    return a - b - c + d
