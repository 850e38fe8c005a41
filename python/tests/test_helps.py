from pathlib import Path

import pytest

from slackwater import helps

FILES = Path(__file__).parents[2] / "crates" / "cli" / "assets" / "help"


@pytest.mark.skipif(not FILES.is_dir(), reason="the command's files are in a checkout alone")
def test_the_command_knows_the_help_of_the_package() -> None:
    """`python -m slackwater.helps crates/cli/assets/help` writes these files."""
    texts = helps.texts()
    assert {f.stem for f in FILES.glob("*.txt")} == set(texts)
    for name, text in texts.items():
        # Versions of Python break lines at different words.
        assert (FILES / f"{name}.txt").read_text().split() == text.split(), name
        assert f"\nExamples:\n  slackwater {name.replace('-', ' ')}" in text, name
        assert text.startswith(f"usage: slackwater {name.replace('-', ' ')}")
