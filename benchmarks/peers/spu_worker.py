"""The AUROC by SecretFlow SPU: ABY3, three parties as threads of this process.

Run by `benchmarks.peers.worker` with an interpreter that has SPU; imports only SPU, its jax and numpy.

1. Scores become integers in the same order, labels go along: `lax.sort` sorts them under sharing.
2. Prefix sums count positives and negatives up to each sample; adjacent keys that differ bound tie groups.
3. A segmented scan hands every sample the counts before its group; trapezoids are summed at the group ends.
4. The area is divided by the class product in fixed point, and only the quotient is opened.

Everything up to the division is integers and exact.
"""

from __future__ import annotations

import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

try:
    import jax
    import jax.numpy as jnp
    import spu
    from jax import lax
    from spu import libspu
    from spu.utils import frontend
except ModuleNotFoundError as missing:
    print(json.dumps({"not_installed": missing.name}))
    sys.exit()

PARTIES = 3
# With SPU's usual 18 bits and two iterations the sixth digit is wrong. Only the division uses fractions here,
# of numbers up to 1, which leaves room for more of them in 64 bits.
FRACTION_BITS = 28
SCALE_BITS = FRACTION_BITS - 2  # the product with a smaller constant comes out as an integer
DIVISION_ITERATIONS = 4


def auroc(keys: Any, labels: Any) -> Any:
    """From integer keys and labels of 0 and 1; ties count half."""
    samples = len(keys)
    keys, labels = lax.sort((keys, labels), num_keys=1)
    # `jnp.cumsum` takes quadratic time under SPU.
    positives = lax.associative_scan(jnp.add, labels)
    negatives = jnp.arange(1, samples + 1) - positives
    one = jnp.ones(1, dtype=labels.dtype)
    differs = (keys[1:] != keys[:-1]).astype(labels.dtype)
    starts, ends = jnp.concatenate([one, differs]), jnp.concatenate([differs, one])
    before = _from_group_start(jnp.stack([positives - labels, negatives - (1 - labels)]), starts)
    area = jnp.sum(ends * (positives - before[0]) * (negatives + before[1]))
    pairs = 2 * positives[-1] * negatives[-1]
    return _fraction(area, samples) / _fraction(pairs, samples)


def _from_group_start(values: Any, starts: Any) -> Any:
    """Each column becomes that of the last start up to it: doubling steps over all samples at once."""
    values, found, step = values * starts, starts, 1
    while step < len(starts):
        lacks = 1 - found[step:]
        values = jnp.concatenate([values[:, :step], values[:, step:] + lacks * values[:, :-step]], axis=1)
        found = jnp.concatenate([found[:step], found[step:] + lacks * found[:-step]])
        step *= 2
    return values


def _fraction(count: Any, samples: int) -> Any:
    """A count of pairs, scaled to at most 1: SPU's reciprocal of a large number is 0."""
    bits = (samples * samples // 2).bit_length()
    if bits > SCALE_BITS:
        count, bits = count >> (bits - SCALE_BITS), SCALE_BITS
    return count.astype(jnp.float64) * 2.0**-bits


def compiled(keys: Any, labels: Any) -> Any:
    """The program for arrays of this size."""
    secret = libspu.Visibility.VIS_SECRET
    program, _ = frontend.compile(
        frontend.Kind.JAX,
        auroc,
        (keys, labels),
        {},
        ["keys", "labels"],
        [secret, secret],
        lambda outputs: [f"output {number}" for number in range(len(outputs))],
    )
    return program


def run(program: Any, inputs: list[Any], config: Any) -> Any:
    """On shares, as SPU's own simulator does, but with every party's traffic logged."""
    io = spu.Io(PARTIES, config)
    shares = [io.make_shares(value, libspu.Visibility.VIS_SECRET) for value in inputs]
    parties = libspu.link.Desc()
    for rank in range(PARTIES):
        parties.add_party(f"party {rank}", f"thread {rank}")

    def party(rank: int) -> Any:
        runtime = spu.Runtime(libspu.link.create_mem(parties, rank), config)
        for name, share in zip(program.input_names, shares, strict=True):
            runtime.set_var(name, share[rank])
        runtime.run(program)
        return runtime.get_var(program.output_names[0])

    with ThreadPoolExecutor(PARTIES) as threads:
        return io.reconstruct(list(threads.map(party, range(PARTIES))))


def configuration() -> Any:
    """SPU's defaults but for the division, and with traffic in the log.

    The default sort is by radix, with the same traffic for any data of the same size. The one called "quick"
    is faster, but its traffic depends on the data.
    """
    config = libspu.RuntimeConfig(
        protocol=libspu.ProtocolKind.ABY3,
        field=libspu.FieldType.FM64,
        fxp_fraction_bits=FRACTION_BITS,
    )
    config.fxp_div_goldschmidt_iters = DIVISION_ITERATIONS
    config.enable_pphlo_profile = True
    return config


def log_to(path: Path) -> None:
    options = libspu.logging.LogOptions()
    options.enable_console_logger = False
    options.system_log_path = str(path)
    libspu.logging.setup_logging(options)


def main(data: Path) -> dict[str, Any]:
    """Timed without a rehearsal: compiling is timed apart, and a second run is hardly faster."""
    with np.load(data) as samples:
        keys = samples["scores"].astype(np.float64).view(np.int64)  # floats from 0 on sort like their bits
        labels = samples["labels"].astype(np.int64)
    jax.config.update("jax_enable_x64", True)
    log = data.with_suffix(".log")
    log_to(log)
    begun = time.perf_counter()
    program = compiled(keys, labels)
    start = time.perf_counter()
    value = run(program, [keys, labels], configuration())
    seconds = time.perf_counter() - start
    sent = re.findall(r"total send bytes (\d+)", log.read_text())
    return {
        "value": str(float(value)),
        "seconds": seconds,
        "compile_seconds": start - begun,
        "bytes": sum(map(int, sent)) if len(sent) == PARTIES else None,
        "version": spu.__version__,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
