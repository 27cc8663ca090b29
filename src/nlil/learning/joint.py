"""Rules for object classes, chosen and weighted jointly: the settings of `nlil learn` for `scene.joint`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..config import LearnerConfig
from ..data.arrays import Ids
from ..data.kb import KnowledgeBase
from ..data.target_scores import TargetScores
from ..errors import ConfigError
from ..kernel.device import resolve_device
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Predicate
from ..progress import Progress, Stop
from ..scene.roles import role_ids
from .gates import ROLES

RULES = 30
"""Default of the mean number of rules per class, priors included."""


def without_roles(kb: KnowledgeBase, targets: Iterable[Predicate], roles: str, joint: bool) -> KnowledgeBase:
    """Return the base without the facts of roles, unless bodies may use them.

    A relation cannot be learned from what follows from it. Whether roles help is tried in joint learning only.

    Args:
        kb: The training facts.
        targets: What is learned.
        roles: The setting.
        joint: Whether the targets are learned jointly.
    """
    has_relation = any(target.arity == 2 for target in targets)
    return kb if not has_relation and (roles == "on" or (roles == "auto" and joint)) else kb.without(role_ids(kb))


def is_joint(kb: KnowledgeBase, targets: Ids, config: LearnerConfig) -> bool:
    """Return whether these targets are to be learned jointly."""
    if not config.joint:
        return False
    others = [kb.predicates[t].name for t in targets.tolist() if t not in kb.classes]
    if others and len(others) < len(targets):
        raise ConfigError(
            f"joint: expected targets that are all object classes, got {others[0]!r} among them; name "
            "the targets with --target, or use --set joint=off",
            "joint",
        )
    return not others


def class_rules(
    kb: KnowledgeBase,
    body: KnowledgeBase | None,
    targets: Ids,
    config: LearnerConfig,
    progress: Progress,
    stop: Stop,
    given: TargetScores | None = None,
) -> RuleSet:
    """Learn rules for the classes among `targets` jointly.

    `body` has the facts that bodies may use (None: all). `given` has the classes of objects (None: those of `kb`).
    """
    # These import scipy, which no other learning needs.
    from ..scene.choosing import ChoiceOptions
    from ..scene.formulas import FormulaTraining
    from ..scene.joint import joint_rules

    device = resolve_device(config.device)
    choice = ChoiceOptions(
        pairs=max((config.top_rules or RULES) - 1, 1) * len(targets),
        min_support=config.min_support,
        seed=config.seed,
        threads=config.threads,
        device=device,
    )
    return joint_rules(
        kb,
        targets,
        config.max_length - 1,
        choice,
        config.memory,
        progress,
        stop,
        body,
        given,
        FormulaTraining(replace(config, device=device)) if is_trained(config) else None,
        config.search == "neural",
        ROLES if config.roles == "auto" else None,
    )


def is_trained(config: LearnerConfig) -> bool:
    """Return whether `config` asks for trained formulas for classes.

    With search=both, this requires neural_facts=0, as in preset=scene: on folds, trained conjunctions add little to
    patterns and take three times as long.
    """
    return config.search == "neural" or (config.search == "both" and not config.neural_facts)
