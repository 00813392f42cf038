"""A study: who evaluates what with whom, agreed before anything is computed."""

from ppaurora.study.kit import NodeKit, OwnerKit
from ppaurora.study.manifest import Manifest

__all__ = ["Manifest", "NodeKit", "OwnerKit"]
