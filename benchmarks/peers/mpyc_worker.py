"""The AUROC by MPyC: Shamir shares, three processes on this machine.

Run by `benchmarks.peers.worker` with an interpreter that has MPyC; imports only MPyC and numpy. With
MPyC's option -M3 it starts itself two times more.

1. Scores become integers in the same order, with the label as lowest bit: `np_sort` sorts whole arrays.
2. The label is taken out again; adjacent keys that differ bound tie groups, where negatives come first.
3. A segmented scan hands every sample the negatives before its group. Those and the negatives up to a
   positive, summed over positives, are twice the area.
4. The area is divided by the class product in the field, and only the quotient is opened. The fraction in
   lowest terms is reconstructed from it: exact.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

try:
    import mpyc
    from mpyc.gmpy import ratrec
    from mpyc.runtime import mpc
except ModuleNotFoundError as missing:
    print(json.dumps({"not_installed": missing.name}))
    sys.exit()

PACKED_BITS = 64  # 62 of a score in [0, 1], the label, and the sign of a difference


def auroc(packed: Any) -> Any:
    """As an element of the field, from 2 * key + label; ties count half."""
    samples = len(packed)
    packed = mpc.np_sort(packed)
    labels = mpc.np_lsb(packed)
    keys = packed - labels
    negatives = mpc.np_cumsum(1 - labels)
    differs = 1 - (keys[1:] == keys[:-1])
    zero = packed[:1] * 0
    starts = mpc.np_concatenate((zero + 1, differs))
    before = _from_group_start(mpc.np_concatenate((zero, negatives[:-1])), starts)
    area = mpc.np_sum(labels * (before + negatives))
    return area / (2 * negatives[-1] * (samples - negatives[-1]))


def _from_group_start(values: Any, starts: Any) -> Any:
    """Each value becomes that of the last start up to it: doubling steps over all samples at once."""
    values, found, step = values * starts, starts, 1
    while step < len(starts):
        lacks = 1 - found[step:]
        values = mpc.np_concatenate((values[:step], values[step:] + lacks * values[:-step]))
        found = mpc.np_concatenate((found[:step], found[step:] + lacks * found[:-step]))
        step *= 2
    return values


async def main(data: str) -> dict[str, Any]:
    """Every party puts in a third of the samples and takes part; all of them learn the result."""
    with np.load(data) as samples:
        keys = samples["scores"].astype(np.float64).view(np.int64)  # floats from 0 on sort like their bits
        packed = 2 * keys + samples["labels"].astype(np.int64)
    secure = mpc.SecInt(PACKED_BITS)
    await mpc.start()
    start = time.perf_counter()
    thirds = np.array_split(packed, len(mpc.parties))
    own = [third if party == mpc.pid else np.zeros_like(third) for party, third in enumerate(thirds)]
    inputs = [mpc.input(secure.array(third), senders=party) for party, third in enumerate(own)]
    opened = await mpc.output(auroc(mpc.np_concatenate(inputs)))
    seconds = time.perf_counter() - start
    sent = sum(party.protocol.nbytes_sent for party in mpc.parties if party.pid != mpc.pid)
    everyones = await mpc.transfer(sent)
    await mpc.shutdown()
    modulus = secure.field.modulus
    numerator, denominator = ratrec(int(opened) % modulus, modulus)
    return {
        "value": f"{numerator}/{denominator}",
        "seconds": seconds,
        "bytes": sum(everyones),
        "version": mpyc.__version__,
    }


if __name__ == "__main__":
    answer = mpc.run(main(sys.argv[1]))
    if mpc.pid == 0:
        print(json.dumps(answer))
