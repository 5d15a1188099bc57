"""Self-contained HTML pages, in which text of a run stays text.

Jinja escapes every value, data is JSON in which no markup can begin, and the page's policy allows only the scripts
named by their hashes, and no loading.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rewardgen.core.resources import PACKAGE
from rewardgen.core.text import all_visible, visible

_FOLDER = PACKAGE / "report"
_LIBRARIES = ("d3.min.js", "plot.umd.min.js", "shared.js")
_IN_MARKUP = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def render_page(template: str, data: dict[str, Any], scripts: Sequence[str], *, served: str = "", **values: Any) -> str:
    """The text of a page.

    Args:
        template: Name of the template, such as `report`.
        data: Data for the scripts.
        scripts: Files of the page's own scripts, in order.
        served: Version of the content, if a server will tell the page of newer ones; the page may ask that server only.
        **values: Values for the template.
    """
    sources = [_asset(name) for name in (*_LIBRARIES, *scripts)]
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'" for source in sources
    )
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; base-uri 'none';"
        + " img-src data:{0}; media-src blob:{0}; connect-src{1}; form-action{1}".format(
            *(" 'self'", " 'self'") if served else ("", " 'none'")
        )
    )
    return filled(
        f"{template}.html",
        **values,
        policy=policy,
        style=Markup(_asset("page.css")),
        scripts=[Markup(source) for source in sources],
        data=Markup(_as_json({**data, "served": served})),
    )


def filled(template: str, **values: Any) -> str:
    """A template, such as `notebook.html` or `run.md`, with values; HTML is escaped."""
    return _environment().get_template(f"{template}.j2").render(**values)


def packed(data: Any) -> str:
    """Plain data, compressed, in letters that need no escaping; a page unpacks it on demand."""
    return base64.b64encode(gzip.compress(_as_json(data).encode(), mtime=0)).decode()


def rounded(value: float | None) -> float | None:
    """A number with six significant digits; None for infinite values and NaN, which JSON lacks."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def _as_json(data: Any) -> str:
    return json.dumps(all_visible(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(
        _IN_MARKUP
    )


@cache
def _asset(name: str) -> str:
    """A file of the package that goes into pages unchanged."""
    return (_FOLDER / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=lambda name: str(name).endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
