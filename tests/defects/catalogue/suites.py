"""Defects of what is computed on shares: the two suites, and what they have in common."""

from __future__ import annotations

from tests.defects.defect import Defect

_BITSLICED, _CECILIA = "src/ppaurora/suites/bitsliced", "src/ppaurora/suites/cecilia"

DEFECTS = (
    Defect(
        "and-without-mask",
        "the result of an AND gate is shown to both proxies: right numbers, no secrecy",
        file=f"{_BITSLICED}/gates.py",
        old="        self.fresh_mask(out[-1])\n        g = self.deal_bits(shape, lambda: x[0] & y[0])",
        new="        out[-1] = 0\n        g = self.deal_bits(shape, lambda: x[0] & y[0])",
        tests=("tests/suites/bitsliced/test_gate_views.py::test_a_proxy_sees_nothing",),
    ),
    Defect(
        "dealt-without-pad",
        "the helper sends products of masks as they are: right numbers, no secrecy",
        file=f"{_BITSLICED}/gates.py",
        old="pad = ring.draw(self._deals, shape)",
        new="pad = np.zeros(shape, dtype=ring.dtype)",
        tests=("tests/suites/bitsliced/test_gate_views.py::test_a_proxy_sees_nothing",),
    ),
    Defect(
        "ring-mask-used-twice",
        "every number of a list is under the same mask, so their differences are shown",
        file=f"{_BITSLICED}/gates.py",
        old="        ring.fill(self._masks[0], out)\n        if self.role.is_helper:\n"
        "            out += ring.draw(self._masks[1], out.shape)",
        new="        out[...] = ring.draw(self._masks[0], (1,))[0]\n        if self.role.is_helper:\n"
        "            out += ring.draw(self._masks[1], (1,))[0]",
        tests=("tests/suites/bitsliced/test_ring_gate_views.py::test_a_proxy_sees_nothing",),
    ),
    Defect(
        "cross-term-sign",
        "a wrong sign in the product of two secrets",
        file=f"{_BITSLICED}/gates.py",
        old="x[0] * term - x[1] * y[0]",
        new="x[0] * term + x[1] * y[0]",
        tests=("tests/suites/bitsliced/test_primitives.py::test_product_and_dot_product",),
    ),
    Defect(
        "equal-keys-are-greater",
        "of two equal keys one counts as greater",
        file=f"{_BITSLICED}/conversions.py",
        old="np.concatenate([a, zeros], axis=1), np.concatenate([b, trees.invert(gates, zeros.copy())]",
        new="np.concatenate([a, trees.invert(gates, zeros.copy())], axis=1), np.concatenate([b, zeros]",
        tests=("tests/suites/bitsliced/test_primitives.py::test_compare_and_differ",),
    ),
    Defect(
        "last-group-has-no-end",
        "the last tie group ends only if its key is not that of the empty lanes behind it",
        file=f"{_BITSLICED}/suite.py",
        old="data[:, 0, -1] &= ~last",
        new="data[:, 0, -1] &= last | ~last",
        tests=("tests/suites/bitsliced/test_primitives.py::test_ends_of_groups",),
    ),
    Defect(
        "quotient-is-cut-off",
        "a released number is cut off instead of rounded to the nearest float64",
        file=f"{_BITSLICED}/division.py",
        old="for place in range(significant_bits)), 1]",
        new="for place in range(significant_bits)), 0]",
        tests=("tests/suites/bitsliced/test_division.py::test_the_quotient_is_rounded_like_a_float64",),
    ),
    Defect(
        "declared-cost-is-not-paid",
        "an AND gate sends a message that nobody has declared",
        file=f"{_BITSLICED}/gates.py",
        old='        """The end of a gate on bits: the proxies show t, whose sum is the output\'s m."""\n',
        new='        """The end of a gate on bits: the proxies show t, whose sum is the output\'s m."""\n'
        "        self._send(self.role.other_proxy, t[:0])\n"
        "        self._receive(self.role.other_proxy, t[:0].shape)\n",
        tests=("tests/suites/bitsliced/test_costs.py::test_declared_costs_on_numbers",),
    ),
    Defect(
        "one-pad-for-all-owners",
        "all owners get the same parts of the result, so two of them can put theirs together",
        file="src/ppaurora/suites/release.py",
        old="drawn = [pads.words(part.shape) for _ in range(recipients)]",
        new="drawn = [pads.words(part.shape)] * recipients",
        tests=("tests/suites/test_release.py",),
    ),
    Defect(
        "result-without-pad",
        "a proxy gives its owners the very part that it has computed with",
        file="src/ppaurora/suites/release.py",
        old="ResultShare(part + pad if role is Role.PROXY_0 else part - pad)",
        new="ResultShare(part + pad - pad)",
        tests=("tests/suites/test_release.py",),
    ),
    Defect(
        "network-lacks-comparators",
        "the merge network compares the wrong blocks of wires",
        file="src/ppaurora/suites/network.py",
        old="upper[(upper // stride) % 2 == 1]",
        new="upper[(upper // stride) % 2 == 0]",
        tests=("tests/suites/test_network.py::test_every_zero_one_input_is_merged",),
    ),
    Defect(
        "part-of-another-exchange-is-taken",
        "a worker takes what another one has handed on for a step before",
        file="src/ppaurora/suites/team.py",
        old="if all_to_all != self._exchanges:",
        new="if all_to_all > self._exchanges:",
        tests=("tests/workers/test_team.py::test_a_part_of_another_swap_is_refused",),
    ),
    Defect(
        "question-is-never-turned-round",
        "the helper learns the result of every comparison",
        file=f"{_CECILIA}/compare.py",
        old="self.opposite = stream.bits((count,))",
        new="self.opposite = stream.bits((count,)) & np.uint8(0)",
        tests=("tests/suites/cecilia/test_private_compare.py",),
    ),
    Defect(
        "factor-may-be-zero",
        "a factor that blinds a value may be zero, and then answers yes",
        file=f"{_CECILIA}/compare.py",
        old="draw(stream, MODULUS - 1, message_shape(count)) + np.uint8(1)",
        new="draw(stream, MODULUS - 1, message_shape(count))",
        tests=("tests/suites/cecilia/test_private_compare.py",),
    ),
    Defect(
        "digits-are-not-permuted",
        "the helper sees at which digit two numbers differ",
        file=f"{_CECILIA}/compare.py",
        old="self.places = stream.bytes(count)",
        new="self.places = stream.bytes(count) & np.uint8(0)",
        tests=("tests/suites/cecilia/test_private_compare.py::test_the_position_of_the_zero_is_uniform",),
    ),
    Defect(
        "helper-recognises-its-shares",
        "what the proxies send the helper is not made fresh by parts of zero",
        file=f"{_CECILIA}/compare.py",
        old="self.zeros = draw(stream, MODULUS, message_shape(count))",
        new="self.zeros = np.zeros(message_shape(count), dtype=np.uint8)",
        tests=("tests/suites/cecilia/test_private_compare.py",),
    ),
    Defect(
        "equality-does-not-count",
        "of two equal numbers the turned question is answered wrongly",
        file=f"{_CECILIA}/compare.py",
        old="not_below[-1] = np.uint8(MODULUS + unit) - up_to[-1]",
        new="not_below[-1] = np.uint8(MODULUS + unit) - below[-1]",
        tests=("tests/suites/cecilia/test_private_compare.py",),
    ),
    Defect(
        "stale-parts",
        "a result's parts are not made fresh, and tell what they were computed from",
        file=f"{_CECILIA}/suite.py",
        old="return RingShare(self.holder, part + self._dealing.zero(RING, part.shape))",
        new="return RingShare(self.holder, part)",
        tests=("tests/suites/cecilia/test_transcripts.py",),
    ),
    Defect(
        "opening-is-not-counted",
        "comparisons that the proxies learn are told as one, however many there are",
        file=f"{_CECILIA}/suite.py",
        old="self._context.openings[name] += len(gap)",
        new="self._context.openings[name] += 1",
        tests=("tests/suites/cecilia/test_primitives.py",),
    ),
    Defect(
        "helper-believes-any-number",
        "the helper takes a number of moved records that cannot be",
        file=f"{_CECILIA}/suite.py",
        old="if (told > np.array(most, dtype=np.uint64)).any():",
        new="if (told > np.array(most, dtype=np.uint64)).all() and not len(told):",
        tests=("tests/suites/test_delta_openings.py::test_a_number_that_cannot_be_is_refused_by_the_helper",),
    ),
)
