"""What the proxies see of a gate, in every case that there is: the same, whatever the secrets.

Of a secret x = m xor r a proxy knows m and its part of r. For every value of what it knows, what it receives
must have the same distribution for all values of the secrets. Bits are enumerated lane by lane: a gate
of one lane is run in all cases at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ppaurora.sharing.planes import LANES, pack_lanes, unpack_lanes
from ppaurora.suites.bitsliced import trees
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.bitsliced.sums import SumsOfProducts
from ppaurora.suites.role import Role
from tests.support.gates import Seen, Words, as_number, every_case, independent, run_gate

HELPER, PROXY_0, PROXY_1 = Role.HELPER, Role.PROXY_0, Role.PROXY_1
each_proxy = pytest.mark.parametrize("proxy", [PROXY_0, PROXY_1], ids=str)
each_kind = pytest.mark.parametrize("public", [False, True], ids=["secret", "public"])


@dataclass(frozen=True)
class BitGate:
    """A gate on bits, and what it should compute."""

    inputs: int
    begin: Callable[[Gates, list[Words]], Callable[[], Any]]  # of inputs as (component, 1, words)
    expected: Callable[[list[Words]], list[Words]]
    dealt: int
    public: int = 0  # how many inputs, the last ones, are not secret: both proxies know them

    @property
    def secret(self) -> int:
        return self.inputs - self.public

    @property
    def outputs(self) -> int:
        return len(self.expected([np.zeros(1, np.uint64)] * self.inputs))


def node(children: int, *, public: bool = False) -> BitGate:
    """Of a comparison tree: is all equal, and v xor v1. The v's may be public."""
    blank = np.zeros((1, children, 1), dtype=np.uint64)
    sums = trees._node(blank, blank, children, 1, 1, public=public)

    def begin(gates: Gates, inputs: list[Words]) -> Callable[[], Any]:
        finish = gates.begin_sums([SumsOfProducts(inputs, sums._outputs, sums._public)])
        return lambda: [output[:, 0] for (group,) in [finish()] for output in group]

    def expected(secrets: list[Words]) -> list[Words]:
        e, d = secrets[:children], secrets[children:]
        choice = np.zeros_like(e[0])
        all_equal = ~np.zeros_like(e[0])
        for k in range(children):
            all_equal = all_equal & e[k]
            if k < children - 1:
                choice = choice ^ (all_equal & d[k])
        return [choice, all_equal]

    return BitGate(2 * children - 1, begin, expected, sums.dealt, public=len(sums._public))


def begin_and(gates: Gates, inputs: list[Words]) -> Callable[[], Any]:
    finish = gates.begin_and(*inputs)
    return lambda: [finish()[:, 0]]


AND = BitGate(2, begin_and, lambda secrets: [secrets[0] & secrets[1]], dealt=1)


@dataclass(frozen=True)
class Cases:
    """The bits of all cases, each a plane: secrets, their m, what each proxy holds of r, masks and pads."""

    secrets: list[Words]
    m: list[Words]
    parts: tuple[list[Words], list[Words]]
    masks: tuple[list[Words], list[Words]]
    pads: list[Words]

    def run(self, gate: BitGate) -> tuple[list[Words], Seen]:
        """The outputs, put together, and what travelled."""
        zipped = list(zip(self.m, *self.parts, strict=True))
        inputs = {
            PROXY_0: [np.stack([[m], [r0]]) for m, r0, _ in zipped],
            PROXY_1: [np.stack([[m], [r1]]) for m, _, r1 in zipped],
            HELPER: [np.stack([[r0 ^ r1]]) for _, r0, r1 in zipped],
        }
        results, seen = run_gate(
            lambda gates: gate.begin(gates, inputs[gates.role]),
            masks=([np.stack(self.masks[0])], [np.stack(self.masks[1])]),
            pads=[np.stack(self.pads)],
        )
        outputs = []
        for first, second, mask in zip(*(results[role] for role in (PROXY_0, PROXY_1, HELPER)), strict=True):
            assert (first[0] == second[0]).all()
            assert (first[1] ^ second[1] == mask[0]).all()
            outputs.append(first[0] ^ mask[0])
        return outputs, seen

    def shown_to(self, proxy: Role, gate: BitGate) -> list[Words]:
        """All that a proxy gets; the results are checked, too."""
        outputs, seen = self.run(gate)
        for output, expected in zip(outputs, gate.expected(self.secrets), strict=True):
            assert (output == expected).all()
        assert not any(receiver is HELPER for _, receiver in seen)
        assert (HELPER, PROXY_0) not in seen
        (shown,) = seen[proxy.other_proxy, proxy]
        planes = list(shown.reshape(gate.outputs, -1))
        if proxy is PROXY_1:
            (dealt,) = seen[HELPER, PROXY_1]
            planes += list(dealt.reshape(gate.dealt, -1))
        return planes


