"""Cross-site evaluation after federated learning, in the manner of Flower and NVIDIA FLARE.

Three sites train a logistic regression together: in each round every client fits the global weights
to its own samples, and the server averages them (FedAvg). Then the global model is to be evaluated
over all sites. Averaging the sites' own AUROCs by their sizes, as is usual, does not give the AUROC
of all samples: pairs of a positive of one site and a negative of another are never compared.

A client here has the interface that both frameworks know: `fit(weights)` and, in place of
`evaluate(weights)` with a local number, `predictions(weights)`, which stay at the site and go into a
study. docs/examples.md shows the same step inside a Flower client and a FLARE executor.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

import ppaurora

ROUNDS = 10
TRUE_WEIGHTS = np.array([1.2, -0.8, 0.5])
# Sites differ in how many patients they see, and in how ill these are.
SITES = {"north": (400, 1.5), "harbour": (250, 0.0), "valley": (150, -1.5)}


@dataclass
class Client:
    """One site: its samples never leave it."""

    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]

    def fit(self, weights: np.ndarray) -> tuple[np.ndarray, int]:
        """Some steps of gradient descent from the global weights; and how many samples they rest on."""
        x, y = self.train
        for _ in range(20):
            weights = weights - 0.5 * x.T @ (probabilities(x, weights) - y) / len(y)
        return weights, len(y)

    def predictions(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels and scores of the site's test samples."""
        x, y = self.test
        return y, probabilities(x, weights)


def probabilities(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x @ weights))


def make_client(samples: int, severity: float, random: np.random.Generator) -> Client:
    x = np.column_stack([np.ones(samples), random.normal(size=(samples, 3))])
    x[:, 1] += severity
    y = (random.random(samples) < probabilities(x[:, 1:], TRUE_WEIGHTS)).astype(int)
    half = samples // 2
    return Client((x[:half], y[:half]), (x[half:], y[half:]))


def federated_average(clients: list[Client]) -> np.ndarray:
    """FedAvg: the clients' weights, averaged by their numbers of samples, round after round."""
    weights = np.zeros(4)
    for _ in range(ROUNDS):
        fitted, sizes = zip(*(client.fit(weights) for client in clients), strict=True)
        weights = np.average(fitted, axis=0, weights=sizes)
    return weights


def main() -> int:
    random = np.random.default_rng(2026)
    clients = {name: make_client(*site, random) for name, site in SITES.items()}
    weights = federated_average(list(clients.values()))

    sites = {name: client.predictions(weights) for name, client in clients.items()}
    local = {name: float(roc_auc_score(*site)) for name, site in sites.items()}
    for name, auroc in local.items():
        print(f"{name:8} {len(sites[name][0]):4} test samples, AUROC alone {auroc:.3f}")
    average = np.average(list(local.values()), weights=[len(y_true) for y_true, _ in sites.values()])

    # Between organisations each site calls ppaurora.Study(kit).evaluate(y_true, y_score) instead.
    report = ppaurora.evaluate(sites, metrics=("auroc",), confidence_level=0.95)

    y_true, y_score = (np.concatenate(column) for column in zip(*sites.values(), strict=True))
    pooled = roc_auc_score(y_true, y_score)
    print(f"average of the sites' AUROCs {average:.6f}: off by {abs(average - pooled):.3f}")
    print(f"AUROC over all sites         {report.auroc:.6f}, on the pooled samples {pooled:.6f}")
    if abs(report.auroc - pooled) > 1e-9 or abs(average - pooled) < 0.01:
        print("FAILED: the average is right, or the result over all sites is wrong", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
