"""The site of the documentation: `python -m sphinx -W docs SITE_FOLDER`."""

import re
from pathlib import Path

from sphinx.application import Sphinx

import rewardgen

project = "rewardgen"
version = release = rewardgen.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "rewardgen"
autodoc_member_order = "bysource"
napoleon_use_rtype = False
default_role = "literal"

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./(?!README\.md)|LICENSE|CONTRIBUTING\.md|CHANGELOG\.md|examples)[^)]*\)")
"""A link to a file of the repository that is no page here."""

# They are loaded when they are asked for, and the list of a module's members does not ask.
vars(rewardgen).update({name: rewardgen.__getattr__(name) for name in rewardgen.__all__})


def _without_links_outside(app: Sphinx, name: str, content: list[str]) -> None:
    content[0] = _OUTSIDE.sub(r"\1", content[0])


def _included(app: Sphinx, path: Path, name: str, content: list[str]) -> None:
    _without_links_outside(app, name, content)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _without_links_outside)
    app.connect("include-read", _included)
