"""The skills of the travel desk, one folder with a SKILL.md each.

Owns the reading of the files. Their paths stay out of it: a skill that knows its path shows it to
the model, and the same agent would then read differently on every machine.
"""

from importlib import resources

from strands.vended_plugins.skills import Skill

_FILE = "SKILL.md"


def on_the_shelf() -> dict[str, Skill]:
    """All skills by name, in alphabetical order; each call makes new objects.

    Raises:
        ValueError: If a SKILL.md is malformed.
    """
    folders = sorted(resources.files(__name__).iterdir(), key=lambda folder: folder.name)
    files = [folder / _FILE for folder in folders if folder.is_dir()]
    texts = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    skills = [Skill.from_content(text, strict=True) for text in texts]
    return {skill.name: skill for skill in skills}