def planes_of(names: dict[str, int]) -> dict[str, list[Words]]:
    """All values of so many bits under each name, as planes."""
    cases = every_case(**{f"{name} {k}": 1 for name, count in names.items() for k in range(count)})
    packed = {name: pack_lanes(bits.astype(np.uint8)) for name, bits in cases.items()}
    return {name: [packed[f"{name} {k}"] for k in range(count)] for name, count in names.items()}


def all_cases(
    gate: BitGate, m: int, proxy: Role, *, same_masks: bool = False, open_pads: tuple[int, ...] = ()
) -> Cases:
    """For one value of all m's. The proxy's own fresh masks do not influence what it gets, and are zero.

    A broken variant uses one mask for all outputs, or deals some products without a pad.
    """
    n, outputs = gate.secret, gate.outputs
    bits = planes_of({"x": n, "own": n, "pad": gate.dealt, "mask": outputs})
    none = np.zeros_like(bits["x"][0])
    public = [~none if m >> k & 1 else none for k in range(gate.inputs)]
    bits["x"] += public[n:]
    bits["own"] += [none] * gate.public
    other = [x ^ own ^ known for x, own, known in zip(bits["x"], bits["own"], public, strict=True)]
    pads = [none if place in open_pads else pad for place, pad in enumerate(bits["pad"])]
    masks = [bits["mask"][0]] * outputs if same_masks else bits["mask"]
    own, unmasked = bits["own"], [none] * outputs
    if proxy is PROXY_0:
        return Cases(bits["x"], public, (own, other), (unmasked, masks), pads)
    return Cases(bits["x"], public, (other, own), (masks, unmasked), pads)


def sees_nothing(gate: BitGate, proxy: Role, m: int, **broken: Any) -> bool:
    """What a proxy sees in all cases for one value of all m's.

    It knows its parts of the secrets' masks; proxy 0 knows the pads as well.
    """
    planes = all_cases(gate, m, proxy, **broken).shown_to(proxy, gate)
    known = gate.secret + (gate.dealt if proxy is PROXY_0 else 0)
    view = as_number([unpack_lanes(plane, len(plane) * LANES) for plane in planes])
    return independent(view.reshape(1 << (gate.secret + known), -1), 1 << gate.secret, 1 << len(planes))


@each_proxy
@pytest.mark.parametrize(
    "gate",
    [AND, node(2), node(2, public=True), node(3, public=True)],
    ids=["and", "node of 2", "public node of 2", "public node of 3"],
)
def test_a_proxy_sees_nothing(gate: BitGate, proxy: Role) -> None:
    assert all(sees_nothing(gate, proxy, m) for m in range(1 << gate.inputs))


@each_proxy
def test_a_proxy_sees_nothing_of_a_node_with_three_children(proxy: Role) -> None:
    """2^20 cases for each of the 2^5 values of what both proxies know."""
    assert all(sees_nothing(node(3), proxy, m) for m in range(1 << 5))


@each_proxy
@each_kind
@pytest.mark.parametrize("children", [2, 3])
def test_one_mask_for_both_outputs_is_noticed(children: int, public: bool, proxy: Role) -> None:
    """The positive control: the sum of both is shown without a mask."""
    assert not sees_nothing(node(children, public=public), proxy, m=0, same_masks=True)


@each_kind
@pytest.mark.parametrize("children", [2, 3])
def test_a_product_that_is_dealt_without_a_pad_is_noticed(children: int, public: bool) -> None:
    """The positive control: proxy 1 gets a product of masks, with m the product of secrets."""
    gate = node(children, public=public)
    for product in range(gate.dealt):
        assert not sees_nothing(gate, PROXY_1, m=0, open_pads=(product,))


