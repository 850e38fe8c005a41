import importlib.util
from pathlib import Path

import pytest

import slackwater

SCRIPT = Path(__file__).parents[2] / "docs" / "site" / "api.py"


@pytest.mark.skipif(not SCRIPT.is_file(), reason="the pages are in a checkout alone")
def test_the_reference_is_current_and_has_every_public_name() -> None:
    """`python docs/site/api.py` writes it."""
    spec = importlib.util.spec_from_file_location("api", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api)
    page = api.page()
    assert api.PAGE.read_text() == page
    # Other names of what has its own section, and the version.
    others = {"Loss", "PathView", "__version__"}
    for name in set(slackwater.__all__) - others:
        assert f"## `slackwater.{name}`" in page, name
