"""A consortium whose nodes compute with several workers each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ppaurora.data.samples import check_samples
from ppaurora.owner.study import Study
from tests.support.deployment import NODES, OWNERS, Deployment, samples, values_of
from tests.support.scikit_learn import pooled_by_scikit_learn

DATA = {owner: samples(120 + 21 * place, place) for place, owner in enumerate(OWNERS)}


def settings(**values: object) -> str:
    """`[workers]`, for small studies too."""
    lines = [f"{name} = {_toml(value)}" for name, value in {"samples_per_worker": 1, **values}.items()]
    return "\n".join(["", "[workers]", *lines, ""])


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


class WorkerNodes(Deployment):
    """With a `[workers]` for every node, as text."""

    def __init__(self, folder: Path, workers: Mapping[str, str], silence: float = 60.0) -> None:
        super().__init__(folder, silence=silence)
        for name in NODES:
            path = self.kit(name) / "node.toml"
            path.write_text(path.read_text() + workers[name])
        self.accept()

    def submit(self) -> None:
        for owner, (labels, scores) in DATA.items():
            Study(self.kit(owner), "trial").submit(check_samples(owner, labels, scores, None))

    def released(self, seconds: float) -> dict[str, float]:
        """What owners get in the end."""
        return values_of(Study(self.kit(OWNERS[0]), "trial").wait(timeout=seconds).metrics)


def pooled() -> dict[str, float]:
    return pooled_by_scikit_learn(DATA.values())