@each_kind
@pytest.mark.parametrize("children", [2, 3])
def test_a_product_that_is_not_dealt_makes_the_result_wrong(
    children: int, public: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positive control of the results: every dealt product is needed."""
    honest = SumsOfProducts.multiply_masks
    gate = node(children, public=public)
    for product in range(gate.dealt):

        def forgetful(self: SumsOfProducts, out: Words, left_out: int = product) -> None:
            honest(self, out)
            out[left_out] = 0

        with monkeypatch.context() as broken:
            broken.setattr(SumsOfProducts, "multiply_masks", forgetful)
            cases = all_cases(gate, (1 << gate.inputs) - 1, PROXY_1)
            outputs, _ = cases.run(gate)
            expected = gate.expected(cases.secrets)
            assert any((a != b).any() for a, b in zip(outputs, expected, strict=True))


# Four children have too many cases, but pads and masks are only added: so it is enough to see, in every
# case of secrets and of what a proxy knows, what each of them changes.


def check_hiding(
    gate: BitGate, proxy: Role, *, same_masks: bool = False, open_pads: tuple[int, ...] = ()
) -> None:
    """A fresh mask changes the bit that it hides, and nothing else; so does a pad, and bits under masks.

    So in every case the unknown masks and pads are mapped onto what is seen one to one.
    """
    bits = planes_of({"x": gate.secret, "m": gate.inputs, "own": gate.secret})
    bits["x"] += bits["m"][gate.secret :]
    bits["own"] += [np.zeros_like(bits["m"][0])] * gate.public
    other = [x ^ m ^ own for x, m, own in zip(bits["x"], bits["m"], bits["own"], strict=True)]
    none = np.zeros_like(other[0])
    parts = (bits["own"], other) if proxy is PROXY_0 else (other, bits["own"])

    def view(hidden: list[Words]) -> list[Words]:
        masks = [hidden[0]] * gate.outputs if same_masks else hidden[: gate.outputs]
        pads = [none if k in open_pads else pad for k, pad in enumerate(hidden[gate.outputs :])]
        unmasked = [none] * gate.outputs
        both = (unmasked, masks) if proxy is PROXY_0 else (masks, unmasked)
        return Cases(bits["x"], bits["m"], parts, both, pads).shown_to(proxy, gate)

    hiding = gate.outputs + gate.dealt
    base = view([none] * hiding)
    changes = []
    for place in range(hiding):
        changed = view([~none if k == place else none for k in range(hiding)])
        change = [a ^ b for a, b in zip(base, changed, strict=True)]
        changes.append(change)
        # A pad may change bits that a mask hides; apart from those, each changes one bit and always does.
        alone = change if place < gate.outputs else [none] * gate.outputs + change[gate.outputs :]
        for k, plane in enumerate(alone):
            assert (plane == (~none if k == place else none)).all()
    # That they are only added, tried with others in every case.
    random = np.random.default_rng(gate.inputs)
    drawn = list(random.integers(0, 1 << 64, (hiding, len(none)), dtype=np.uint64))
    predicted = base
    for variable, change in zip(drawn, changes, strict=True):
        predicted = [a ^ (variable & b) for a, b in zip(predicted, change, strict=True)]
    assert all((a == b).all() for a, b in zip(view(drawn), predicted, strict=True))


@each_proxy
@each_kind
@pytest.mark.parametrize("children", [3, 4])
def test_every_mask_and_pad_hides_one_bit_by_itself(children: int, public: bool, proxy: Role) -> None:
    check_hiding(node(children, public=public), proxy)


@each_proxy
@each_kind
@pytest.mark.parametrize("children", [3, 4])
def test_a_mask_or_pad_that_hides_more_or_nothing_is_noticed(
    children: int, public: bool, proxy: Role
) -> None:
    """The positive control."""
    gate = node(children, public=public)
    with pytest.raises(AssertionError):
        check_hiding(gate, proxy, same_masks=True)
    for product in (0, gate.dealt // 2, gate.dealt - 1) if proxy is PROXY_1 else ():
        with pytest.raises(AssertionError):
            check_hiding(gate, proxy, open_pads=(product,))
