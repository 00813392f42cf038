"""Who belongs to whom: what it means for a study if one organisation takes part more than once.

A study is as safe as its servers are apart. SECURITY.md says who is protected against whom.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ppaurora.errors import InputError
from ppaurora.io.text import listed
from ppaurora.protocols.security import ONE_DEVIATES, Corruption
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import Plan


@dataclass(frozen=True)
class Affiliations:
    """Who belongs to which organisation; an empty text where that is not said."""

    nodes: Mapping[str, str]  # by title
    owners: Mapping[str, str]  # by name
    privacy: Corruption  # that the study's protocol withstands

    @classmethod
    def of(cls, study: Manifest | Plan) -> Affiliations:
        """Return what a manifest or a plan says."""
        titles = {server.file_name: server.title for server in study.protocol.servers}
        # In the order of the servers, whatever order a file has them in.
        names = [*(name for name in titles if name in study.nodes), *study.nodes]
        nodes = {titles.get(name, name): study.nodes[name].organisation for name in names}
        if isinstance(study, Manifest):
            owners = {owner.name: owner.organisation for owner in study.owners}
        else:
            owners = {name: owner.organisation for name, owner in study.owners.items()}
        return cls(nodes, owners, study.protocol.privacy)


def check_nodes_apart(study: Manifest | Plan, *, force: bool = False) -> None:
    """Refuse more nodes of one organisation than the protocol withstands, unless forced."""
    problems = shared_nodes(study)
    if problems and not force:
        raise InputError(f"{'; '.join(problems)}. If you want this anyway, add --force")


def shared_nodes(study: Manifest | Plan) -> list[str]:
    """Return what it means that one organisation runs too many nodes; nothing if none does."""
    return _shared_nodes(Affiliations.of(study))


def organisation_warnings(study: Manifest | Plan) -> list[str]:
    """Return what a person should know before they agree, in words."""
    who = Affiliations.of(study)
    return [*_shared_nodes(who), *_owners_with_nodes(who), *_unnamed_nodes(who)]


def _shared_nodes(who: Affiliations) -> list[str]:
    return [
        f"{listed(titles)} are run by one organisation, '{name}': {who.privacy.beyond} servers together see "
        "everything, every score and every label of every owner"
        for name, titles in _nodes_by_organisation(who).values()
        if len(titles) > who.privacy.servers
    ]


def _owners_with_nodes(who: Affiliations) -> list[str]:
    """A server together with an owner, as SECURITY.md has it."""
    nodes = _nodes_by_organisation(who)
    deviating = (
        ""
        if who.privacy.includes(ONE_DEVIATES)
        else ". If it does something else, the other owners are not protected: it can change the "
        "computation so that the result tells it about their samples, for instance one person's label"
    )
    return [
        f"owner {owner} and {listed(nodes[key][1])} belong to one organisation, "
        f"'{organisation}', which so sees one server's side of everything, and the result. "
        "As long as that server follows the protocol, it learns no more than any owner does"
        f"{deviating}"
        for owner, organisation in who.owners.items()
        if (key := as_compared(organisation)) in nodes
    ]


def _unnamed_nodes(who: Affiliations) -> list[str]:
    unnamed = [title for title, organisation in who.nodes.items() if not as_compared(organisation)]
    if not unnamed:
        return []
    return [
        f"nobody can tell who runs {listed(unnamed)}: no organisation is named. "
        f"{who.privacy.beyond.capitalize()} servers of one organisation together see everything"
    ]


def _nodes_by_organisation(who: Affiliations) -> dict[str, tuple[str, list[str]]]:
    """Name and nodes' titles of every organisation that is named, by what is compared."""
    titles: dict[str, list[str]] = defaultdict(list)
    names: dict[str, str] = {}
    for title, name in who.nodes.items():
        if as_compared(name):
            titles[as_compared(name)].append(title)
            names.setdefault(as_compared(name), name)
    return {key: (name, titles[key]) for key, name in names.items()}


def as_compared(organisation: str) -> str:
    """Return a name as it is compared, however it is spaced, capitalised or composed."""
    return " ".join(unicodedata.normalize("NFKC", organisation).casefold().split())
