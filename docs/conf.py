"""How the site is built: ``make docs``.

Sphinx, because the projects that people of this field come from (scikit-learn, celer, skglm,
cblearn) are documented with it, because sphinx-gallery runs examples and keeps their figures, and
because it turns every broken reference into a warning.  Pages are Markdown (MyST), so that they
read as well where the repository is hosted.  Nothing is loaded from another host: formulas become
MathML when the site is built.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "_ext"), *map(str, ROOT.glob("packages/*/src")), str(ROOT)]

from likewise import __version__  # noqa: E402

project = "Likewise"
author = "The Likewise developers"
copyright = "The Likewise developers; Apache-2.0"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "mathml",
    "plain_docstrings",
    "made_pages",
]
html_math_renderer = "mathml"
exclude_patterns = ["_ext", "**/sg_execution_times.rst", "sg_execution_times.rst"]
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    # Its page would load scripts from other hosts.
    "write_computation_times": False,
    "copyfile_regex": "",
    "doc_module": (),
    "plot_gallery": True,
    # Where an example is run does not matter to its reader.
    "show_signature": False,
}

html_theme = "furo"
html_title = f"Likewise {release}"
html_static_path = ["_static"]
# The mark of the page that people search with.
html_favicon = str(ROOT / "packages/likewise/src/likewise/server/page/mark.svg")
html_css_files = ["likewise.css"]
html_copy_source = False
html_show_sphinx = False
