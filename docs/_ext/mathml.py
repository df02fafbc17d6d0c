"""Formulas as MathML: every browser draws it, so pages need neither a script nor the network."""

import re
from html import escape

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.util import logging

_UNKNOWN = re.compile(r"\\(?:[A-Za-z]+|\|)")  # commands that the converter leaves as they are


def _formula(node, display):
    latex = node.astext().replace(r"\arg\min", r"\operatorname{arg min}")
    formula = convert(latex, display=display)
    if unknown := _UNKNOWN.findall(formula):
        logging.getLogger(__name__).warning("%s in a formula", unknown, location=node)
    return formula


def _inline(translator, node):
    translator.body.append(_formula(node, "inline"))
    raise SkipNode


def _block(translator, node):
    target = "".join(f' id="{escape(name)}"' for name in node["ids"][:1])
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    translator.body.append(f'<div class="math"{target}>{number}{_formula(node, "block")}</div>\n')
    raise SkipNode


def setup(app):
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
