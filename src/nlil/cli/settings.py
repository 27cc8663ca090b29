"""nlil settings [NAME]"""

from __future__ import annotations

from ..errors import UnknownName
from .session import Session


def settings(session: Session, name: str | None = None) -> None:
    """List the settings of learning by topic, or explain one setting or preset.

    Args:
        session: The common options.
        name ([NAME]): A setting such as max_length, or a preset such as scene.
    """
    from ..config import PRESETS, setting_about, topics

    known = {one: setting_about(one) for names in topics().values() for one in names}
    if name is None:
        return show_all(session)
    if name in known:
        about = known[name]
        text = f"{name}={about['default']}: {about['help']}"
        return session.show({"setting": name, **about}, text, f"allowed: {about['allowed']}")
    if name in PRESETS:
        lines = [f"  {key}={value}" for key, value in PRESETS[name].items()] or ["  the defaults"]
        return session.show({"preset": name, "values": dict(PRESETS[name])}, f"preset {name}", *lines)
    raise UnknownName("setting", name, [*known, *PRESETS], "see: nlil settings")


def show_all(session: Session) -> None:
    """Show every setting by topic, and the names of the presets."""
    from ..config import PRESETS, setting_about, topics
    from .render import table

    about = {topic: {one: setting_about(one) for one in names} for topic, names in topics().items()}
    views = [
        table((topic, "default", ""), [(one, value["default"], value["help"]) for one, value in values.items()])
        for topic, values in about.items()
    ]
    note = f"presets (--set preset=NAME): {', '.join(PRESETS)}; nlil settings NAME shows what one sets"
    session.show({"settings": about, "presets": list(PRESETS)}, *views, note)
